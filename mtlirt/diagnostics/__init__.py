"""What a person should look at: items, models and designs that a fit's model does not explain."""
