"""The command line: `calc fit`, `calc plan`, `calc explain`, `calc ask`. Not shipped to the page."""
