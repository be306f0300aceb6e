"""Job files: what they may say, and how errors name the key."""

from pathlib import Path

import pytest

from mtlirt.cluster.launch import ClusterOptions
from mtlirt.distill.options import DistillOptions
from mtlirt.engine.options import FitOptions
from mtlirt.errors import InputError
from mtlirt.jobs.read import read_job
from mtlirt.jobs.schema import DistillTable

LEAST = """
kind = "refit"
[responses]
url = "store"
[snapshots]
url = "snapshots"
"""


@pytest.fixture
def job(tmp_path):
    def write(text):
        path = tmp_path / "job.toml"
        path.write_text(text)
        return path

    return write


def test_the_least_job_takes_the_defaults_of_fit(job):
    asked = read_job(job(LEAST))
    assert (asked.responses.url, asked.snapshots.url) == ("store", "snapshots")
    assert asked.fit.options == FitOptions()
    assert asked.cluster.options == ClusterOptions()


def test_every_key_is_read(job):
    asked = read_job(
        job(
            LEAST
            + """
            [fit]
            estimator = "separate"
            rank = "auto"
            priors = false
            tolerance = 1e-6
            max_rounds = 7
            [cluster]
            workers = 3
            threads = 2
            processes = false
            memory_limit = "2GiB"
            """
        )
    )
    expected = FitOptions(estimator="separate", priors=False, tolerance=1e-6, max_rounds=7)
    assert asked.fit.options == expected
    assert asked.cluster.options == ClusterOptions(None, 3, 2, False, 2**31)


def test_the_keys_of_snapshots_are_read(job):
    asked = read_job(job(LEAST)).snapshots
    assert (asked.anchor, asked.warm_start) == (None, False)
    asked = read_job(job(LEAST + "anchor = 3\nwarm_start = true")).snapshots
    assert (asked.anchor, asked.warm_start) == (3, True)


def test_the_keys_of_estimator_joint_are_read(job):
    asked = read_job(
        job(
            LEAST
            + """
            [fit]
            estimator = "joint"
            penalty = "cv"
            penalties = [0.1, 0.3, 1.0]
            folds = 3
            lambda_scaling = "per_domain"
            complete_models = true
            """
        )
    )
    assert asked.fit.options == FitOptions(
        estimator="joint",
        penalties=(0.1, 0.3, 1.0),
        folds=3,
        lambda_scaling="per_domain",
        complete_models=True,
    )


def test_the_job_of_the_project_is_one():
    asked = read_job(Path(__file__).parents[2] / "jobs" / "refit.toml")
    assert asked.cluster.workers == 2
    assert asked.snapshots.url == "snapshots"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[fit]\ntolerances = 3", r"fit\.tolerances: unknown key; did you mean tolerance\?"),
        ("[cluster]\nfoo = 3", r"cluster\.foo: unknown key; known are scheduler, workers"),
        ("[clusters]\nworkers = 3", r"clusters: unknown key; did you mean cluster\?"),
        ("[fit]\nrank = 'two'", "fit: rank 'two' is neither 'auto' nor a whole number"),
        ("[fit]\nrank = 2.0", "fit: rank 2.0 is neither"),
        ("[fit]\ntolerance = 1", "fit: tolerance 1.0 is not a number between 0 and 1"),
        ("[fit]\ntolerance = nan", "fit.tolerance: nan"),
        ("[fit]\nmax_rounds = 0", "fit: max_rounds 0 is not a whole number from 1 up"),
        ("[fit]\npriors = 1", r"fit\.priors: 1: .*boolean"),
        ("[fit]\nestimator = 'joined'", r"fit\.estimator: 'joined': .*'marginal'"),
        ("anchor = 0", r"snapshots\.anchor: 0: Input should be greater than or equal to 1"),
        ("anchor = 'latest'", r"snapshots\.anchor: 'latest': .*integer"),
        ("[cluster]\nworkers = 0", "cluster: workers 0 is not a whole number from 1 up"),
        ("[cluster]\nworkers = '2'", r"cluster\.workers: '2': .*integer"),
        ("[cluster]\nworkers = true", r"cluster\.workers: True"),
        ("[cluster]\nworkers = 2\nscheduler = 'tcp://h:1'", "cluster: scheduler .* leave workers"),
        ("[cluster]\nscheduler = ''", r"cluster\.scheduler: ''"),
        (
            "[cluster]\nmemory_limit = 'much'",
            r"cluster\.memory_limit: 'much' is no amount of memory",
        ),
        ("[cluster]\nmemory_limit = 0", "cluster: memory_limit 0 is not a whole number"),
    ],
)
def test_a_bad_key_or_value_is_named(job, text, told):
    with pytest.raises(InputError, match=rf"job\.toml: {told}") as error:
        read_job(job(LEAST + text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "kind: is missing"),
        ("kind = 'refit'", "responses: is missing; snapshots: is missing"),
        ("a = " + "[" * 5000 + "]" * 5000, "is nested too deeply"),
        (LEAST.replace("store", r"st\u0000re"), r"responses\.url: 'st\\x00re'"),
        (LEAST.replace("refit", "fit"), "kind: 'fit': .*'refit'"),
        ("kind = 'refit'\nresponses = 'store'", r"responses: 'store': expected a table"),
        ("kind = 'refit'\nkind = 'refit'", "is no TOML: Cannot overwrite"),
        ("kind = 'refit'\na\n", "is no TOML: .*line 2"),
    ],
)
def test_what_is_no_job_is_told(job, text, told):
    with pytest.raises(InputError, match=rf"job\.toml: {told}"):
        read_job(job(text))


def test_a_byte_order_mark_is_passed_over(job):
    assert read_job(job("\ufeff" + LEAST)).kind == "refit"


def test_files_that_cannot_be_read_are_told(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_job(tmp_path / "none.toml")
    with pytest.raises(InputError, match="is a folder"):
        read_job(tmp_path)
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_job(tmp_path / "loop.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="is no TOML"):
        read_job(tmp_path / "bytes.toml")


def test_a_distillation(job):
    asked = read_job(
        job(
            """
            kind = "distill"
            [responses]
            url = "store@3"
            [distill]
            items = [200, 400]
            rmse = 1.5
            selections = ["greedy", "information"]
            test_share = 0.2
            [distilled]
            url = "sparse"
            """
        )
    )
    assert (asked.responses.url, asked.distilled.url) == ("store@3", "sparse")
    expected = DistillOptions((200, 400), 1.5, ("greedy", "information"), share=0.2)
    assert asked.distill.options == expected
    assert asked.cluster.options == ClusterOptions()


def test_the_job_of_a_distillation_names_all_options():
    text = (Path(__file__).parents[2] / "jobs" / "distill.toml").read_text()
    asked = read_job(Path(__file__).parents[2] / "jobs" / "distill.toml")
    assert asked.distill.items == (60, 120)
    for key in DistillTable.model_fields:
        assert f"\n{key} =" in text or f"\n# {key} =" in text or key == "keep_negative"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('kind = "study"', "kind: 'study': expected 'refit' or 'distill'"),
        ('kind = "distill"', "responses: is missing"),
        (
            'kind = "distill"\n[distill]\nitem = [3]',
            "distill.item: unknown key; did you mean items",
        ),
        ('kind = "distill"\n[distill]\nitems = [0]', "items"),
    ],
)
def test_what_is_wrong_with_a_distillation(job, text, words):
    with pytest.raises(InputError, match=words):
        read_job(job(text))
