"""Times as logs write them."""

from __future__ import annotations

from datetime import UTC, datetime

from mtlirt.errors import InputError


def iso_time(text: str, place: str) -> datetime:
    """An ISO date or time; without a zone it is of UTC.

    Parameters
    ----------
    place
        Names file and field in errors.

    Raises
    ------
    InputError
        If there is no such time.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{place}: {error}") from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def unix_time(seconds: float, place: str) -> datetime:
    """Seconds since 1970; parameters and errors as for `iso_time`."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(f"{place}: {seconds} is no time: {error}") from error
