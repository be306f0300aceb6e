"""When a run was, as logs write it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show

_FILE_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d(?:\.\d+)?)")


def read_stamp(text: str, place: str) -> datetime:
    """A date and time in ISO 8601, or with dashes for colons as names of files have it.

    One without a zone is of UTC.

    Parameters
    ----------
    place
        Names file and field in the error that anything else raises.
    """
    iso = _FILE_STAMP.sub(r"\1:\2:\3", text.strip())
    try:
        time = datetime.fromisoformat(iso)
    except ValueError:
        raise InputError(f"{place} is {show(text)}, expected a date and time") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
