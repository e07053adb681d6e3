"""Predictions against measurements: scripts that anyone can run again."""
