"""Files to read, and a plain view of what came of them."""

import uuid
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def data():
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is absent")
    return DATA


@pytest.fixture
def write(tmp_path):
    """Write a file of text or bytes and give its path."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture(scope="session")
def cells_of():
    """(model, domain, item) -> value, or (successes, trials), of the cells that are not missing."""

    def cells_of(responses):
        cells = {}
        for domain, part in responses.domains.items():
            values = np.asarray(part.array.compute())
            trials = None if part.trials is None else part.trials.compute()
            assert values.shape == (len(responses.models), len(responses.item_ids(domain)))
            for i, model in enumerate(responses.models.index):
                for j, item in enumerate(responses.item_ids(domain)):
                    if values[i, j] >= 0:
                        value = values[i, j].item()
                        cells[model, domain, item] = (
                            value if trials is None else (value, trials[i, j].item())
                        )
        return cells

    return cells_of


@pytest.fixture(scope="session")
def same():
    """Check that two responses are equal in every byte."""

    def same(left, right):
        pd.testing.assert_frame_equal(left.models, right.models)
        pd.testing.assert_frame_equal(left.items, right.items)
        assert list(left.domains) == list(right.domains)
        for domain, part in left.domains.items():
            other = right.domains[domain]
            assert part.array.dtype == other.array.dtype
            np.testing.assert_array_equal(part.array.compute(), other.array.compute())
            assert (part.trials is None) == (other.trials is None)
            if part.trials is not None:
                np.testing.assert_array_equal(part.trials.compute(), other.trials.compute())

    return same


@pytest.fixture(params=["memory", "s3"])
def place(request):
    """An empty folder of each kind of remote place, as a URL."""
    if request.param == "s3":
        return f"{request.getfixturevalue('bucket')}/results@3"
    return f"memory://{uuid.uuid4().hex}/results@3"


@pytest.fixture
def upload(tmp_path):
    """Copy a file, or all that is in the folder of the test, to a remote folder."""

    def upload(place, path=tmp_path):
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        filesystem, base = fsspec.core.url_to_fs(place)
        for file in files:
            filesystem.pipe_file(f"{base}/{file.relative_to(tmp_path)}", file.read_bytes())

    return upload
