"""Dates and times of logs."""

from datetime import UTC, datetime

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest.stamps import read_stamp


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2024-06-01T23:30:00+02:00", (21, 30, 0)),
        ("2024-06-01T22:00:00Z", (22, 0, 0)),
        ("2024-06-01T21-45-00.000000", (21, 45, 0)),
        ("2024-06-01T23-45-00+02:00", (21, 45, 0)),
        ("2024-06-01 21:45:00", (21, 45, 0)),
        ("2024-06-01T21:45:00.250000", (21, 45, 0, 250_000)),
    ],
)
def test_stamps_are_utc_unless_they_say(text, utc):
    """Public fault O34."""
    time = read_stamp(text, "x.json: created")
    assert time.astimezone(UTC) == datetime(2024, 6, 1, *utc, tzinfo=UTC)


def test_what_is_no_stamp():
    with pytest.raises(InputError, match=r"x.json: created is 'yesterday', expected a date"):
        read_stamp("yesterday", "x.json: created")
