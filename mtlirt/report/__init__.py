"""The report: one HTML file that shows a fit, without a network."""
