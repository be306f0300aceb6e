"""Tests that choose each next item by what a model's answers have told so far."""
