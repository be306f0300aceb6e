"""A study as a whole: the same wherever it runs; it goes on where it ended."""

import json

import pyarrow as pa
import pytest

from mtlirt.cluster.errors import ClusterError
from mtlirt.errors import InputError
from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import open_root
from mtlirt.storage.tables import from_parquet, to_parquet
from mtlirt.studies import collect, replicate, study
from mtlirt.studies.options import StudyOptions
from mtlirt.studies.study import Progress, claim, run_study

OPTIONS = StudyOptions(("paper-0.30", "clones"), ("accuracy", "marginal"), 2, small=True)
NAMES = [f"{row}-0000{k}.parquet" for row in ("paper-0.30", "clones") for k in (0, 1)]
FILES = [
    "results.parquet",
    "summary.parquet",
    "table.md",
    "error-by-h.svg",
    "error-by-row.svg",
    "coverage.svg",
]


@pytest.fixture(autouse=True)
def stopped_clock(quick, monkeypatch):
    """Every fit takes no time, so that equal numbers are equal bytes."""
    monkeypatch.setattr(replicate.time, "perf_counter", lambda: 0.0)


@pytest.fixture(autouse=True)
def plain_figures(monkeypatch):
    """Figures that take no time to draw; what they look like is tested elsewhere."""
    names = [name for name in FILES if name.endswith(".svg")]

    def figures(summary):
        return dict.fromkeys(names, summary.to_json().encode())

    monkeypatch.setattr(collect, "draw_figures", figures)


def run(folder, options=OPTIONS, client=None):
    """Run a study: what is told of its progress."""
    told = []
    assert run_study(str(folder), options, client, told.append) == FILES
    return told


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def done(tmp_path):
    """The folder of a study that is done."""
    run(tmp_path / "done")
    return tmp_path / "done"


def test_what_a_study_writes_and_tells(tmp_path):
    told = run(tmp_path)
    assert told == [Progress(0, 4, ""), *(Progress(k, 4, name) for k, name in enumerate(NAMES, 1))]
    written = contents(tmp_path)
    replications = [f"replications/{name}" for name in NAMES]
    assert sorted(written) == sorted(["options.json", *FILES, *replications])
    results = from_parquet(written["results.parquet"])
    parts = [from_parquet(written[name]) for name in replications]
    assert results.equals(pa.concat_tables(parts))
    assert len(set(results["value"].to_pylist())) > 100
    assert "| clones | " in written["table.md"].decode()


def test_a_rerun_repeats_only_what_is_not_there(done):
    before = contents(done)
    for name in ("results.parquet", "table.md", "coverage.svg"):
        (done / name).unlink()
    missing = done / "replications" / NAMES[1]
    missing.unlink()
    kept = (done / "replications" / NAMES[0]).stat().st_mtime_ns
    assert run(done) == [Progress(3, 4, ""), Progress(4, 4, NAMES[1])]
    assert contents(done) == before
    assert (done / "replications" / NAMES[0]).stat().st_mtime_ns == kept
    assert run(done) == [Progress(4, 4, "")]
    assert contents(done) == before


def test_an_interrupt_loses_only_what_was_in_work(tmp_path, done):
    def interrupt(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    folder = tmp_path / "interrupted"
    with pytest.raises(KeyboardInterrupt):
        run_study(str(folder), OPTIONS, None, interrupt)
    assert sorted(path.name for path in (folder / "replications").iterdir()) == NAMES[:2]
    assert run(folder)[0] == Progress(2, 4, "")
    assert contents(folder) == contents(done)


def test_on_a_cluster_it_is_the_same(tmp_path, done, threaded_cluster):
    told = run(tmp_path / "cluster", client=threaded_cluster)
    assert [progress.name for progress in told] == ["", *NAMES]
    assert contents(tmp_path / "cluster") == contents(done)


def test_many_replications_are_handed_to_a_cluster_at_once(tmp_path, threaded_cluster, monkeypatch):
    monkeypatch.setattr(study, "AHEAD", 1)
    told = run(tmp_path, client=threaded_cluster)
    assert [progress.done for progress in told] == [0, 1, 2, 3, 4]


def test_more_rows_and_methods_leave_the_numbers_of_others(tmp_path, done):
    options = StudyOptions(("clones", "noise"), ("marginal",), 1, small=True)
    other = tmp_path / "other"
    run_study(str(other), options, None, lambda progress: None)

    def numbers(folder):
        frame = from_parquet((folder / "replications" / NAMES[2]).read_bytes()).to_pandas()
        return frame[frame["method"] == "marginal"].reset_index(drop=True)

    assert numbers(other).equals(numbers(done))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": 1}, "seed 0, not 1"),
        ({"replications": 3}, "replications 2, not 3"),
        ({"rows": ("clones",)}, "rows paper-0.30, clones, not clones"),
        ({"methods": ("all",)}, "methods accuracy, marginal, not accuracy, local"),
        ({"small": False}, "small True, not False"),
    ],
)
def test_a_folder_of_other_options_is_refused(tmp_path, change, told):
    claim(open_root(tmp_path), OPTIONS)
    before = contents(tmp_path)
    asked = {name: getattr(OPTIONS, name) for name in StudyOptions.__dataclass_fields__}
    options = StudyOptions(**(asked | change))
    with pytest.raises(InputError, match=f"holds a study of {told}.*give another folder"):
        run(tmp_path, options)
    assert contents(tmp_path) == before


def test_another_version_of_the_package_is_refused(tmp_path):
    options = json.loads(OPTIONS.described())
    (tmp_path / "options.json").write_text(json.dumps(options | {"mtlirt": "0.0.1"}))
    with pytest.raises(InputError, match=r"holds a study of mtlirt 0\.0\.1, not "):
        run(tmp_path)


def test_a_folder_of_anything_else_is_refused(tmp_path):
    (tmp_path / "letter").touch()
    with pytest.raises(InputError, match="is not empty and holds no study"):
        run(tmp_path)


@pytest.mark.parametrize("content", ["[1]", "{", "\xff"])
def test_unreadable_options_are_refused(tmp_path, content):
    (tmp_path / "options.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=r"options\.json: cannot be read: "):
        run(tmp_path)


def test_hidden_files_do_not_fill_a_folder(tmp_path):
    (tmp_path / ".hidden").touch()
    run(tmp_path)


def test_damaged_replications_are_told(done):
    damaged = done / "replications" / NAMES[0]
    damaged.write_bytes(b"PAR1")
    with pytest.raises(StorageError, match=rf"replications/{NAMES[0]}: is damaged: .*remove it"):
        run(done)
    damaged.write_bytes(to_parquet(pa.table({"other": [1]})))
    with pytest.raises(StorageError, match=r"has other columns than results have; remove it"):
        run(done)


def test_workers_that_write_elsewhere_are_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "run_one", lambda *arguments: None)
    with pytest.raises(ClusterError, match=r"4 replications are not there, as clones-00000"):
        run(tmp_path)


def test_it_may_be_in_object_storage(bucket):
    run(f"{bucket}/study")
    root = open_root(f"{bucket}/study")
    assert root.names("replications") == sorted(NAMES)
    assert run(f"{bucket}/study") == [Progress(4, 4, "")]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"replications": 0}, "replications 0: expected 1 or more"),
        ({"seed": -1}, "seed -1: expected 0 or more"),
        ({"rows": ("none",)}, "row 'none'"),
        ({"methods": ()}, "no methods"),
    ],
)
def test_options_out_of_range_are_refused(wrong, told):
    with pytest.raises(InputError, match=told):
        StudyOptions(**wrong)


def test_options_are_in_the_order_of_the_table():
    options = StudyOptions(("noise", "paper-0.00"), ("pooled", "accuracy"))
    assert options.rows == ("paper-0.00", "noise")
    assert options.methods == ("accuracy", "pooled")
    assert [row.name for row in options.chosen] == ["paper-0.00", "noise"]
    assert options.chosen[0].design.models == 100
    assert OPTIONS.chosen[0].design.models == 40
