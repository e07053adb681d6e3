"""What programs print of a run, read: which scenario it was, and what was measured; one module a kind of output."""
