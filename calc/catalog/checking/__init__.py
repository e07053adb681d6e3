"""Reads the TOML files of the catalogue and checks every entry; a built copy of the package carries what came of it."""
