"""A scenario: its fields, and how each is read and checked."""
