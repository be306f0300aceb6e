"""Snapshots: published versions of fits."""
