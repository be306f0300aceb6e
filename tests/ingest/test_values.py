"""What counts as right, wrong, missing, a fraction or an error (O10)."""

import numpy as np
import pyarrow as pa
import pytest

from mtlirt.errors import InputError
from mtlirt.ingest.values import ValueRule, read_values


def read(column, rule=None, trials=None):
    return read_values(column, trials, rule or ValueRule(), lambda k: f"x.csv row {k + 2}")


@pytest.mark.parametrize(
    ("column", "coerced"),
    [
        (pa.array([1, 0, None], pa.int8()), {}),
        (pa.array([1, 0, None], pa.uint64()), {}),
        (pa.array([1.0, 0.0, None]), {"1.0/0.0": 2}),
        (pa.array([1.0, 0.0, float("nan")], pa.float32()), {"1.0/0.0": 2}),
        (pa.array([True, False, None]), {"true/false": 2}),
        (pa.array(["1", "0", ""]), {}),
        (pa.array(["True", "FALSE", "NaN"]), {"true/false": 2}),
        (pa.array(["1.0", "0", "null"], pa.large_string()), {"1.0/0.0": 1}),
        (pa.array(["1", "0", None]).dictionary_encode(), {}),
        (pa.array([1, 0, None]).dictionary_encode(), {}),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_spellings_of_right_wrong_and_missing(column, coerced):
    values = read(column)
    np.testing.assert_array_equal(values.correct, [1, 0, np.nan])
    assert values.coerced == coerced


def test_a_column_of_nothing_is_missing():
    assert np.isnan(read(pa.nulls(3)).correct).all()


@pytest.mark.parametrize("wrong", [1.0001, -0.2, 37.0, float("inf"), float("-inf")])
@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("rule", [ValueRule(), ValueRule("keep"), ValueRule(threshold=0.5)])
def test_values_outside_0_and_1_are_errors(wrong, as_text, rule):
    column = pa.array([str(v) for v in (1.0, 0.0, wrong)] if as_text else [1.0, 0.0, wrong])
    shown = str(wrong).removesuffix(".0")
    with pytest.raises(InputError, match=rf"^x\.csv row 4: correct is {shown}, expected 0 or 1"):
        read(column, rule)


@pytest.mark.parametrize("text", ["C", "yes", "1_0", "0x1", "1,0"])
def test_texts_that_are_no_numbers_are_errors(text):
    with pytest.raises(InputError, match=rf"x\.csv row 3: correct is '{text}', expected a number"):
        read(pa.array(["1", text]))


def test_other_types_are_errors():
    with pytest.raises(InputError, match="correct holds list<item: int64>"):
        read(pa.array([[1]]))


def test_fractions_are_refused_with_the_options_named():
    with pytest.raises(
        InputError, match=r"row 3: correct is 0\.8888, a fraction.*--fractions keep.*--threshold X"
    ):
        read(pa.array([1.0, 0.8888]))


def test_fractions_are_kept_as_they_are():
    values = read(pa.array([0.8888, 0.5, None, 1.0]), ValueRule("keep"))
    np.testing.assert_array_equal(values.correct, [0.8888, 0.5, np.nan, 1])


def test_a_threshold_cuts_from_it_up():
    values = read(pa.array([0.79, 0.8, None, 1.0, 0.0]), ValueRule(threshold=0.8))
    np.testing.assert_array_equal(values.correct, [0, 1, np.nan, 1, 0])
    np.testing.assert_array_equal(values.raw, [0.79, 0.8, np.nan, 1, 0])


@pytest.mark.parametrize(
    "options",
    [("drop", None), ("keep", 0.5), ("error", 0.0), ("error", 1.1), ("error", float("nan"))],
)
def test_rules_that_make_no_sense_are_errors(options):
    with pytest.raises(InputError):
        ValueRule(*options)


def test_successes_of_trials():
    values = read(pa.array([3, 0, 0, None, 1]), trials=pa.array([10, 2, 0, 5, None]))
    np.testing.assert_array_equal(values.correct, [3, 0, np.nan, np.nan, 1])
    assert values.trials.tolist() == [10, 2, 0, 5, 1]


@pytest.mark.parametrize(
    ("correct", "trials", "message"),
    [
        (4, 3, "correct is 4, with a column of trials"),
        (-1, 3, "correct is -1,"),
        (0.5, 3, r"correct is 0\.5,"),
        (0, -1, "trials is -1, expected a whole number from 0 to 32767"),
        (0, 1.5, r"trials is 1\.5,"),
        (0, 40000, "trials is 40000,"),
        (2, None, "correct is 2,"),
    ],
)
def test_wrong_successes_and_trials(correct, trials, message):
    with pytest.raises(InputError, match=rf"x\.csv row 3: {message}"):
        read(pa.array([1, correct]), trials=pa.array([1, trials]))


def test_a_threshold_does_not_go_with_trials():
    with pytest.raises(InputError, match="a threshold does not go with"):
        read(pa.array([1]), ValueRule(threshold=0.5), trials=pa.array([1]))
