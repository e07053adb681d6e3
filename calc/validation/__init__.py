"""Rows of published measurements against what `calc` says of them: scenarios, errors, fits and ranges.

It may import all of `calc`. Nothing of `calc` imports it, and it is not shipped to the page.
"""
