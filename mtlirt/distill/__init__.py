"""Sparse benchmarks: few items that tell the scores of all, and tests that choose as they go."""
