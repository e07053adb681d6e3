"""What keeps the catalogue current: writing entries from what makers publish, and listing those that grow old."""
