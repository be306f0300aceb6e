"""Several responses of one model to one item."""

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest

HEAD = "model_id,item_id,correct\n"
OTHERS = "b,q,0\nb,r,1\n"
CELL = ("a", "default", "q")


@pytest.fixture
def two_files(write):
    """A cell twice, in two files, by the values there."""

    def two_files(first, second):
        return [
            write("1.csv", f"{HEAD}a,q,{first}\n{OTHERS}"),
            write("2.csv", f"{HEAD}a,r,1\na,q,{second}\n"),
        ]

    return two_files


def test_duplicates_are_an_error_that_names_both_places(two_files):
    with pytest.raises(
        InputError,
        match=r"1\.csv row 2 and .*2\.csv row 3: model 'a', item 'q' of domain 'default': "
        r"both say correct 1; choose duplicates first or attempts \(--duplicates\) for this and 0 ",
    ):
        ingest(two_files(1, 1), conflicts="first")


def test_conflicts_are_an_error_that_names_both_places(two_files):
    with pytest.raises(
        InputError,
        match=r"1\.csv row 2 and .*2\.csv row 3: model 'a', item 'q' of domain 'default': "
        r"correct 1, then correct 0; choose conflicts first, last or attempts \(--conflicts\)",
    ):
        ingest(two_files(1, 0), duplicates="first")


def test_the_second_place_of_a_conflict_is_the_one_that_differs(write):
    path = write("x.csv", f"{HEAD}a,q,1\na,q,1\na,q,0\n{OTHERS}")
    with pytest.raises(InputError, match=r"row 2 and .*row 4: .*correct 1, then correct 0"):
        ingest([path], duplicates="first")


@pytest.mark.parametrize(("conflicts", "value"), [("first", 1), ("last", 0), ("attempts", (1, 2))])
def test_conflicts_resolved(two_files, cells_of, conflicts, value):
    responses, report = ingest(two_files(1, 0), conflicts=conflicts)
    assert cells_of(responses)[CELL] == value
    assert (report.duplicates, report.conflicts, report.cells) == (0, 1, 4)


@pytest.mark.parametrize(("duplicates", "value"), [("first", 1), ("attempts", (2, 2))])
def test_duplicates_resolved(two_files, cells_of, duplicates, value):
    responses, report = ingest(two_files(1, 1), duplicates=duplicates)
    assert cells_of(responses)[CELL] == value
    assert (report.duplicates, report.conflicts, report.cells) == (1, 0, 4)


def test_other_cells_are_one_attempt(two_files):
    part = ingest(two_files(1, 0), conflicts="attempts")[0].domains["default"]
    assert part.array.dtype == "int16"
    assert part.array.compute().tolist() == [[1, 1], [0, 1]]
    assert part.trials.compute().tolist() == [[2, 1], [1, 1]]


def test_only_domains_with_attempts_count_them(write):
    head = "model_id,item_id,domain,correct\n"
    rows = "a,q,x,1\na,q,x,0\nb,q,x,1\na,q,y,1\nb,q,y,0\n"
    responses, _ = ingest([write("x.csv", head + rows)], conflicts="attempts")
    assert responses.domains["x"].trials.compute().tolist() == [[2], [1]]
    assert responses.domains["y"].trials is None
    assert responses.domains["y"].array.dtype == "int8"


def test_a_missing_value_is_no_duplicate(two_files, cells_of):
    responses, report = ingest(two_files(1, ""))
    assert cells_of(responses)[CELL] == 1
    assert (report.missing, report.duplicates, report.conflicts) == (1, 0, 0)


def test_attempts_of_attempts(write, cells_of):
    head = "model_id,item_id,correct,trials\n"
    rows = "a,q,3,5\na,q,1,2\nb,q,1,1\n"
    path = write("x.csv", head + rows)
    assert cells_of(ingest([path], conflicts="attempts")[0])[CELL] == (4, 7)
    assert cells_of(ingest([path], conflicts="last")[0])[CELL] == (1, 2)
    with pytest.raises(InputError, match="correct 3 of 5, then correct 1 of 2"):
        ingest([path])
    with pytest.raises(InputError, match="both say correct 3 of 5"):
        ingest([write("x.csv", f"{head}a,q,3,5\na,q,3,5\nb,q,1,1\n")])


def test_too_many_attempts(write):
    path = write("x.csv", "model_id,item_id,correct,trials\na,q,1,30000\na,q,2,30000\nb,q,1,1\n")
    with pytest.raises(InputError, match=r"row 2: 60000 attempts at one cell, at most 32767"):
        ingest([path], conflicts="attempts")


def test_fractions_are_no_attempts(write, cells_of):
    path = write("x.csv", f"{HEAD}a,q,0.5\na,q,0.25\n{OTHERS}")
    assert cells_of(ingest([path], fractions="keep", conflicts="last")[0])[CELL] == 0.25
    with pytest.raises(InputError, match=r"row 2: a fraction cannot be one of several attempts"):
        ingest([path], fractions="keep", conflicts="attempts")
    with pytest.raises(InputError, match="domain 'default': fractions and repeated attempts"):
        ingest(
            [write("x.csv", f"{HEAD}a,q,0.5\na,r,1\na,r,0\n{OTHERS}")],
            fractions="keep",
            conflicts="attempts",
        )


@pytest.mark.parametrize("option", [{"duplicates": "last"}, {"conflicts": "mean"}])
def test_rules_that_do_not_exist(option):
    with pytest.raises(InputError, match="expected"):
        ingest([], **option)
