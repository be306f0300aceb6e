"""Full benchmark scores from answers to a few items."""
