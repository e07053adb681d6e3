"""Claims that people pass on, each checked when the site is built."""
