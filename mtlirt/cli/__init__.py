"""The command line: one module a verb; each parses, calls and prints."""
