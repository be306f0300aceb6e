"""HELM's run folders."""

import gzip
import json

import pytest

from mtlirt.errors import InputError

STATE = {"adapter_spec": {}, "request_states": []}


def stat(name, value, split="test", **more):
    return {"name": {"name": name, "split": split, **more}, "count": 1, "sum": value}


def entry(number, value, split="test", trial=0, metric="exact_match", **more):
    stats = [stat("num_references", 4, split), stat(metric, value, split)]
    return {"instance_id": f"id{number}", "train_trial_index": trial, "stats": stats, **more}


def spec(name="mmlu:subject=anatomy,method=joint,model=o_m", groups=("mmlu",), **adapter):
    names = ["exact_match", "quasi_exact_match"]
    return {
        "name": name,
        "scenario_spec": {},
        "adapter_spec": {"method": "joint", "model": "o/m", "max_train_instances": 5, **adapter},
        "metric_specs": [{"args": {"names": names}}, {"class_name": "x"}],
        "groups": list(groups),
    }


@pytest.fixture
def folder(write):
    """Write a run folder."""

    def folder(entries, about=None, gz="", name="run", **others):
        files = {"per_instance_stats": entries, "run_spec": about or spec(), **others}
        for file, content in files.items():
            text = json.dumps(content, indent=2).encode()
            path = write(f"{name}/{file}.json{gz}", gzip.compress(text) if gz else text)
        return path.parent

    return folder


@pytest.mark.parametrize("gz", ["", ".gz"])
def test_splits_are_not_mixed(folder, read, gz):
    """Public fault O15."""
    test, valid = (1, 1, 0, 0), (1, 1)
    entries = [entry(k, value) for k, value in enumerate(test)]
    entries += [entry(k, value, "valid") for k, value in enumerate(valid)]
    path = folder(entries, gz=gz)
    cells, report = read(path)
    assert cells == {("o/m", "anatomy", f"id{k}"): value for k, value in enumerate(test)}
    assert sum(cells.values()) / len(cells) == 0.5
    assert report.outcomes == {"of other splits, left out": 2}
    assert report.runs[0].qualifiers == {
        "version": "joint",
        "shots": "5",
        "split": "test",
        "metric": "exact_match",
    }
    cells, _ = read(path, split="valid")
    assert cells == {("o/m", "anatomy", f"id{k}"): 1 for k in range(2)}
    with pytest.raises(InputError, match=r"no split 'train'; it has 'test', 'valid'"):
        read(path, split="train")


def test_the_split_of_the_leaderboard_counts(folder, read):
    entries = [entry(0, 1), entry(1, 0, "valid")]
    about = spec("commonsense:dataset=hellaswag,model=o_m", ["hellaswag"])
    cells, _ = read(folder(entries, about))
    assert cells == {("o/m", "commonsense:dataset=hellaswag", "id1"): 0}


def test_perturbed_instances_are_left_out(folder, read):
    typos = {"name": "typos", "prob": 0.1}
    entries = [entry(0, 1), entry(0, 0, perturbation=typos), entry(1, 0)]
    cells, report = read(folder(entries))
    assert cells == {("o/m", "anatomy", "id0"): 1, ("o/m", "anatomy", "id1"): 0}
    assert report.records == 2
    assert report.outcomes == {"of perturbed instances, left out": 1}


def test_training_trials_are_attempts(folder, read):
    entries = [entry(0, 1), entry(1, 1), entry(0, 0, trial=1), entry(1, 1, trial=1)]
    cells, _ = read(folder(entries))
    assert cells == {("o/m", "anatomy", "id0"): (1, 2), ("o/m", "anatomy", "id1"): (2, 2)}
    entries[2] = entry(0, 0.25, trial=1)
    with pytest.raises(InputError, match=r"correct is 0.625, a fraction"):
        read(folder(entries))
    cells, _ = read(folder(entries), fractions="keep")
    assert list(cells.values()) == [0.625, 1]
    entries[2] = entry(0, -1, trial=1)
    with pytest.raises(
        InputError, match=r"sample 1: 'id0' has 2 training trials, one with score -1.0: expected 0"
    ):
        read(folder(entries), fractions="keep")


def test_an_instance_that_is_there_twice_is_refused(folder, read):
    with pytest.raises(InputError, match=r"item 'id0 .*: both say"):
        read(folder([entry(0, 1), entry(0, 1)]))


def test_the_metric(folder, read):
    entries = [entry(0, 0.5), entry(1, 0)]
    for each in entries:
        each["stats"].append(stat("quasi_exact_match", 1))
    plain = spec("new:model=o_m", ["new"])
    with pytest.raises(
        InputError, match=r"several metrics: 'exact_match', 'quasi_exact_match'; choose one"
    ):
        read(folder(entries, plain))
    cells, _ = read(folder(entries, plain), metric="quasi_exact_match")
    assert list(cells.values()) == [1, 1]
    with pytest.raises(InputError, match=r"no metric 'f1_score'; it has 'exact_match', 'num_ref"):
        read(folder(entries, plain), metric="f1_score")
    with pytest.raises(InputError, match=r"correct is 0.5, a fraction"):
        read(folder(entries))
    cells, _ = read(folder(entries), fractions="keep")
    assert list(cells.values()) == [0.5, 0]
    two = spec("x:model=o_m", ["boolq", "mmlu"])
    with pytest.raises(InputError, match=r"several metrics"):
        read(folder(entries, two))
    assert read(folder(entries, spec(groups=["boolq"])))[1].runs[0].qualifiers["metric"] == (
        "quasi_exact_match"
    )


def test_a_sample_without_the_metric_is_missing(folder, read):
    entries = [entry(k, 1) for k in range(5)]
    entries[1]["stats"].pop()
    entries[2]["stats"][1]["count"] = 0
    entries[3]["stats"][1]["sum"] = float("nan")
    entries[4]["stats"][1]["sum"] = None
    cells, report = read(folder(entries))
    assert cells == {("o/m", "anatomy", "id0"): 1}
    assert (report.records, report.missing) == (5, 4)
    assert report.outcomes == {"unscored": 4}


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("narrative_qa:model=o_m", "narrative_qa"),
        ("boolq", "boolq"),
        ("mmlu:subject=anatomy,method=joint,model=o_m,model_deployment=o_m", "anatomy"),
        ("legalbench:subset=a, b,model=o_m,method=joint", "legalbench:subset=a, b"),
    ],
)
def test_the_task_is_the_scenario_with_its_arguments(folder, read, name, task):
    _, report = read(folder([entry(0, 1), entry(1, 0)], spec(name)))
    assert [(run.model, run.task) for run in report.runs] == [("o/m", task)]


def test_runs_that_were_cut_short(folder, read):
    entries = [entry(0, 1), entry(0, 1, "valid"), entry(0, 1, trial=1)]
    assert read(folder(entries, spec(max_eval_instances=2)))[1].runs[0].partial == "limit 2"
    assert read(folder(entries, spec(max_eval_instances=3)))[1].runs[0].partial == ""


def asked(number, text, *answers):
    references = [{"output": {"text": answer}, "tags": []} for answer in answers]
    return {"instance": {"id": f"id{number}", "input": {"text": text}, "references": references}}


def test_what_was_asked_is_compared(folder, read):
    """Instances are numbered by the scenario, which may change."""
    state = {"adapter_spec": {}, "request_states": [asked(0, "1+1?", "2"), asked(1, "2+2?", "4")]}
    first = folder([entry(0, 1), entry(1, 0)], name="a", scenario_state=state)
    second = spec(model="o/n")
    same = folder([entry(0, 1), entry(1, 0)], second, name="b", scenario_state=state)
    cells, report = read(first, same)
    assert len(cells) == 4
    assert len(report.companions) == 4
    state["request_states"][1] = asked(1, "2+2?", "5")
    other = folder([entry(0, 1), entry(1, 0)], second, name="b", scenario_state=state)
    with pytest.raises(InputError, match=r"item 'id1 .* is not what it is in"):
        read(first, other)


def test_broken_folders(folder, read, write):
    path = folder([entry(0, 1)])
    (path / "run_spec.json").unlink()
    with pytest.raises(InputError, match=r"no run_spec.json beside it, which names model"):
        read(path)
    path = folder([entry(0, 1)], {"name": "x", "adapter_spec": {}})
    with pytest.raises(
        InputError, match=r"does not name its model \(adapter_spec.model\); name .*--model"
    ):
        read(path, metric="exact_match")
    assert read(path, model="m", metric="exact_match")[1].runs[0].model == "m"
    with pytest.raises(
        InputError, match=r"Expected `str \| null`, got `int` - at `\$.adapter_spec.met"
    ):
        read(folder([entry(0, 1)], spec(method=3)))
    for arguments in (5, {"names": 5}, {"names": "exact_match"}):
        about = spec() | {"metric_specs": [{"args": arguments}]}
        with pytest.raises(InputError, match=r"run_spec.json: Expected .*metric_specs\[0\].args"):
            read(folder([entry(0, 1)], about))
    unsaid = spec() | {"metric_specs": [{"args": None}]}
    assert read(folder([entry(0, 1)], unsaid))[1].records == 1
    write("run/run_spec.json", "{}")
    with pytest.raises(InputError, match=r"run_spec.json: Object missing required field `name`"):
        read(path)
    path = folder([entry(0, 1), {"instance_id": 3}])
    with pytest.raises(InputError, match=r"stats.json: Expected `str`, got `int` - at `\$\[1\]"):
        read(path)
    whole = (path / "per_instance_stats.json").read_bytes()
    write("run/per_instance_stats.json", whole[:-20])
    with pytest.raises(InputError, match=r"per_instance_stats.json: broken JSON"):
        read(path)


def test_a_run_without_instances_is_told(folder, read):
    empty = folder([], spec(model="o/n"), name="a")
    _, report = read(empty, folder([entry(0, 1)], name="b"))
    assert [run.records for run in report.runs] == [0, 1]
    assert report.empty_files == (str(empty / "per_instance_stats.json"),)


def test_from_remote_places(folder, read, place, upload):
    path = folder([entry(0, 1), entry(1, 0)], stats=[{"name": {"name": "x"}, "sum_squared": 1}])
    upload(place)
    cells, report = read(f"{place}/run")
    assert cells == read(path)[0]
    assert len(report.companions) == 2
    assert report.skipped_files == ()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "split", "metric"),
    [
        ("commonsense-dataset=hellaswag,*", "valid", "exact_match"),
        ("mmlu-subject=philosophy,*", "test", "exact_match"),
        ("narrative_qa-*", "test", "f1_score"),
    ],
)
def test_real_runs(data, read, name, split, metric):
    (path,) = (data / "native" / "helm").glob(name)
    raw = json.loads((path / "per_instance_stats.json").read_bytes())
    truth = {
        each["instance_id"]: one["sum"]
        for each in raw
        for one in each["stats"]
        if one["name"] == {"name": metric, "split": split}
    }
    cells, report = read(path, fractions="keep")
    (run,) = report.runs
    about = json.loads((path / "run_spec.json").read_bytes())
    assert run.model == about["adapter_spec"]["model"]
    assert run.partial == f"limit {len(raw)}"
    found = {document: value for (_, _, document), value in cells.items()}
    assert found == pytest.approx(truth, rel=1e-6)
    told = json.loads((path / "stats.json").read_bytes())
    (mean,) = [one["mean"] for one in told if one["name"] == {"name": metric, "split": split}]
    assert sum(found.values()) / len(found) == pytest.approx(mean, rel=1e-6)
    assert report.outcomes.get("of other splits, left out", 0) == len(raw) - len(truth)
    assert len(report.companions) == 4
    assert report.skipped_files == ()


@pytest.mark.data
def test_all_real_runs_at_once(data, read):
    cells, report = read(data / "native" / "helm", fractions="keep")
    assert len(cells) == 10 + 9 + 4
    assert report.records == 23
    assert len(report.companions) == 12
