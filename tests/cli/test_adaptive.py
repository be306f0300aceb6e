"""``mtlirt adaptive``."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run


def shown(capsys, *arguments):
    assert run(["adaptive", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *arguments):
    assert run(["adaptive", *map(str, arguments)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


def test_the_first_item_and_scores_before_any_answer(snapshots, capsys):
    assert run(["adaptive", f"{snapshots}@1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    domain, item = mtlirt.AdaptiveTest(mtlirt.load(snapshots, 1)).next()[0]
    assert lines[0].split() == ["domain", "next", "item"]
    assert re.split("  +", lines[1]) == [domain, item]
    assert lines[2] == ""
    assert [re.split("  +", line)[1:] for line in lines[4:7]] == [["0.00", "1.00", "0"]] * 3
    assert lines[7].startswith("overall")


def test_a_test_goes_on_from_a_file_of_answers(snapshots, tmp_path, capsys):
    """Driven by the command alone, it asks and tells what the class does."""
    fit, file = mtlirt.load(snapshots, 1), tmp_path / "answers.jsonl"
    test = mtlirt.AdaptiveTest(fit, standard_error=0.8, batch=2)
    options = ["--standard-error", "0.8", "--batch", "2"]
    told = shown(capsys, f"{snapshots}@1", *options)
    lines = []
    while told["next"]:
        asked = [(one["domain"], one["item_id"]) for one in told["next"]]
        assert asked == test.next()
        for number, (domain, item) in enumerate(asked):
            lines.append({"domain": domain, "item_id": item, "correct": number})
            test.answer({(domain, item): number})
        file.write_text("\n".join(map(json.dumps, lines)))
        told = shown(capsys, f"{snapshots}@1", *options, "--answers", file)
        assert told["answered"] == len(lines)
    assert (told["done"], told["reason"], told["version"]) == (True, "standard error", 1)
    scores = pd.DataFrame(told["scores"]).set_index("domain")
    np.testing.assert_allclose(scores["mean"], test.scores["mean"], atol=1e-9)
    np.testing.assert_allclose(list(told["overall"].values()), test.overall, atol=1e-9)
    assert run(["adaptive", f"{snapshots}@1", *options, "--answers", str(file)]) == 0
    assert capsys.readouterr().out.startswith("done: standard error\n")


def test_a_replay(store, snapshots, tmp_path, capsys):
    out = tmp_path / "replay.csv"
    arguments = [f"{snapshots}@1", "--replay", store, "--out", out, "--max-items", 5]
    told = shown(capsys, *arguments)
    assert (told["models"], told["out"]) == (12, str(out))
    assert told["mean_items"] == pytest.approx(5 * 11 / 12)
    assert told["reasons"] == {"max items": 11, "items used up": 1}
    table = pd.read_csv(out, index_col="model_id")
    assert table["items"].tolist() == [5, 5, 5, 0] + [5] * 8
    assert table.loc["m02", "items:law"] == 0
    assert table[["items:algebra", "items:law"]].sum(axis=1).le(table["items"]).all()
    assert told["mean_sd"] == pytest.approx(table["mean_sd"].mean())
    domains = ("algebra", "law", "a long name of a domain")
    means, full = (table[[f"{c}:{d}" for d in domains]] for c in ("mean", "full_mean"))
    assert told["rmse"] == pytest.approx(np.sqrt(np.nanmean((means.values - full.values) ** 2)))
    assert "exists already" in refused(capsys, *arguments)
    assert run(["adaptive", *map(str, arguments), "--overwrite", "--no-borrow"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("12 models: 4.6 items each on average, 1")
    assert lines[2] == "ended by max items (11), items used up (1)"
    assert lines[3] == f"wrote {out}"


def test_bad_use(store, snapshots, tmp_path, capsys):
    answers = tmp_path / "a.csv"
    answers.write_text("domain,item_id,correct\nalgebra,algebra-1,1\nalgebra,nothing,0\n")
    said = refused(capsys, snapshots, "--answers", answers)
    assert f"{answers} row 3: item 'nothing' of domain 'algebra' is not among" in said
    said = refused(capsys, snapshots, "--answers", answers, "--replay", store)
    assert "--replay tests the models of a store, so it takes no --answers" in said
    assert "takes no --batch" in refused(capsys, snapshots, "--batch", 2, "--replay", store)
    assert "--out is for the table of a replay" in refused(capsys, snapshots, "--out", "t.csv")
    out = tmp_path / "t.txt"
    assert "ends in .parquet or .csv" in refused(capsys, snapshots, "--replay", store, "--out", out)
    assert "target 'maths' is not one of" in refused(capsys, snapshots, "--target", "maths")
    assert "expected a number above 0" in refused(capsys, snapshots, "--standard-error", 0)
    assert "holds responses, expected snapshot" in refused(capsys, store)
