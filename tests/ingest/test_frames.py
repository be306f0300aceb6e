"""Responses from tables in memory."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import from_tidy, from_wide

TIDY = {"model_id": ["m1", "m1", "m2", "m2"], "item_id": ["7", "8"] * 2, "correct": [1, 0, 0, None]}
EXPECTED = {("m1", "default", "7"): 1, ("m1", "default", "8"): 0, ("m2", "default", "7"): 0}


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(TIDY),
        pd.DataFrame(TIDY).astype({"model_id": "category", "item_id": int}),
        pd.DataFrame(TIDY).astype({"item_id": object, "correct": "Int64"}),
        pd.DataFrame(TIDY | {"item_id": [7, "8", "7", 8], "correct": [True, "0", 0.0, np.nan]}),
        pd.DataFrame(TIDY, index=[5, 5, 5, 5]).assign(extra=1),
        pa.table(TIDY),
    ],
    ids=["plain", "category", "object", "mixed", "index", "Arrow"],
)
def test_tidy_frames(cells_of, frame):
    assert cells_of(from_tidy(frame)) == EXPECTED


def test_places_in_a_frame_count_from_0():
    frame = pd.DataFrame(TIDY | {"correct": [1, 0, 3, 0]}, index=list("wxyz"))
    with pytest.raises(InputError, match=r"^frame row 2: model 'm2', item '7': correct is 3"):
        from_tidy(frame)


def test_places_in_a_frame_of_several_batches(monkeypatch):
    monkeypatch.setattr("mtlirt.ingest.frames.BATCH_ROWS", 2)
    frame = pd.DataFrame(TIDY | {"correct": [1, 0, 0, 3]})
    with pytest.raises(InputError, match=r"^frame row 3: model 'm2', item '8': correct is 3"):
        from_tidy(frame)


@pytest.mark.parametrize("value", [7.0, True])
def test_object_ids_that_are_not(value):
    frame = pd.DataFrame(TIDY | {"item_id": ["7", value, "7", "8"]}, dtype=object)
    with pytest.raises(InputError, match=r"^frame row 1: item_id is .*, expected text or a whole"):
        from_tidy(frame)


def test_null_ids_in_a_frame():
    frame = pd.DataFrame(TIDY | {"model_id": ["m1", "m1", None, "m2"]})
    with pytest.raises(InputError, match=r"^frame row 2: model_id is null, expected an id"):
        from_tidy(frame)


def test_float_ids_in_a_frame():
    with pytest.raises(InputError, match=r"^frame: column 'item_id' holds double"):
        from_tidy(pd.DataFrame(TIDY | {"item_id": [7.0, 8.0, 7.0, 8.0]}))


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        (pd.DataFrame({"7": [1, 0], "8": [0, None]}, index=["m1", "m2"]), {}),
        (pd.DataFrame({7: [1, 0], 8: [0, None]}, index=["m1", "m2"]), {}),
        (pd.DataFrame({7: [True, 0], "8": ["0", ""]}, index=["m1", "m2"]), {}),
        (pd.DataFrame({"7": [1, 0], "8": [0, None], "m": ["m1", "m2"]}), {"model_column": "m"}),
        (
            pd.DataFrame({"m1": [1, 0], "m2": [0, None]}, index=[7, 8]).set_axis([7, 8]),
            {"transpose": 1},
        ),
        (pa.table({"": ["m1", "m2"], "7": [1, 0], "8": [0, None]}), {}),
    ],
)
def test_wide_frames(cells_of, frame, options):
    assert cells_of(from_wide(frame, **options)) == EXPECTED


def test_a_wide_frame_must_say_where_models_are():
    with pytest.raises(InputError, match=r"its index only counts rows: name .* \(model_column\)"):
        from_wide(pd.DataFrame({"m": ["m1", "m2"], "q": [1, 0]}))


def test_wide_frames_with_the_same_column_twice():
    frame = pd.DataFrame([[1, 0], [0, 1]], columns=["q", "q"], index=["a", "b"])
    with pytest.raises(InputError, match="frame: more than one column is called 'q'"):
        from_wide(frame)


def test_rules_apply():
    frame = pd.DataFrame(TIDY | {"correct": [0.5, 1, 0, 0], "subject": ["s"] * 4})
    responses = from_tidy(frame, threshold=0.5, domain_column="subject")
    assert responses.domains["s"].array.compute().tolist() == [[1, 1], [0, 0]]
    twice = pd.concat([frame, frame])
    responses = from_tidy(twice, fractions="keep", duplicates="first")
    assert responses.domains["default"].array.dtype == "float32"


def test_one_model_is_kept_to_be_scored():
    frame = pd.DataFrame({"model_id": "new", "item_id": ["a", "b"], "correct": [1, 0]})
    with pytest.raises(InputError, match=r"responses of only one model.*--poor-domains keep"):
        from_tidy(frame)
    responses = from_tidy(frame, poor_domains="keep")
    assert responses.shape == (1, 2)
