"""Response stores in S3 as on a local path: what is rewritten and what is appended."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.responses.store import open_responses, store_history, write_responses
from mtlirt.storage.root import open_root


@pytest.fixture(params=["local", "s3"])
def url(request, tmp_path):
    if request.param == "local":
        return str(tmp_path / "store")
    return f"{request.getfixturevalue('bucket')}/store"


def written(url, responses, **options):
    return write_responses(responses, url, history={}, overwrite=True, **options)


def blocks(url):
    """The names of the chunks that the latest version is made of."""
    names = open_root(url).manifest().by_name
    return [name for name in names if "/c/" in name]


def test_a_store_rewritten_in_fewer_chunks_is_read_as_that(url, as_responses, binary, assert_same):
    five = as_responses({"d": binary((10, 3), seed=1)})
    two = as_responses({"d": binary((4, 3), seed=2)})
    written(url, five, chunks=(2, 3))
    assert len(blocks(url)) == 5
    opened_before = open_responses(url)
    assert written(url, two, chunks=(2, 3)) == 2
    assert len(blocks(url)) == 2
    assert_same(open_responses(url), two)
    assert_same(open_responses(f"{url}@1"), five)
    assert_same(opened_before, five)


def test_appending_twice_adds_both(url, as_responses, binary, assert_same):
    values = [binary((models, 3), seed=models) for models in (3, 1, 2)]
    written(url, as_responses({"d": values[0]}), chunks=(2, 3))
    for more in values[1:]:
        before = open_responses(url)
        array = da.concatenate([before.domains["d"].array, da.from_array(more)])
        models = pd.DataFrame(index=pd.Index([f"m{k}" for k in range(len(array))], name="model_id"))
        appended = Responses({"d": DomainResponses(array)}, models, before.items)
        written(url, appended, chunks=(2, 3))
    assert_same(open_responses(url), as_responses({"d": np.concatenate(values)}))
    assert [len(open_responses(url, version).models) for version in (1, 2, 3)] == [3, 4, 6]
    assert [entry.version for entry in store_history(url)] == [1, 2, 3]
