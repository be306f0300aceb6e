"""The error of a cluster that fails while running."""


class ClusterError(RuntimeError):
    """A scheduler or its workers are out of reach, unfit for the work, or were lost.

    The command line prints the message and ends with status 1.
    """
