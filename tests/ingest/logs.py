"""Small whole logs of every format, and tables, with the cells that they hold."""

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.ingest.formats import (
    test_bfcl,
    test_can_ai_code,
    test_details,
    test_evalplus,
    test_every_eval_ever,
    test_helm,
    test_inspect,
    test_livecodebench,
    test_lm_eval,
    test_metr,
    test_openai_evals,
    test_swebench,
)

Cells = dict[tuple[str, str, str], tuple[float, int]]
"""(model, domain, document) -> successes, a fraction or their sum; and trials."""

MODELS = ("o/a", "o/bb")
DAY = "2024-06-0{}T21-45-00.000000"
LAYOUTS: list["Layout"] = []


@dataclass(frozen=True)
class Layout:
    """One way in which logs of a format lie in a folder.

    Attributes
    ----------
    write
        Writes logs into a folder; their ids are of ASCII letters.
    arguments
        Options that `mtlirt ingest` needs to read them.
    counted
        Whether the log of a run tells how many samples it has, so that a lost one is noticed.
    local
        Whether what is wrong with the log of a run leaves other runs as they are.
    """

    format: str
    name: str
    write: Callable[[Path], Cells]
    arguments: tuple[str, ...]
    counted: bool
    local: bool

    def __str__(self) -> str:
        return f"{self.format} {self.name}"


def layout(
    format: str,  # noqa: A002
    name: str,
    *arguments: str,
    counted: bool = False,
    local: bool = True,
) -> Callable[[Callable[[Path], Cells]], Callable[[Path], Cells]]:
    """Take a maker of logs into `LAYOUTS`."""

    def take(write: Callable[[Path], Cells]) -> Callable[[Path], Cells]:
        LAYOUTS.append(Layout(format, name, write, arguments, counted, local))
        return write

    return take


def right(model: str, task: str, document: object) -> int:
    """Whether a model is right: both answers occur in every task and of every model."""
    return (len(model) + len(task) + sum(map(ord, str(document)))) % 3 % 2


def truth(models, tasks, documents) -> Cells:
    return {
        (model, task, str(document)): (right(model, task, document), 1)
        for model in models
        for task in tasks
        for document in documents
    }


def put(path: Path, content) -> None:
    """Write bytes, text, or a JSON document; gzipped if the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str | bytes):
        content = json.dumps(content, indent=2)
    content = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def lines(entries) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def delimited(rows, delimiter=","):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue()


# --- tables ---------------------------------------------------------------------------------

COLUMNS = ["model_id", "item_id", "domain", "correct"]
TIDY = truth(MODELS, "xy", range(4))
ROWS = [(model, item, domain, str(value)) for (model, domain, item), (value, _) in TIDY.items()]


@layout("tidy", "csv")
def tidy_csv(folder):
    put(folder / "x.csv", delimited([COLUMNS, *ROWS]))
    return TIDY


@layout("tidy", "csv.gz")
def tidy_gz(folder):
    put(folder / "x.csv.gz", delimited([COLUMNS, *ROWS]))
    return TIDY


@layout("tidy", "jsonl")
def tidy_lines(folder):
    entries = [dict(zip(COLUMNS, (*row[:3], int(row[3])), strict=True)) for row in ROWS]
    put(folder / "x.jsonl", lines(entries).rstrip())
    return TIDY


@layout("tidy", "parquet")
def tidy_parquet(folder):
    pd.DataFrame(ROWS, columns=COLUMNS).to_parquet(folder / "x.parquet", row_group_size=5)
    return TIDY


@layout("wide", "csv")
def wide_csv(folder):
    models, items = (*MODELS, "ccc"), [f"i{k}" for k in range(5)]
    rows = [[m, *(right(m, "default", item) for item in items)] for m in models]
    put(folder / "x.csv", delimited([["model", *items], *rows]))
    return truth(models, ["default"], items)


@layout("wide", "parquet")
def wide_parquet(folder):
    columns = {"model": ["m", "n"], "a": [1, 0], "b": [None, 1.0], "c": [True, False]}
    pd.DataFrame(columns).to_parquet(folder / "x.parquet")
    known = {"m": {"a": 1, "c": 1}, "n": {"a": 0, "b": 1, "c": 0}}
    return {
        (model, "default", item): (value, 1)
        for model, row in known.items()
        for item, value in row.items()
    }


# --- logs -----------------------------------------------------------------------------------


@layout("py-irt", "lines")
def py_irt(folder):
    items = [f"i{k}" for k in range(4)]
    entries = [
        {"subject_id": m, "responses": {item: right(m, "default", item) for item in items}}
        for m in MODELS
    ]
    put(folder / "x.jsonlines", lines(entries).rstrip())
    return truth(MODELS, ["default"], items)


def failures(model, category, documents):
    return [
        test_bfcl.failure(document, model, category)
        for document in documents
        if not right(model, category, document)
    ]


@layout("bfcl", "numbers", counted=True, local=False)
def bfcl_numbers(folder):
    documents = range(1, 6)
    for model in MODELS:
        for category, gz in (("java", ""), ("rest", ".gz"), ("sql", "")):
            failed = failures(model, category, documents) if category != "sql" else []
            counts = {
                "accuracy": 0.5,
                "correct_count": 5 - len(failed),
                "total_count": 5,
            }
            put(folder / model[2:] / f"{category}_score.json{gz}", lines([counts, *failed]))
    passed = {(model, "sql", str(k)): (1, 1) for model in MODELS for k in documents}
    return truth(MODELS, ["java", "rest"], documents) | passed


@layout("bfcl", "names", counted=True)
def bfcl_names(folder):
    tasks = ("live_simple", "multiple")
    for model in MODELS:
        for category in tasks:
            names = [f"{category}_{k}" for k in range(5)]
            failed = failures(model, category, names)
            counts = {"accuracy": 0, "correct_count": 5 - len(failed), "total_count": 5}
            start = f"{model[2:]}/live/BFCL_v4_{category}"
            put(folder / f"score/{start}_score.json", lines([counts, *failed]))
            answers = [{"id": name, "result": "f()"} for name in names]
            put(folder / f"result/{start}_result.json", lines(answers))
    return {
        key: value
        for category in tasks
        for key, value in truth(MODELS, [category], [f"{category}_{k}" for k in range(5)]).items()
    }


@layout("can-ai-code", "lines", "--metric=passed")
def can_ai_code(folder):
    cells = {}
    for model in MODELS:
        for interview, gz in (("senior", ""), ("junior-v2", ".gz")):
            entries = []
            for name in "FGH":
                for language in ("python", "javascript"):
                    passed = (ord(name) + len(model) + len(language)) % 5
                    status = {0: "NO_CODE", 4: "PASS"}.get(passed, "FAIL")
                    entry = test_can_ai_code.line(name, language, status, passed, 4, model)
                    entries.append(entry)
                    cells[model, interview, f"{name}/{language}"] = passed / 4, 1
            name = f"eval_{interview}_python_none-vllm_{model[2:]}_1708309313.ndjson{gz}"
            put(folder / name, lines(entries))
    return cells


@layout("evalplus", "samples", "--model=o/m", "--metric=plus")
def evalplus(folder):
    humaneval = {
        "HumanEval/0": [("pass", "pass"), ("pass", "fail"), ("fail", "fail")],
        "HumanEval/1": [("timeout", None)],
        "HumanEval/2": [(None, None), ("pass", None)],
        "HumanEval/3": [("pass", "pass"), ("pass", None)],
    }
    mbpp = {"Mbpp/2": [("pass", "pass")], "Mbpp/3": [("pass", "timeout")]}
    test_evalplus.save(folder / "o--m_humaneval_eval_results.json", humaneval)
    test_evalplus.save(folder / "o--m_mbpp_eval_results.json", mbpp, hash="h2")
    return {
        ("o/m", "HumanEval", "HumanEval/0"): (1, 3),
        ("o/m", "HumanEval", "HumanEval/1"): (0, 1),
        ("o/m", "HumanEval", "HumanEval/3"): (1, 1),
        ("o/m", "Mbpp", "Mbpp/2"): (1, 1),
        ("o/m", "Mbpp", "Mbpp/3"): (0, 1),
    }


@layout("every-eval-ever", "lines", "--metric=accuracy")
def every_eval_ever(folder):
    cells = {}
    results = (
        test_every_eval_ever.result("gsm8k"),
        test_every_eval_ever.result("math", "r#1"),
        test_every_eval_ever.result("math", "r#2", "f1"),
    )
    for model, gz in zip(MODELS, ("", ".gz"), strict=True):
        entries = []
        for k in range(3):
            cells |= truth([model], ["gsm8k", "math"], [f"s{k}"])
            score = right(model, "gsm8k", f"s{k}")
            entries.append(test_every_eval_ever.line(k, score, model=model))
            score = right(model, "math", f"s{k}")
            for result, value in (("r#1", score), ("r#2", 0.25)):
                more = {"model": model, "raw": f"{k}!", "evaluation_result_id": result}
                entries.append(test_every_eval_ever.line(k, value, "math", **more))
        entries.append(test_every_eval_ever.line(3, 0, model=model, error="timeout"))
        entries.append(test_every_eval_ever.line(4, None, model=model))
        put(folder / model[2:] / f"x_samples.jsonl{gz}", lines(entries))
        put(folder / model[2:] / "x.json", test_every_eval_ever.aggregate(*results))
    return cells


@layout("helm", "folders")
def helm(folder):
    cells = {}
    for model in MODELS:
        for subject, gz in (("anatomy", ""), ("virology", ".gz")):
            entries = [
                test_helm.entry(k, right(model, subject, f"id{k}"), trial=trial)
                for k in range(3)
                for trial in range(2)
            ]
            entries += [test_helm.entry(3, 1, "valid"), test_helm.entry(4, float("nan"))]
            entries += [test_helm.entry(0, 0, perturbation={"name": "typos"})]
            about = test_helm.spec(f"mmlu:subject={subject},method=joint,model=m", model=model)
            asked = [test_helm.asked(k, f"{subject} {k}?", "yes") for k in range(5)]
            files = {
                "per_instance_stats": entries,
                "run_spec": about,
                "stats": [test_helm.stat("exact_match", 1) | {"sum_squared": 1}],
                "scenario_state": {"adapter_spec": {}, "request_states": asked},
            }
            for name, content in files.items():
                put(folder / f"mmlu-{subject}-{model[2:]}" / f"{name}.json{gz}", content)
            for (m, task, document), (score, _) in truth(
                [model], [subject], [f"id{k}" for k in range(3)]
            ).items():
                cells[m, task, document] = 2 * score, 2
    return cells


def inspect_logs():
    """Contents of logs by model and task, and their cells."""
    contents, cells = {}, {}
    for model in MODELS:
        for task in ("arc", "gsm"):
            samples = [
                test_inspect.sample(k, "CI"[not right(model, task, k)], epoch)
                for k in range(3)
                for epoch in (1, 2)
            ]
            samples += [test_inspect.sample(3, float("nan")), test_inspect.sample("n", "N")]
            samples += [test_inspect.sample(5, error={"message": "out of memory"})]
            results = {
                "total_samples": len(samples),
                "completed_samples": len(samples),
                "scores": [{"name": "match", "scorer": "match"}],
            }
            facts = {"model": model, "task": task, "config": {"epochs": 2}}
            contents[model, task] = test_inspect.log(samples, results=results, **facts)
            for k in range(3):
                cells[model, task, str(k)] = 2 * right(model, task, k), 2
            cells[model, task, "n"] = 0, 1
    return contents, cells


@layout("inspect", "json", counted=True)
def inspect_json(folder):
    contents, cells = inspect_logs()
    for (model, task), content in contents.items():
        put(folder / f"{task}_{model[2:]}.json{'.gz' if task == 'gsm' else ''}", content)
    return cells


@layout("inspect", "eval", counted=True)
def inspect_eval(folder):
    contents, cells = inspect_logs()
    for (model, task), content in contents.items():
        with zipfile.ZipFile(
            folder / f"{task}_{model[2:]}.eval", "w", zipfile.ZIP_DEFLATED
        ) as archive:
            for name, text in test_inspect.zipped(content).items():
                archive.writestr(name, text)
    return cells


def details(folder, results, tasks, row):
    """Details of each task, by row, with their results."""
    for model, day in zip(MODELS, "12", strict=True):
        stamp = DAY.format(day)
        told = results | {"config_general": results["config_general"] | {"model_name": model}}
        put(folder / f"results/{model}/results_{stamp}.json", told)
        for task, name in tasks.items():
            rows = [row(model, task, k) for k in range(4)]
            path = folder / f"details/{model}/{stamp}/details_{name}_{stamp}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)


LEADERBOARD = {
    "anatomy": "harness|hendrycksTest-anatomy|5",
    "arc:challenge": "harness|arc:challenge|25",
}


@layout("openllm-details", "flat")
def openllm_flat(folder):
    def row(model, task, k):
        score = float(right(model, task, k))
        return test_details.flat(k, acc=score, acc_norm=score)

    details(folder, test_details.LEADERBOARD, LEADERBOARD, row)
    return truth(MODELS, LEADERBOARD, range(4))


@layout("openllm-details", "nested")
def openllm_nested(folder):
    def row(model, task, k):
        score = float(right(model, task, k)) if k < 3 else None
        return test_details.nested(k, acc=score, acc_norm=score)

    details(folder, test_details.LEADERBOARD, LEADERBOARD, row)
    return truth(MODELS, LEADERBOARD, range(3))


@layout("lighteval", "newest", "--metric=em")
def lighteval(folder):
    def row(model, task, k):
        score = right(model, task, 10 * k) if k < 3 else None
        return test_details.newest(k, em=score, qem=1)

    tasks = {"gsm8k": "lighteval|gsm8k|0", "math": "math|4"}
    details(folder, test_details.LIGHTEVAL, tasks, row)
    return truth(MODELS, tasks, (0, 10, 20))


@layout("livecodebench", "samples", "--metric=Pass@1")
def livecodebench_samples(folder):
    entries = [
        test_livecodebench.entry(
            model,
            7,
            sample_id=f"s{k}",
            **{"Pass@1": 100.0 * right(model, "", f"s{k}"), "Pass@1-COT": 30.0},
        )
        for model in MODELS
        for k in range(4)
    ]
    entries.append(
        test_livecodebench.entry("o/a", 8, sample_id="t", **{"Pass@1": -1, "Pass@1-COT": 0})
    )
    put(folder / "performances_execution.json", {"performances": entries, "models": []})
    return {
        (model, "livecodebench_execution", f"s{k}"): (right(model, "", f"s{k}"), 1)
        for model in MODELS
        for k in range(4)
    }


@layout("livecodebench", "test cases")
def livecodebench_cases(folder):
    values = {"o/a": [100, 30.0, 0], "o/bb": [0, 100, 50.0]}
    entries = [
        test_livecodebench.entry(model, question, **{"pass@1": value})
        for model, row in values.items()
        for question, value in zip("qrq", row, strict=True)
    ]
    put(folder / "performances_testgen.json.gz", {"performances": entries})
    return {
        (model, "livecodebench_testgen", document): (value / 100, 1)
        for model, row in values.items()
        for document, value in zip(("q/1", "r", "q/2"), row, strict=True)
    }


def lm_eval_results(model, tasks, filters=("none",)):
    metrics = {f"exact_match,{name}": 0.5 for name in filters}
    return test_lm_eval.RESULTS | {
        "results": dict.fromkeys(tasks, metrics),
        "configs": {task: {"task": task, "num_fewshot": 5} for task in tasks},
        "versions": dict.fromkeys(tasks, 1.0),
        "n-shot": dict.fromkeys(tasks, 5),
        "n-samples": {task: {"original": 4, "effective": 4} for task in tasks},
        "config": {"model": "hf", "model_args": f"pretrained={model}", "limit": None},
        "model_name": model,
    }


@layout("lm-eval", "filters", "--filter=strict", counted=True)
def lm_eval_filters(folder):
    filters = {"flexible": 0, "strict": 1}
    for model in MODELS:
        stamp = DAY.format(len(model))
        put(
            folder / model / f"results_{stamp}.json",
            lm_eval_results(model, ["gsm", "arc"], filters),
        )
        for task, gz in (("gsm", ""), ("arc", ".gz")):
            entries = [
                test_lm_eval.line(
                    k,
                    f"hash {task} {k}",
                    filter=name,
                    metrics=["exact_match"],
                    exact_match=float(right(model, task, k)) if strict else 0.0,
                )
                for name, strict in filters.items()
                for k in range(4)
            ]
            put(folder / model / f"samples_{task}_{stamp}.jsonl{gz}", lines(entries))
    return truth(MODELS, ["gsm", "arc"], range(4))


@layout("lm-eval", "no filter", counted=True)
def lm_eval_plain(folder):
    for model in MODELS:
        stamp = DAY.format(len(model))
        put(folder / model / f"results_{stamp}.json", lm_eval_results(model, ["gsm", "arc"]))
        for task in ("gsm", "arc"):
            scores = [bool(right(model, task, k)) for k in range(3)] + [None]
            entries = [test_lm_eval.line(k, exact_match=score) for k, score in enumerate(scores)]
            put(folder / model / f"samples_{task}_{stamp}.json", lines(entries))
    return truth(MODELS, ["gsm", "arc"], range(3))


@layout("lm-eval", "arrays")
def lm_eval_arrays(folder):
    name = "hendrycksTest-anatomy"
    for model in MODELS:
        about = test_lm_eval.OLD["config"] | {"model_args": f"pretrained={model}"}
        put(folder / model / "results.json", test_lm_eval.OLD | {"config": about})
        entries = [test_lm_eval.line(k, acc=right(model, "anatomy", k)) for k in range(4)]
        put(folder / model / f"pretrained__{model[2:]}_{name}.jsonl", entries)
    return truth(MODELS, ["anatomy"], range(4))


@layout("metr", "lines")
def metr(folder):
    entries, cells = [], {}
    for model in MODELS:
        for source in ("HCAST", "SWAA"):
            for task in ("f/main", "g", "h"):
                score = right(model, source, task)
                for attempt in range(2):
                    won = int(score and not (attempt and task == "g"))
                    name = f"{model} {source} {task} {attempt}"
                    facts = {"task_source": source, "run_id": name}
                    entries.append(test_metr.line(model, task, won, **facts))
                    successes, trials = cells.get((model, source, task), (0, 0))
                    cells[model, source, task] = successes + won, trials + 1
        failed = {"fatal_error_from": "serverOrTask", "task_source": "SWAA", "run_id": f"{model} x"}
        entries.append(test_metr.line(model, "h", 0, **failed))
    put(folder / "all_runs.jsonl", lines(entries))
    return cells


@layout("openai-evals", "events", counted=True)
def openai_evals(folder):
    for model in MODELS:
        for task, gz in (("coqa", ""), ("math", ".gz")):
            about = {"completion_fns": [model], "eval_name": f"{task}.dev.v0", "base_eval": task}
            scores = [right(model, task, f"coqa.dev.{k}") for k in range(3)]
            events = [test_openai_evals.event(3, "error", type="Timeout")]
            for k, score in enumerate(scores):
                events.append(test_openai_evals.event(k, "metrics", f1_score=0.5))
                events.append(test_openai_evals.event(k, "sampling", sampled="a"))
                events.append(test_openai_evals.match(k, bool(score)))
            told = [
                test_openai_evals.spec(**about),
                {"final_report": {"accuracy": sum(scores) / 3}},
                *test_openai_evals.numbered(*events),
            ]
            put(folder / model[2:] / f"{task}.jsonl{gz}", lines(told))
    return truth(MODELS, ["coqa", "math"], [f"coqa.dev.{k}" for k in range(3)])


@layout("swebench", "reports", counted=True)
def swebench_reports(folder):
    cells = {}
    for model in MODELS:
        counts = {"resolved": len(model), "unresolved": 2, "empty_patch": 1, "error": 1}
        told = test_swebench.report(counts, model_name_or_path=model)
        put(folder / f"{model.replace('/', '__')}.run.json", told)
        for name, value in (("resolved", 1), ("unresolved", 0), ("empty_patch", 0)):
            for instance in told[f"{name}_ids"]:
                cells[model, "default", instance] = value, 1
    return cells


@layout("swebench", "leaderboards", "--split=Verified")
def swebench_leaderboards(folder):
    documents = [f"repo__{k}" for k in range(4)]
    boards = [
        {
            "name": board,
            "results": [
                {
                    "name": model,
                    "date": f"2025-01-0{len(model)}",
                    "per_instance_details": {
                        document: {"resolved": bool(right(model, "Verified", document))}
                        for document in documents
                    }
                    | {"unknown": {"resolved": None}},
                }
                for model in MODELS
            ],
        }
        for board in ("Verified", "Lite")
    ]
    put(folder / "leaderboards.json", {"leaderboards": boards})
    return truth(MODELS, ["Verified"], documents)
