"""Dates and times of logs."""

from datetime import UTC, datetime

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest.formats.times import read_time, spellings, unix_time


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
    time = read_time(text, "x.json: created")
    assert time.astimezone(UTC) == datetime(2024, 6, 1, *utc, tzinfo=UTC)


def test_what_is_no_stamp():
    with pytest.raises(InputError, match=r"x.json: created is 'yesterday', expected a date"):
        read_time("yesterday", "x.json: created")


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
def test_times_that_utc_has_not(text):
    with pytest.raises(InputError, match=f"x.json: created is '{text[:4]}.*expected a date"):
        read_time(text, "x.json: created")


def test_seconds():
    assert unix_time(1717278300.5, "x") == datetime(2024, 6, 1, 21, 45, 0, 500_000, tzinfo=UTC)
    with pytest.raises(InputError, match=r"x: date is 1e\+300, expected seconds since 1970"):
        unix_time(1e300, "x: date")


def test_spellings_of_the_stamps_of_one_run():
    dashes, colons = "2024-06-01T21-45-00.5", "2024-06-01T21:45:00.5"
    assert spellings(dashes) == [dashes, colons]
    assert spellings(colons) == [colons, dashes]
    assert spellings("2024-06-01T21:45-00") == [
        "2024-06-01T21:45-00",
        "2024-06-01T21-45-00",
        "2024-06-01T21:45:00",
    ]
