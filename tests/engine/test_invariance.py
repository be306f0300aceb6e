"""Results depend on the responses alone: not on chunks, threads, order or repetition."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.engine.fit import fit
from mtlirt.responses.matrix import DomainResponses, Responses

CLOSE = 1e-6


@pytest.fixture(scope="module", params=["complete", "missing"])
def arrays(request):
    """Three domains, 900 models; with missing cells also missing domains and odd items."""
    rng = np.random.default_rng(3)
    factor = rng.normal(size=900)
    out = {}
    for name, items in (("algebra", 130), ("biology", 60), ("chess", 20)):
        trait = 0.8 * factor + 0.6 * rng.normal(size=900)
        eta = trait[:, None] * rng.normal(1.0, 0.5, items) + rng.normal(size=items)
        block = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(np.int8)
        if request.param == "missing":
            block[rng.random(block.shape) < 0.3] = -1
            block[rng.random(900) < 0.25] = -1
            block[:, 3] = np.where(block[:, 3] < 0, -1, 1)
        out[name] = block
    return out


def fitted(arrays, chunks=-1, **options):
    return fit({name: da.from_array(block, chunks) for name, block in arrays.items()}, **options)


def assert_close(one, other):
    for table in ("items", "domains", "models", "traits", "representation"):
        pd.testing.assert_frame_equal(
            getattr(one, table), getattr(other, table), check_exact=False, rtol=0, atol=CLOSE
        )
    assert one.info["log_likelihood"] == pytest.approx(other.info["log_likelihood"], rel=1e-9)


def test_chunks(arrays):
    whole = fitted(arrays)
    assert_close(whole, fitted(arrays, (500, -1)))
    assert_close(whole, fitted(arrays, (-1, 50)))
    assert_close(whole, fitted(arrays, (500, 50)))
    assert_close(whole, fitted(arrays, (250, 17)))


def test_threads(arrays):
    one = fitted(arrays, (500, 50), threads=1)
    assert_close(one, fitted(arrays, (500, 50), threads=4))


def test_a_repeated_run_gives_identical_bytes(arrays):
    one, other = fitted(arrays, (500, 50)), fitted(arrays, (500, 50))
    for table in ("items", "domains", "models", "traits", "representation"):
        pd.testing.assert_frame_equal(getattr(one, table), getattr(other, table), check_exact=True)
    columns = ["objective", "change", "rank", "converged"]
    pd.testing.assert_frame_equal(one.history[columns], other.history[columns], check_exact=True)


def test_shuffled_rows_and_columns(arrays):
    rng = np.random.default_rng(4)
    models = pd.Index([f"m{i:03d}" for i in range(900)], name="model_id")

    def responses(rows, columns):
        domains, ids = {}, []
        for name, block in arrays.items():
            order = columns[name]
            domains[name] = DomainResponses(da.from_array(block[np.ix_(rows, order)], (300, 40)))
            ids += [(name, f"i{j}") for j in order]
        index = pd.MultiIndex.from_tuples(ids, names=["domain", "item_id"])
        return Responses(domains, pd.DataFrame(index=models[rows]), pd.DataFrame(index=index))

    straight = {name: np.arange(block.shape[1]) for name, block in arrays.items()}
    mixed = {name: rng.permutation(order) for name, order in straight.items()}
    one = fit(responses(np.arange(900), straight))
    other = fit(responses(rng.permutation(900), mixed))
    for table in ("items", "domains", "models", "traits", "representation"):
        expected = getattr(one, table)
        pd.testing.assert_frame_equal(
            expected, getattr(other, table).loc[expected.index], rtol=0, atol=CLOSE
        )


def test_order_of_domains(arrays):
    one = fitted(arrays)
    other = fitted(dict(reversed(arrays.items())))
    for table in ("items", "domains", "models", "traits"):
        expected = getattr(one, table)
        pd.testing.assert_frame_equal(
            expected, getattr(other, table).loc[expected.index], rtol=0, atol=CLOSE
        )


def test_item_chunks_where_the_strongest_models_met_some_items_only():
    rng = np.random.default_rng(8)
    trait = rng.normal(size=1500)
    eta = trait[:, None] * rng.lognormal(0.5, 0.5, 12) + rng.normal(size=12)
    block = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(np.int8)
    block[np.abs(trait) > 0.8, 6:] = -1
    for estimator in ("separate", "marginal"):
        options = {"estimator": estimator, "max_rounds": 2}  # before the starts are forgotten
        whole = fitted({"d": block}, **options)
        assert_close(whole, fitted({"d": block}, (-1, 6), **options))
