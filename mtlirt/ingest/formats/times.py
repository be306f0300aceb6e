"""Times as logs, and the names of their files, write them; those without a zone are of UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show

STAMP = r"\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d(?:\.\d+)?"
"""``2024-06-01T21-45-00.000000`` in the name of a file, or with colons."""

_CLOCK = re.compile(r"(T\d\d)[-:](\d\d)[-:](\d\d)")


def spellings(stamp: str) -> list[str]:
    """A stamp as it stands, with dashes and with colons."""
    found = stamp, _CLOCK.sub(r"\1-\2-\3", stamp), _with_colons(stamp)
    return list(dict.fromkeys(found))


def _with_colons(stamp: str) -> str:
    return _CLOCK.sub(r"\1:\2:\3", stamp)


def read_time(text: str, place: str) -> datetime:
    """A date, or date and time, in ISO 8601, or as a stamp.

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
        time = datetime.fromisoformat(_with_colons(text.strip()))
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InputError(f"{place} is {show(text)}, expected a date and time") from None


def unix_time(seconds: float, place: str) -> datetime:
    """Seconds since 1970; parameters and errors as for `read_time`."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(f"{place} is {seconds}, expected seconds since 1970") from error
