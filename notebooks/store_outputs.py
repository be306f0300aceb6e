"""Run notebooks and store their outputs: python notebooks/store_outputs.py FILE ..."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient


def store_outputs(path: Path) -> None:
    """Run a notebook in an empty folder and store it with its outputs, without any times."""
    notebook = nbformat.read(path, as_version=4)
    metadata = dict(notebook.metadata)
    with TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        NotebookClient(notebook, record_timing=False, resources=place).execute()
    notebook.metadata = metadata  # a run adds the version of Python
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        store_outputs(Path(name))
