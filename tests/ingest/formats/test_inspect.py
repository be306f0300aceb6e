"""Inspect's logs."""

import gzip
import io
import json
import zipfile

import pytest

from mtlirt.errors import InputError


def sample(number, value=None, epoch=1, scorer="match", **more):
    scores = {} if value is None else {"scores": {scorer: {"value": value, "answer": "x"}}}
    return {"id": number, "epoch": epoch, "input": f"What is {number}?", **scores, **more}


def log(samples, status="success", results=None, scorer="match", config=None, **facts):
    about = {
        "run_id": "r",
        "created": "2024-06-01T23:30:00+02:00",
        "task": "arc",
        "task_version": 0,
        "model": "o/m",
        "dataset": {"samples": 100},
        "config": config or {},
        **facts,
    }
    told = {"total_samples": 0, "completed_samples": 0, "scores": [{"name": scorer}]}
    return {
        "version": 2,
        "status": status,
        "eval": about,
        "plan": {},
        "results": told if results is None else results,
        "samples": samples,
    }


def zipped(content, *, ended=True):
    """The members of an archive."""
    header = {key: content[key] for key in ("version", "eval", "plan")}
    members = {"_journal/start.json": header}
    for each in content["samples"] or ():
        members[f"samples/{each['id']}_epoch_{each['epoch']}.json"] = each
    if ended:
        members["summaries.json"] = []
        members["header.json"] = {key: content[key] for key in content if key != "samples"}
    return {name: json.dumps(each).encode() for name, each in members.items()}


@pytest.fixture
def put(write, zstandard_zip):
    """Write a log in one layout."""

    def put(content, layout="json", name="x", **options):
        if layout.startswith("json"):
            text = json.dumps(content, indent=2).encode()
            gz = layout.endswith(".gz")
            return write(f"{name}.{layout}", gzip.compress(text) if gz else text)
        members = zipped(content, **options)
        if layout == "zstandard":
            return write(f"{name}.eval", zstandard_zip(members))
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, text in members.items():
                archive.writestr(member, text)
        return write(f"{name}.eval", file.getvalue())

    return put


LAYOUTS = pytest.mark.parametrize("layout", ["json", "json.gz", "eval", "zstandard"])

GRADED = [
    *(sample(number, grade) for number, grade in enumerate("CIPN")),
    sample(4, float("nan")),
    sample(5, error={"message": "out of memory", "traceback": "..."}),
    sample(6, "C"),
    sample(6, "I", epoch=2),
]


@LAYOUTS
def test_grades_nan_errors_and_epochs(put, read, layout):
    """Public fault O13."""
    path = put(log(GRADED, config={"epochs": 2}), layout)
    cells, report = read(path, fractions="keep")
    by_document = {document: value for (_, _, document), value in cells.items()}
    assert by_document == {"0": 1, "1": 0, "2": 0.5, "3": 0, "6": 0.5}
    assert report.records == 7
    assert (report.cells, report.missing) == (5, 2)
    assert report.outcomes == {"errored": 1, "unscored": 1}
    with pytest.raises(InputError, match=r"sample 3: .* correct is 0.5, a fraction"):
        read(path)


@LAYOUTS
def test_what_a_log_says(put, read, layout):
    _, report = read(put(log([sample(1, "C"), sample("b", "I")]), layout))
    (run,) = report.runs
    assert (run.model, run.task, run.partial) == ("o/m", "arc", "")
    assert run.qualifiers == {"version": "0", "metric": "match"}
    assert run.time == "2024-06-01T21:30:00.000000+00:00"


def test_all_layouts_give_the_same(put, read, same, zstandard_zip):
    from mtlirt.ingest import ingest

    graded = [*GRADED, sample("é/7", "C"), sample(8, None)]
    options = {"fractions": "keep", "poor_domains": "keep"}
    first, *others = (
        ingest([put(log(graded), layout)], **options)[0]
        for layout in ("json", "json.gz", "eval", "zstandard")
    )
    for other in others:
        same(first, other)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_the_latest_run_counts(put, read, order):
    """Public fault O34: of two zones, and without one, which is UTC."""
    times = ["2024-06-01T23:30:00+02:00", "2024-06-01T22:00:00Z", "2024-06-01T21-45-00.000000"]
    grades = ["CC", "CI", "II"]
    paths = [
        put(log([sample(k, grade) for k, grade in enumerate(grades[run])], created=times[run]),
            name=str(run))
        for run in range(3)
    ]  # fmt: skip
    cells, report = read(*(paths[run] for run in order))
    assert list(cells.values()) == [1, 0]
    assert {run.source: run.superseded for run in report.runs} == {
        str(paths[0]): True,
        str(paths[1]): False,
        str(paths[2]): True,
    }
    assert {run.time for run in report.runs} == {
        f"2024-06-01T{clock}:00.000000+00:00" for clock in ("21:30", "21:45", "22:00")
    }
    cells, _ = read(paths[0], paths[2])
    assert list(cells.values()) == [0, 0]


@pytest.mark.parametrize("layout", ["json", "eval"])
@pytest.mark.parametrize(
    ("change", "partial"),
    [
        ({}, ""),
        ({"status": "cancelled"}, "cancelled"),
        ({"status": "error"}, "error"),
        ({"config": {"limit": 2}}, "limit 2"),
        ({"config": {"limit": 100}}, ""),
        ({"config": {"limit": [10, 12]}}, "limit 10-12"),
        ({"config": {"sample_id": ["0", "1"]}}, "chosen samples"),
        ({"dataset": {}, "config": {"limit": 2}}, "limit 2"),
        (
            {"results": {"total_samples": 2, "completed_samples": 1}},
            "1 of 2 samples completed",
        ),
        (
            {"results": {"total_samples": 9, "completed_samples": 9}},
            "2 of 9 samples in the log",
        ),
        ({"status": "error", "config": {"limit": 2}}, "error, limit 2"),
    ],
)
def test_what_makes_a_run_partial(put, read, layout, change, partial):
    _, report = read(put(log([sample(0, "C"), sample(1, "I")], **change), layout))
    assert report.runs[0].partial == partial


def test_a_run_that_never_ended(put, read):
    path = put(log([sample(0, "C"), sample(1, "I")]), "eval", ended=False)
    cells, report = read(path)
    assert list(cells.values()) == [1, 0]
    assert report.runs[0].partial == "started"


def test_a_log_without_samples_is_told_and_gives_way(put, read):
    later = put(log(None, created="2025-01-01T00:00:00Z"), name="later")
    whole = put(log([sample(0, "C"), sample(1, "I")]))
    cells, report = read(later, whole)
    assert list(cells.values()) == [1, 0]
    assert [(run.partial, run.superseded) for run in report.runs] == [
        ("no samples in the log", True),
        ("", False),
    ]
    with pytest.raises(InputError, match="no responses: 1 files without a record: "):
        read(later)


def test_scorers_are_metrics(put, read):
    scores = {
        "match": {"value": "C"},
        "judge": {"value": {"clear": 1, "true": "I", "both": [1, 0]}},
        "rank": {"value": 0.25},
    }
    path = put(log([{"id": 0, "epoch": 1, "scores": scores}, sample(1, "I")]))
    with pytest.raises(
        InputError,
        match=r"several metrics: 'judge.both', 'judge.clear', 'judge.true', 'match', 'rank'; ch",
    ):
        read(path)
    assert list(read(path, metric="match")[0].values()) == [1, 0]
    cells, report = read(path, metric="judge.true")
    assert cells == {("o/m", "arc", "0"): 0}
    assert report.outcomes == {"unscored": 1}
    assert report.runs[0].qualifiers["metric"] == "judge.true"
    with pytest.raises(InputError, match=r"no metric 'judge'; it has"):
        read(path, metric="judge")
    with pytest.raises(
        InputError, match=r"sample 1: score judge.both of '0' is '\[1, 0\]', expected one value"
    ):
        read(path, metric="judge.both")


def test_a_plain_score_among_scores_by_name_is_refused(put, read):
    samples = [sample(0, {"clear": "C"}), sample(1, "C")]
    with pytest.raises(
        InputError, match=r"x.json sample 2: score match of '1' is 'C', expected a value named 'cle"
    ):
        read(put(log(samples)))
    with pytest.raises(InputError, match=r"sample 2: score match of '0' is .*, expected one value"):
        read(put(log(samples[::-1])), metric="match")
    absent = [samples[0], sample(1, float("nan")), sample(2, {"short": "C"}), sample(3)]
    cells, report = read(put(log(absent)), metric="match.clear")
    assert cells == {("o/m", "arc", "0"): 1}
    assert report.outcomes == {"unscored": 3}


def test_scorers_of_which_the_first_sample_has_none(put, read):
    samples = [sample(0, "C"), sample(1, "I", scorer="judge")]
    results = {"scores": [{"name": "match", "scorer": "match"}, {"name": "j", "scorer": "judge"}]}
    path = put(log(samples, results=results))
    with pytest.raises(InputError, match=r"several metrics: 'judge', 'match'"):
        read(path)
    assert read(path, metric="judge")[0] == {("o/m", "arc", "1"): 0}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, 1), (0, 0), (1.0, 1), (True, 1), (False, 0), ("1", 1), ("0.0", 0), ("yes", 1), ("No", 0),
     ("True", 1), ("NaN", None), (0.65, 0.65)],
)  # fmt: skip
def test_values(put, read, value, expected):
    cells, _ = read(put(log([sample(0, value), sample(1, "C")])), fractions="keep")
    assert cells.get(("o/m", "arc", "0")) == (expected and pytest.approx(expected))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("excellent", r"x.json sample 1: score match of '0' is 'excellent', expected C, I, P, N"),
        (37, r"sample 1: .* correct is 37, expected 0 or 1"),
        (-0.5, r"sample 1: .* correct is -0.5, expected 0 or 1"),
        (float("inf"), r"sample 1: .* correct is inf"),
    ],
)
def test_values_that_are_none(put, read, value, message):
    with pytest.raises(InputError, match=message):
        read(put(log([sample(0, value), sample(1, "C")])), fractions="keep")


def test_epochs_are_attempts(put, read):
    samples = [sample(0, "C"), sample(1, "I"), sample(0, "I", epoch=2), sample(0, "C", epoch=3)]
    cells, report = read(put(log(samples)))
    assert cells == {("o/m", "arc", "0"): (2, 3), ("o/m", "arc", "1"): (0, 1)}
    assert report.records == 2


def test_epochs_that_are_no_successes_are_fractions(put, read):
    samples = [sample(0, 0.65), sample(1, "C"), sample(0, "C", epoch=2), sample(1, "C", epoch=2)]
    path = put(log(samples))
    with pytest.raises(InputError, match=r"sample 1: .* correct is 0.825, a fraction"):
        read(path)
    cells, _ = read(path, fractions="keep")
    assert list(cells.values()) == pytest.approx([0.825, 1])
    samples[0] = sample(0, 37)
    with pytest.raises(InputError, match=r"sample 1: '0' has 2 epochs, one with score 37.*: exp"):
        read(put(log(samples)), fractions="keep")


def test_epochs_without_a_score_do_not_count(put, read):
    samples = [sample(0, "C"), sample(0, error={"message": "x"}, epoch=2), sample(0, "I", epoch=3)]
    samples += [sample(1, float("nan")), sample(1, None, epoch=2)]
    cells, report = read(put(log(samples)))
    assert cells == {("o/m", "arc", "0"): (1, 2)}
    assert report.outcomes == {"errored": 1, "unscored": 2}
    assert (report.records, report.missing) == (2, 1)


def test_invalidated_samples_are_missing(put, read):
    samples = [sample(0, "C"), sample(1, "C", invalidation={"author": "a", "reason": "leak"})]
    cells, report = read(put(log(samples)))
    assert cells == {("o/m", "arc", "0"): 1}
    assert report.outcomes == {"invalidated": 1}


def test_one_sample_twice_is_refused(put, read):
    with pytest.raises(InputError, match=r"item '7 .*: both say correct 1"):
        read(put(log([sample(7, "C"), sample("7", "C")])))


def test_what_was_asked_is_compared(put, read):
    question = "What is 0?"
    chat = [{"role": "user", "content": question, "id": "random"}]
    forms = [
        {},
        {"input": "attachment://abc", "attachments": {"abc": question}},
        {"input": chat},
    ]
    paths = [
        put(log([sample(0, "C", **form), sample(1, "I")], model=f"m{k}"), name=str(k))
        for k, form in enumerate(forms)
    ]
    assert len(read(*paths)[0]) == 6
    other = put(log([sample(0, "C", choices=["a", "b"])], model="n"), name="n")
    with pytest.raises(InputError, match=r"item '0 .* is not what it is in"):
        read(*paths, other)
    images = [{"role": "user", "content": [{"type": "image", "image": "attachment://x"}]}]
    picture = put(log([sample(0, "C", input=images)], model="n"), name="n")
    assert len(read(*paths, picture)[0]) == 7


def test_broken_logs(put, read, write):
    whole = put(log([sample(0, "C"), sample(1, "I")])).read_bytes()
    with pytest.raises(InputError, match=r"x.json: broken JSON"):
        read(write("x.json", whole[:-30]))
    with pytest.raises(
        InputError, match=r"x.json: .*Expected `int \| str`, got `null` - at `\$.sam"
    ):
        read(put(log([{"id": None}])))
    with pytest.raises(InputError, match=r"x.json: eval.created is 'now', expected a date"):
        read(put(log([sample(0, "C")], created="now")))
    with pytest.raises(InputError, match=r"x.json: Expected `str`, got `int` - at `\$.eval.model`"):
        read(put(log([sample(0, "C")], model=3)))
    with pytest.raises(InputError, match=r"x.json: not UTF-8 text"):
        read(write("x.json", whole.replace(b"o/m", b"o\xff")))
    archive = put(log([sample(0, "C"), sample(1, "I")]), "eval").read_bytes()
    with pytest.raises(InputError, match=r"x.eval: no whole zip archive"):
        read(write("x.eval", archive[:-30]))
    broken = archive.replace(b"header.json", b"folder.json").replace(b"start.json", b"stirt.json")
    with pytest.raises(InputError, match=r"no log of Inspect: it has no member header.json"):
        read(write("x.eval", broken))
    bad = put(log([sample(0, "C"), {"id": 1, "epoch": "last"}]), "eval")
    with pytest.raises(InputError, match=r"samples/1_epoch_last.json: Expected `int`, got `str`"):
        read(bad)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"status": "\ud800"}, r"partial is '\\ud800', not Unicode text"),
        ({"task_version": "\udfff"}, r"version is '\\udfff', not Unicode text"),
        ({"model": "m\ud800"}, r"model is 'm\\ud800', not Unicode text"),
    ],
)
def test_halves_of_surrogate_pairs(put, read, facts, said):
    with pytest.raises(InputError, match=rf"x.json: {said}"):
        read(put(log([sample(0, "C"), sample(1, "I")], **facts)))


def test_other_files_are_no_logs(read, put, write):
    put(log([sample(0, "C")]))
    others = {"results.json": '{"status": "success", "eval": "x"}', "y.eval": "text"}
    paths = [str(write(name, content)) for name, content in others.items()]
    _, report = read(write("notes.json", "{}").parent)
    assert set(report.skipped_files) == {*paths, str(write("notes.json", "{}"))}


def test_members_are_read_one_by_one(put, read, monkeypatch):
    """No more than one sample's bytes are held at a time."""
    from mtlirt.ingest.formats import inspect
    from mtlirt.ingest.locations import locate

    path = put(log([sample(k, "C", output="x" * 1000) for k in range(50)]), "eval")
    reads = []
    original = inspect.Archive.read
    monkeypatch.setattr(
        inspect.Archive, "read", lambda self, name: reads.append(name) or original(self, name)
    )
    samples = inspect._read_samples(locate(path))
    next(samples)
    assert reads == ["samples/0_epoch_1.json"]
    next(samples)
    assert len(reads) == 2


def test_members_that_unpack_to_far_more_than_a_log_are_refused(put, read, monkeypatch):
    monkeypatch.setattr("mtlirt.ingest.formats.archives.LARGEST", 2**20)
    path = put(log([sample(0, "C"), sample(1, "C", output=" " * 2**21)]), "eval")
    with pytest.raises(InputError, match=r"x.eval: its member samples/.* unpacks to 2,09"):
        read(path)


@pytest.mark.parametrize("layout", ["json", "eval", "zstandard"])
def test_from_remote_places(put, read, place, upload, layout):
    path = put(log(GRADED), layout)
    upload(place)
    assert read(f"{place}/{path.name}", fractions="keep")[0] == read(path, fractions="keep")[0]


WORTH = {"C": 1, "I": 0, "P": 0.5, "N": 0}


def raw_samples(path):
    """What is in a file, read with nothing of ours."""
    if path.suffix == ".json":
        content = json.loads(path.read_bytes())
        return content, content.get("samples") or []
    with zipfile.ZipFile(path) as archive:
        samples = [name for name in archive.namelist() if name.startswith("samples/")]
        return json.loads(archive.read("header.json")), [
            json.loads(archive.read(name)) for name in samples
        ]


@pytest.mark.data
def test_every_real_log(data, read):
    paths = [path for path in (data / "native" / "inspect").rglob("*") if path.is_file()]
    assert len(paths) == 22
    records = scored = 0
    for path in paths:
        header, samples = raw_samples(path)
        if not samples:
            with pytest.raises(InputError, match=r"no responses: 1 files without a record"):
                read(path)
            continue
        truth = {}
        for each in samples:
            for score in (each.get("scores") or {}).values():
                value = score["value"]
                truth[str(each["id"])] = WORTH.get(value, value)
        cells, report = read(path, fractions="keep")
        found = {document: value for (_, _, document), value in cells.items()}
        assert found == pytest.approx(truth), path
        assert {key[:2] for key in cells} <= {(header["eval"]["model"], header["eval"]["task"])}
        assert report.records == len(samples)
        assert sum(report.outcomes.values()) == len(samples) - len(truth)
        assert bool(report.runs[0].partial) == (
            header["status"] != "success"
            or header["eval"]["config"].get("limit", 10**9) < header["eval"]["dataset"]["samples"]
            or len(samples) < header["results"]["total_samples"]
        ), path
        records += len(samples)
        scored += len(truth)
    assert (records, scored) == (32, 30)


@pytest.mark.data
def test_real_logs_of_one_content_are_equal(data, same):
    from mtlirt.ingest import ingest

    folder = data / "native" / "inspect" / "inspect_ai_tests"
    paths = [folder / f"log__test_eval_log__log_formats.{suffix}" for suffix in ("eval", "json")]
    both = [ingest([path], poor_domains="keep")[0] for path in paths]
    same(*both)
