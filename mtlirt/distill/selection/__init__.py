"""Which items a distilled benchmark consists of; one module a method."""
