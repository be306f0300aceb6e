"""Times as harnesses write them into the names of files: local time, without its zone."""

from __future__ import annotations

from datetime import UTC, datetime

from mtlirt.errors import InputError

STAMP = r"\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d(?:\.\d+)?"
"""``2024-06-01T21-45-00.000000``, or with colons."""


def spellings(stamp: str) -> list[str]:
    """A stamp as it stands, with dashes and with colons."""
    day, clock = stamp.split("T")
    return list(
        dict.fromkeys(
            [stamp, f"{day}T{clock.replace(':', '-')}", f"{day}T{clock.replace('-', ':')}"]
        )
    )


def time_of(stamp: str, source: str) -> datetime:
    """The time that a stamp says, read as UTC.

    Raises
    ------
    InputError
        If there is no such time.
    """
    day, clock = stamp.split("T")
    try:
        return datetime.fromisoformat(f"{day}T{clock.replace('-', ':')}").replace(tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"{source}: the time in its name: {error}") from error
