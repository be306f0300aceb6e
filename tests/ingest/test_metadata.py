"""Tables of models and items joined to responses."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest

TEXT = "model_id,item_id,domain,correct\na,1,x,1\nNA,1,x,0\na,1,y,1\nNA,1,y,0\na,2,y,1\n"


@pytest.fixture
def source(write):
    return write("x.csv", TEXT)


def test_models(write, source):
    table = write("m.csv", "model_id,group,weight\n\na,NA,0.5\n")
    responses, report = ingest([source], models=table)
    assert list(responses.models.index) == ["NA", "a"]
    assert responses.models.loc["a", "group"] == "NA"
    assert responses.models.loc["a", "weight"] == 0.5
    assert responses.models.loc["NA"].isna().all()
    assert report.models_without_metadata == 1
    assert "1 models without metadata" in report.lines()


@pytest.mark.parametrize("name", ["i.parquet", "i.jsonl"])
def test_items_by_domain_keep_their_types(tmp_path, source, name):
    table = pa.table(
        {"domain": ["y", "x"], "item_id": [1, 1], "year": [2024, 2025], "easy": [True, False]}
    )
    if name == "i.parquet":
        pq.write_table(table, tmp_path / name)
    else:
        table.to_pandas().to_json(tmp_path / name, orient="records", lines=True)
    items = ingest([source], items=tmp_path / name)[0].items
    assert items["year"].tolist() == [2025, 2024, pd.NA]
    assert items["year"].dtype == "Int64"
    assert items["easy"].tolist() == [False, True, pd.NA]


def test_metadata_come_back_from_a_store(tmp_path, source, write, same):
    from mtlirt.responses.store import open_responses, write_responses

    table = write(
        "i.jsonl", '{"domain": "x", "item_id": 1, "year": 2024, "easy": true, "t": "t"}\n'
    )
    responses, _ = ingest([source], items=table)
    write_responses(responses, tmp_path / "store", history={})
    same(open_responses(tmp_path / "store"), responses)


def test_items_by_their_id_alone(write, source):
    items = ingest([source], items=write("i.csv", "item_id,topic\n2,t\n"))[0].items
    assert items.loc[("y", "2"), "topic"] == "t"
    with pytest.raises(InputError, match=r"i\.csv row 3: item_id '1' is in domains 'x', 'y': add"):
        ingest([source], items=write("i.csv", "item_id,topic\n2,t\n1,t\n"))


def test_items_by_another_domain_column(write):
    source = write("x.csv", TEXT.replace("domain", "subject"))
    table = write("i.csv", "item_id,subject,topic\n1,y,t\n")
    items = ingest([source], items=table, domain_column="subject")[0].items
    assert items.loc[("y", "1"), "topic"] == "t"


def test_unknown_ids(write, source):
    models = write("m.csv", "model_id,group\na,g\nb,g\nc,g\n")
    with pytest.raises(
        InputError, match=r"m\.csv row 3: no response has model 'b'; .* and 1 other"
    ):
        ingest([source], models=models)
    items = write("i.csv", "domain,item_id\nz,1\n")
    with pytest.raises(
        InputError, match=r"i\.csv row 2: no response has item '1' of domain 'z'; .*--unknown"
    ):
        ingest([source], items=items)
    responses, report = ingest([source], models=models, items=items, unknown="report")
    assert (len(responses.models), len(responses.items)) == (2, 3)
    assert report.unknown_models == ("b", "c")
    assert report.unknown_items == (("z", "1"),)
    assert "2 unknown models in the model table: 'b', 'c'" in report.lines()
    with pytest.raises(InputError, match="unknown is 'drop', expected"):
        ingest([source], unknown="drop")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.csv", "model_id\na\nb\na\n", r"row 2 and .*m\.csv row 4: model 'a' twice"),
        ("m.csv", "model_id,group\na,g\n,g\n", "row 3: model_id is '', expected an id"),
        ("m.csv", "name\na\n", "no column 'model_id'; found 'name'"),
        ("m.csv", "model_id,model_id\na,b\n", "more than one column is called 'model_id'"),
        ("m.csv", "model_id,weight\na,much\n", "row 2: weight is 'much', expected a number"),
        ("m.csv", "model_id,group\na\n", "row 2: 1 cells, the header has 2"),
        ("m.csv", "", "empty, expected a header"),
        ("m.jsonl", '{"model_id": 1.5}\n', r"line 1: model_id is 1\.5, expected text"),
        ("m.jsonl", '{"model_id": "a", "k": 1}\n{"model_id": "b", "k": "v"}\n', "key 'k': values"),
        ("m.xlsx", "?", "the name of a table ends in"),
    ],
)
def test_wrong_tables(write, source, name, content, message):
    with pytest.raises(InputError, match=message):
        ingest([source], models=write(name, content))


def test_a_table_that_is_not_there(tmp_path, source):
    with pytest.raises(InputError, match=r"m\.csv: no such file"):
        ingest([source], models=tmp_path / "m.csv")


@pytest.mark.parametrize("floor", ["1", "-0.1", "inf"])
def test_a_guessing_floor_is_a_chance(write, source, floor):
    table = write("i.csv", f"domain,item_id,guessing\nx,1,0.25\ny,1,{floor}\n")
    with pytest.raises(InputError, match=r"row 3: guessing is .*, expected a chance"):
        ingest([source], items=table)


@pytest.mark.parametrize("weight", ["-0.5", "inf", "-inf", "1e7"])
def test_a_weight_is_a_number_of_models(write, source, weight):
    table = write("m.csv", f"model_id,weight\na,1e6\nNA,{weight}\n")
    told = rf"m\.csv row 3: weight is '{float(weight)}', expected a number from 0 to 1,000,000"
    with pytest.raises(InputError, match=told):
        ingest([source], models=table)


@pytest.mark.parametrize("weight", ['"heavy"', '"1"', "true", "-1"])
def test_a_weight_is_no_text(write, source, weight):
    table = write("m.jsonl", f'{{"model_id": "a", "weight": {weight}}}\n')
    with pytest.raises(InputError, match=r"m\.jsonl line 1: weight is .*, expected a number from"):
        ingest([source], models=table)


@pytest.mark.parametrize("word", ["nan", "NaN", "NA", "null", "None", "#N/A", " "])
def test_words_for_nothing_are_text(write, source, word):
    models = write("m.csv", f'model_id,group,weight\na,{word},nan\nNA,"",\n')
    items = write("i.csv", f"domain,item_id,topic,guessing\ny,1,{word},nan\nx,1,,\n")
    found = ingest([source], models=models, items=items)[0]
    assert found.models["group"].isna().tolist() == [True, False]
    assert found.models.loc["a", "group"] == word
    assert found.items.loc[("y", "1"), "topic"] == word
    assert pd.isna(found.items.loc[("x", "1"), "topic"])
    assert found.models["weight"].isna().all()
    assert found.items["guessing"].isna().all()


def test_guessing_floors_may_be_null(write, source):
    table = write("i.csv", "domain,item_id,guessing\nx,1,0.25\ny,1,\n")
    assert ingest([source], items=table)[0].items["guessing"].isna().sum() == 2
