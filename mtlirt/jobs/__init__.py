"""Jobs: what a job file may say, and how each kind of job runs."""
