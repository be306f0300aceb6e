"""The notebooks run without a word on stderr, and are stored as a run leaves them.

To store one anew: python notebooks/store_outputs.py FILE
"""

import ast
import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
SMALL = {"quickstart": {"models": 60, "workers": 1}}

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source]


def kinds(cell):
    """The kinds of a cell's outputs."""
    return [(output.output_type, sorted(output.get("data", {}))) for output in cell.outputs]


def complaints(notebook):
    """What the outputs hold of errors and of stderr."""
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    return [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]


def make_small(notebook, values):
    """Give parameters other values, behind those that the notebook gives them."""
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    statements = ast.parse(cell.source).body
    assert set(values) <= {target.id for statement in statements for target in statement.targets}
    cell.source += "".join(f"\n{name} = {value!r}" for name, value in values.items())


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Runs a notebook in a kernel of this Python, away from the settings of whoever runs it."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    fonts = [sys.executable, "-c", "import matplotlib.font_manager"]  # found once, and told of
    subprocess.run(fonts, check=True, capture_output=True)
    folder = tmp_path / "folder"
    folder.mkdir()

    def run(notebook):
        specs = KernelSpecManager(kernel_dirs=[])  # so that python3 is the ipykernel of this Python
        kernel = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs)
        place = {"metadata": {"path": str(folder)}}
        client = NotebookClient(notebook, km=kernel, timeout=120, resources=place)
        hint = "PYTEST_CURRENT_TEST"  # which ipykernel takes to mean: leave stderr alone
        env = {name: value for name, value in os.environ.items() if name != hint}
        client.execute(cleanup_kc=True, env=env)
        assert not list(folder.iterdir()), "a notebook leaves nothing behind"

    return run


@every_notebook
def test_it_runs_and_is_stored_as_it_runs(path, execute):
    stored, notebook = read(path), read(path)
    make_small(notebook, SMALL[path.stem])
    execute(notebook)
    assert not complaints(notebook)
    assert [*map(kinds, code_cells(notebook))] == [*map(kinds, code_cells(stored))]


@every_notebook
def test_all_cells_were_executed_in_order(path):
    notebook = read(path)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert not complaints(notebook)
    assert any("image/png" in types for cell in cells for _, types in kinds(cell))


@every_notebook
def test_stored_outputs_tell_no_place_and_no_time(path):
    notebook = read(path)
    assert not [cell.id for cell in notebook.cells if "execution" in cell.metadata]
    for cell in code_cells(notebook):
        for output in cell.outputs:
            data = dict(output.get("data", {}))
            picture = base64.b64decode(data.pop("image/png", ""))
            assert b"tIME" not in picture
            assert b"Creation Time" not in picture
            text = output.get("text", "") + "".join(map(str, data.values()))
            assert not re.search(r"/(home|Users|root|tmp|var|opt|work)/|[A-Z]:\\|://", text)
            assert not re.search(r"\d{4}-\d\d-\d\d|\d\d:\d\d", text)
