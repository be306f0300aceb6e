"""Simulated responses with their truth, from named designs."""
