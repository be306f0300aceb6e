"""Item response theory for leaderboards: from item-level results of many LLMs to scores."""
