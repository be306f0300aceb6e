"""The model x item matrix, and versions of it in a store."""
