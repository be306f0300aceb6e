"""Scores of models: the leaderboard and the tidy table, from a finished fit or scoring."""
