"""Exit statuses and one-line messages."""

import os
import subprocess
import sys

import pytest

from mtlirt.cli.app import app, run
from mtlirt.errors import InputError
from mtlirt.storage.errors import StorageError


@pytest.fixture
def verb():
    """Make a verb that raises what it is given, for the time of a test."""
    before = list(app.registered_commands)

    def verb(error):
        @app.command("break")
        def _break():
            raise error

    yield verb
    app.registered_commands[:] = before


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InputError("x.csv row 3: correct is 7"), 2),
        (StorageError("s3://b: is gone"), 1),
        (PermissionError(13, "Permission denied", "/x"), 1),
        (MemoryError("of what there is"), 1),
    ],
)
def test_an_error_is_one_line_and_a_status(verb, capsys, error, status):
    verb(error)
    assert run(["break"]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mtlirt: error: ")
    assert err.count("\n") == 1


def test_an_interrupt_is_no_error(verb, capsys):
    verb(KeyboardInterrupt())
    assert run(["break"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_other_errors_are_bugs(verb):
    verb(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        run(["break"])


def test_debug_shows_the_traceback(verb, capsys):
    verb(InputError("no\nsuch"))
    assert run(["--debug", "break"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert err.endswith("\nmtlirt: error: no such\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope"], "No such command 'nope'"),
        (["ingest", "x"], "Missing option '--out'"),
        (["ingest", "--out", "x"], "Missing argument 'SOURCE'"),
        (["--nope"], "No such option"),
        (["ingest", "x", "--out", "y", "--format", "z"], "'--format'"),
    ],
)
def test_bad_use_is_one_line_and_2(capsys, arguments, said):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mtlirt: error: ")
    assert said in err
    assert err.count("\n") == 1


def test_help_and_version(capsys):
    assert run(["--help"]) == 0
    assert "ingest" in capsys.readouterr().out
    assert run(["ingest", "--help"]) == 0
    assert "--threshold" in capsys.readouterr().out
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("mtlirt ")
    assert run([]) == 2
    assert "Usage: mtlirt" in capsys.readouterr().out


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from mtlirt.cli.app import run; run(['--help']); "
        "print([m for m in ('numba','dask','pandas','numpy','pyarrow','zarr') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_goes_away_is_no_traceback():
    read, write = os.pipe()
    os.close(read)
    code = "import sys; from mtlirt.cli.app import run; sys.exit(run(['--help']))"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_what_a_terminal_cannot_encode_is_escaped(tmp_path):
    (tmp_path / "a.csv").write_text(
        "model_id,item_id,correct,\u00fc\nm,i,1,x\nn,i,0,y\n", encoding="utf-8"
    )
    command = ["mtlirt", "ingest", str(tmp_path / "a.csv"), "--out", str(tmp_path / "s")]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", "from mtlirt.cli.app import main; main()", *command[1:]],
        env=environment, capture_output=True, check=True,
    )  # fmt: skip
    assert b"1 columns not read: '\\xfc'" in done.stdout


def test_an_argument_that_is_no_text(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("model_id,item_id,correct\nm,i,1\nn,i,0\n")
    arguments = ["ingest", str(tmp_path / "a.csv"), "--out", str(tmp_path / "s")]
    assert run([*arguments, "--domain", "\udcff"]) == 2
    assert capsys.readouterr().err == (
        "mtlirt: error: argument '\\udcff' is not UTF-8 text; rename what it names\n"
    )
    assert not (tmp_path / "s").exists()
