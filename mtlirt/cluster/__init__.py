"""Where work runs. Knows blocks and functions, nothing of what they mean."""
