"""Versioned roots at a URL: exclusive create, verified reads and the manifest commit."""
