"""The same published cases through other public tools: `python -m tests.comparison` asks them."""
