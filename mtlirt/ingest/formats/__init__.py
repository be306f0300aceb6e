"""Readers of the logs of evaluation tools, one module a tool; see `mtlirt.ingest.runs.Format`."""
