"""The error a caller can mend: bad use or bad input."""


class InputError(ValueError):
    """Bad use or bad input, told in one line: file, row, field, value, and what to do.

    The command line prints the message and ends with status 2.
    """
