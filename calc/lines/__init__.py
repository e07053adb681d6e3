"""Questions as people type them: a line of words in, what it asks out. `reading` is the door."""
