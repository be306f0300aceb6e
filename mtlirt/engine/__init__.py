"""The alternation between domain steps and the shared step, written once for all estimators."""
