"""Counts that add up, and lines that people read."""

import json
from dataclasses import replace

import pytest

from mtlirt.ingest.report import DomainCount, FileCount, IngestReport, RunCount


@pytest.fixture
def report():
    return IngestReport(
        files=(FileCount("a.csv", 1200), FileCount("b.csv", 0)),
        domains=(DomainCount("d", 20, 50, 1000),),
        models=20,
        items=50,
        records=1200,
        cells=1000,
        missing=150,
        duplicates=30,
        conflicts=20,
    )


def test_counts_must_add_up(report):
    with pytest.raises(AssertionError):
        replace(report, missing=151)
    with pytest.raises(AssertionError):
        replace(report, files=(FileCount("a.csv", 1199),))
    with pytest.raises(AssertionError):
        replace(report, domains=())


def test_lines_tell_what_is_not_nothing(report):
    assert report.lines() == [
        "20 models, 50 items, 1 domains",
        "1,200 records in 2 files: 1,000 cells, 150 missing, 30 duplicates, 20 conflicts",
        "1 empty files: 'b.csv'",
    ]


def test_lines_give_the_first_of_many_and_stay_one_line(report):
    many = replace(report, empty_models=tuple(f"m\n{k}" for k in range(12)))
    line = many.lines()[-1]
    assert line.startswith(r"12 models without a response: 'm\n0', ")
    assert line.endswith(r"'m\n9', ...")


def test_superseded_runs_are_named(report):
    run = RunCount("old.json", "m", "t", {}, None, "", superseded=True, records=0)
    found = replace(report, runs=(run, replace(run, source="new.json", superseded=False)))
    assert found.lines()[-1] == ("1 runs superseded by later or whole ones: ('m', 't', 'old.json')")


def test_json(report):
    content = json.loads(json.dumps(report.to_dict()))
    assert content["domains"] == [{"name": "d", "models": 20, "items": 50, "cells": 1000}]
    assert content["empty_files"] == ["b.csv"]
