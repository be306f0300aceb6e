"""The error of a store that fails while running."""


class StorageError(RuntimeError):
    """Stored data is missing, altered or out of reach, or a commit lost its race.

    The command line prints the message and ends with status 1.
    """
