"""Pure numerics of item response theory, on one block of responses or one table at a time."""
