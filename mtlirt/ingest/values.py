"""The rules of values: what counts as right, wrong, missing, a fraction, or an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.ids import is_text, show

Floats = npt.NDArray[np.float64]
Place = Callable[[int], str]

MOST_TRIALS = int(np.iinfo(np.int16).max)
MISSING_WORDS = frozenset({"", "nan", "na", "null", "none"})
"""Texts that say a value is missing, in any case of letters."""

_PLAIN, _BOOLEAN, _FLOAT, _UNREADABLE = range(4)
_COERCED = {_BOOLEAN: "true/false", _FLOAT: "1.0/0.0"}


@dataclass(frozen=True)
class ValueRule:
    """What becomes of fractions.

    Attributes
    ----------
    fractions
        ``error`` refuses values strictly between 0 and 1, ``keep`` stores them.
    threshold
        Where given, a value from it up is 1, any below it 0.
    """

    fractions: Literal["error", "keep"] = "error"
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.fractions not in ("error", "keep"):
            raise InputError(f"fractions is {self.fractions!r}, expected error or keep")
        if self.threshold is None:
            return
        if self.fractions == "keep":
            raise InputError("fractions are kept or cut at a threshold: choose one")
        if not 0 < self.threshold <= 1:
            raise InputError(f"threshold is {self.threshold}, expected above 0 and at most 1")


@dataclass(frozen=True)
class Values:
    """The values of one batch.

    Attributes
    ----------
    correct
        1, 0, a fraction or, with `trials`, successes; float64 with NaN missing, or int8 where
        none is missing.
    trials
        Attempts behind each value; None where each is one.
    raw
        The values before a threshold cut them; None without a threshold.
    coerced
        How many came in which other spelling than 1 and 0.
    """

    correct: Floats | npt.NDArray[np.int8]
    trials: npt.NDArray[np.int16] | None
    raw: Floats | None
    coerced: Counter[str]


def read_values(
    correct: pa.Array[Any], trials: pa.Array[Any] | None, rule: ValueRule, place: Place
) -> Values:
    """Read a column of values.

    Parameters
    ----------
    correct
        Whole numbers, floats, booleans or text; successes where there are `trials`.
    trials
        Attempts behind each value; null is one attempt.
    rule
        What becomes of fractions.
    place
        Names the record at a position, for errors.
    """
    if trials is None and rule.threshold is None and _all_plain(correct):
        return Values(correct.to_numpy().astype(np.int8), None, None, Counter())
    numbers, coerced = _numbers(correct, "correct", place)
    if trials is not None:
        if rule.threshold is not None:
            raise InputError(f"{place(0)}: a threshold does not go with a column of trials")
        return _successes(numbers, _numbers(trials, "trials", place)[0], coerced, place)
    _refuse(
        (numbers < 0) | (numbers > 1),
        numbers,
        "correct",
        "expected 0 or 1 (divide percentages by 100)",
        place,
    )
    if rule.threshold is not None:
        cut = np.where(np.isnan(numbers), np.nan, numbers >= rule.threshold)
        return Values(cut, None, numbers, coerced)
    if rule.fractions == "error":
        _refuse(
            (numbers > 0) & (numbers < 1),
            numbers,
            "correct",
            "a fraction: choose fractions keep (--fractions keep) or a threshold (--threshold X)",
            place,
        )
    return Values(numbers, None, None, coerced)


def reads_as_value(text: str) -> bool:
    """Whether a text says 0, 1, something between, or missing."""
    number, spelling = _number_of_text(text)
    return spelling != _UNREADABLE and not (number < 0 or number > 1)


def _all_plain(column: pa.Array[Any]) -> bool:
    """Whether a column holds nothing but whole numbers 0 and 1."""
    if not pa.types.is_integer(column.type) or column.null_count:
        return False
    numbers = column.to_numpy()
    return bool(numbers.min(initial=0) >= 0 and numbers.max(initial=0) <= 1)


def _successes(successes: Floats, trials: Floats, coerced: Counter[str], place: Place) -> Values:
    """Check successes of trials; no trials is missing."""
    missing = np.isnan(successes)
    trials = np.where(np.isnan(trials), 1.0, trials)
    wrong = (trials < 0) | (trials > MOST_TRIALS) | (trials != np.trunc(trials))
    _refuse(wrong, trials, "trials", f"expected a whole number from 0 to {MOST_TRIALS}", place)
    wrong = ~missing & ((successes < 0) | (successes > trials) | (successes != np.trunc(successes)))
    _refuse(
        wrong,
        successes,
        "correct",
        "with a column of trials it is the number of successes, from 0 to trials",
        place,
    )
    return Values(
        np.where(missing | (trials == 0), np.nan, successes), trials.astype(np.int16), None, coerced
    )


def _refuse(
    wrong: npt.NDArray[np.bool_], numbers: Floats, field: str, expected: str, place: Place
) -> None:
    """Raise an error that names the first record in which a field is wrong."""
    if wrong.any():
        position = int(wrong.argmax())
        number = repr(float(numbers[position])).removesuffix(".0")
        raise InputError(f"{place(position)}: {field} is {number}, {expected}")


def _numbers(column: pa.Array[Any], field: str, place: Place) -> tuple[Floats, Counter[str]]:
    """A column as float64, NaN where missing; and the count of other spellings."""
    if isinstance(column, pa.DictionaryArray) and not is_text(column.dictionary.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan), Counter()
    if is_text(kind) or pa.types.is_dictionary(kind):
        return _numbers_of_text(column, field, place)
    if not (_is_whole(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InputError(f"{place(0)}: {field} holds {kind}, expected 0 or 1")
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if pa.types.is_integer(kind):
        return numbers, Counter()
    label = _COERCED[_BOOLEAN if pa.types.is_boolean(kind) else _FLOAT]
    return numbers, +Counter({label: int(np.count_nonzero(numbers == np.trunc(numbers)))})


def _numbers_of_text(
    column: pa.Array[Any], field: str, place: Place
) -> tuple[Floats, Counter[str]]:
    """Read each distinct text once."""
    encoded = column.dictionary_encode()
    read = [_number_of_text(text) for text in encoded.dictionary.to_pylist()]
    table = np.array([number for number, _ in read] + [np.nan])
    spelled = np.array([spelling for _, spelling in read] + [_PLAIN])
    indices = encoded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    if _UNREADABLE in spelled:
        wrong = spelled[indices] == _UNREADABLE
        if wrong.any():
            position = int(wrong.argmax())
            text = show(column[position].as_py())
            raise InputError(f"{place(position)}: {field} is {text}, expected a number")
    times = np.roll(np.bincount(indices + 1, minlength=len(table)), -1)
    whole = table == np.trunc(table)
    coerced = Counter(
        {label: int(times[whole & (spelled == kind)].sum()) for kind, label in _COERCED.items()}
    )
    return table[indices], +coerced


def _number_of_text(text: str | None) -> tuple[float, int]:
    """The number that a text stands for, and how it is spelled."""
    word = (text or "").strip().lower()
    if word in MISSING_WORDS:
        return np.nan, _PLAIN
    if word in ("true", "false"):
        return float(word == "true"), _BOOLEAN
    try:
        number = float(word)
    except ValueError:
        return np.nan, _UNREADABLE
    if "_" in word:
        return np.nan, _UNREADABLE
    return number, _PLAIN if word.isdigit() else _FLOAT


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))
