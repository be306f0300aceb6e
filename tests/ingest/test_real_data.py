"""The real files."""

import csv
import gzip

import numpy as np
import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest

pytestmark = pytest.mark.data


def mean(responses):
    arrays = [part.array.compute() for part in responses.domains.values()]
    return sum(int((a == 1).sum()) for a in arrays) / sum(int((a >= 0).sum()) for a in arrays)


def test_openllm(data):
    folder = data / "openllm_v1"
    responses, report = ingest([folder / "responses.parquet"], items=folder / "items.parquet")
    assert responses.shape == (6812, 1480)
    assert (report.records, report.cells, report.missing) == (6_806_406, 6_806_406, 0)
    assert round(mean(responses), 4) == 0.5202
    assert len(responses.domains) == 6
    assert report.constant_items == ()
    assert report.items_without_metadata == 0
    assert set(responses.items.columns) == {"subdomain", "in_tiny"}


def test_mmlu_pro(data):
    folder = data / "mmlu_pro"
    responses, report = ingest([folder / "responses.parquet"], items=folder / "items.parquet")
    assert responses.shape == (29, 12_032)
    assert report.cells == 347_215
    assert len(responses.domains) == 14
    assert round(mean(responses), 4) == 0.4024
    assert len(report.constant_items) == 236 + 640


def test_livecodebench(data):
    folder = data / "livecodebench"
    responses, report = ingest(
        [folder / "responses.parquet"],
        items=folder / "items.parquet",
        models=folder / "models.parquet",
    )
    assert responses.shape == (104, 3168)
    assert report.cells == 139_161
    assert round(mean(responses), 4) == 0.4214
    assert len(report.constant_items) == 112 + 245
    assert responses.models["model_name"].notna().sum() == 103  # the file has one null


@pytest.mark.parametrize("options", [{}, {"format": "wide", "domain": "boolq"}])
def test_wide_with_a_named_first_column(data, options):
    path = data / "native" / "wide_csv" / "nlu_boolq_irt_all_coded.csv.gz"
    responses, _ = ingest([path], **options)
    assert responses.shape == (90, 1635)


def test_wide_with_an_empty_first_name(data):
    path = data / "native" / "wide_csv" / "atlas_response_matrix_tinytruthfulqa.csv.gz"
    responses, _ = ingest([path])
    assert responses.shape == (4635, 97)
    assert "0-hero/Matter-0.1-7B-boost" in responses.models.index


def test_wide_with_items_as_rows(data):
    path = data / "native" / "wide_csv" / "chembench_binary_matrix_items_as_rows.csv.gz"
    responses, report = ingest([path], transpose=True)
    assert responses.shape == (22, 2854)
    assert report.coerced == {"1.0/0.0": 22 * 2854}
    assert np.isin(responses.domains["default"].array.compute(), [0, 1]).all()


def test_wide_without_a_header(data):
    path = data / "native" / "wide_csv" / "psn_irt_combine_headerless.csv.gz"
    with pytest.raises(
        InputError, match=r"its first row holds values, .*no header \(--no-header\)"
    ):
        ingest([path])
    with gzip.open(path, "rt") as file:
        raw = np.array([[float(cell) for cell in line.split(",")] for line in file])
    responses, report = ingest([path], header=False)
    assert responses.shape == raw.shape == (12, 41_871)
    order = [int(item) - 1 for item in responses.item_ids("default")]
    models = [int(model) - 1 for model in responses.models.index]
    np.testing.assert_array_equal(
        responses.domains["default"].array.compute(), raw[np.ix_(models, order)]
    )
    assert report.numbered_files == (str(path),)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("nlu_boolq_irt_all_coded", {}),
        ("atlas_response_matrix_tinytruthfulqa", {}),
        ("chembench_binary_matrix_items_as_rows", {"transpose": True}),
    ],
)
def test_wide_cells(data, name, options):
    path = data / "native" / "wide_csv" / f"{name}.csv.gz"
    with gzip.open(path, "rt", newline="") as file:
        header, *rows = csv.reader(file)
    responses, report = ingest([path], **options)
    models, items = responses.models.index, responses.item_ids("default")
    places = {model: k for k, model in enumerate(models)}, {i: k for k, i in enumerate(items)}
    expected = np.full((len(models), len(items)), -1)
    for row in rows:
        for column, cell in zip(header[1:], row[1:], strict=True):
            model, item = (column, row[0]) if options else (row[0], column)
            expected[places[0][model], places[1][item]] = float(cell) if cell else -1
    np.testing.assert_array_equal(responses.domains["default"].array.compute(), expected)
    assert report.cells == int((expected >= 0).sum())
