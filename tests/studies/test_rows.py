"""The rows of the study: those that were asked for, and what they are made of."""

from zlib import crc32

import pytest

from mtlirt.errors import InputError
from mtlirt.simulate.designs import paper_design
from mtlirt.simulate.laws import AngledTraits, GroupedTraits, GuessedItems, NegativeItems
from mtlirt.studies.rows import catalogue, find_rows

ROWS = catalogue()


def counts(name, rows=ROWS):
    return [count for _, count in rows[name].design.domains]


def test_the_rows_of_the_paper_are_its_design():
    papers = [row for row in ROWS.values() if row.group == "paper"]
    assert [row.h for row in papers] == [0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
    for row in papers:
        published = paper_design(row.h)
        assert (row.missing, row.noise, row.clones) == (0, None, 0)
        for part in ("domains", "models", "items", "traits"):
            assert getattr(row.design, part) == getattr(published, part)


def test_what_the_others_change():
    traits = {name: row.design.traits for name, row in ROWS.items()}
    assert traits["two-centres"] == GroupedTraits(0.5, (11, 7))
    assert traits["paired"] == GroupedTraits(0.5, (18,), sharing=2)
    assert traits["outliers"] == GroupedTraits(0.5, (15,), strays=3)
    assert traits["random"] == GroupedTraits(0.0, (), strays=18)
    assert traits["two-blocks"] == GroupedTraits(0.5, (9, 9))
    assert ROWS["noise"].noise == "d06"
    assert counts("short") == [10, 14, 18, 22, 26, 30] * 3
    assert counts("wide") == ([50, 60, 70, 80, 90, 100] * 10)[:56]
    assert ROWS["negative"].design.items == NegativeItems(0.05)
    for name, known in (("guessing", False), ("guessing-known", True)):
        assert ROWS[name].design.items == GuessedItems(0.25)
        assert ROWS[name].floors_known is known
    assert ROWS["clones"].clones == 0.2
    missing = {name: ROWS[f"missing-{name}"].missing for name in (20, 60, 95)}
    assert missing == {20: 0.2, 60: 0.6, 95: 0.95}
    assert counts("missing-60") == counts("paper-0.50")
    assert counts("missing-95") == [5 * count for count in counts("paper-0.50")]
    harder = [row for row in ROWS.values() if row.group == "harder"]
    assert all(row.design.traits == AngledTraits(0.5) for row in harder)
    assert [name for name, row in ROWS.items() if not row.h <= 0.5] == ["random"]


def test_small_rows_are_the_same_but_small():
    small = catalogue(small=True)
    assert list(small) == list(ROWS)
    assert counts("wide", small) == [20, 24, 28, 32, 36, 40] * 2
    assert small["two-centres"].design.traits == GroupedTraits(0.5, (4, 2))
    for name, row in small.items():
        assert row.design.models == 40
        assert len(row.design.domains) <= 12
        for part in ("group", "missing", "noise", "clones"):
            assert getattr(row, part) == getattr(ROWS[name], part)


def test_names_have_streams_of_their_own():
    assert len({crc32(name.encode()) for name in ROWS}) == len(ROWS)


def test_rows_are_found_by_name_and_group_in_the_order_of_the_table():
    assert find_rows(["all"]) == tuple(ROWS)
    assert find_rows(["short", "paper-0.10"]) == ("paper-0.10", "short")
    assert len(find_rows(["paper"])) == 10
    assert find_rows(["harder", "noise"])[:2] == ("noise", "short")


def test_unknown_rows_are_told():
    with pytest.raises(InputError, match=r"row 'papers': there is none; known are all, paper, var"):
        find_rows(["noise", "papers"])
    with pytest.raises(InputError, match="no rows"):
        find_rows([])
    with pytest.raises(InputError, match="rows noise, noise: name each once"):
        find_rows(["noise", "noise"])
