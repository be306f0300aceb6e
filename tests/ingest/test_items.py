"""Numbers for ids and for items are those of a plain dict, whatever batches they come in."""

import numpy as np
import pyarrow as pa
import pytest

from mtlirt.ingest import items
from mtlirt.ingest.ids import Codes, encode_ids
from mtlirt.ingest.items import ItemCodes


@pytest.mark.parametrize("largest", [1 << 24, 0, 40], ids=["table", "hashed", "table, then hashed"])
def test_items_against_a_dict(monkeypatch, largest):
    monkeypatch.setattr(items, "_LARGEST_TABLE", largest)
    rng = np.random.default_rng(1)
    codes, met, seen = ItemCodes(), {}, np.array([0, 0])
    for most in ([1, 5], [2, 5], [2, 30], [7, 30], [7, 30]):
        domains, ids = (rng.integers(0, bound, 200).astype(np.int32) for bound in most)
        seen = np.maximum(seen, [domains.max() + 1, ids.max() + 1])
        found = codes.encode(domains, ids, *seen.tolist())
        for pair, code in zip(zip(domains.tolist(), ids.tolist(), strict=True), found, strict=True):
            assert met.setdefault(pair, code) == code
    assert codes.codes == met
    assert sorted(met.values()) == list(range(len(met)))


def test_ids_against_a_dict():
    rng = np.random.default_rng(2)
    codes = Codes()
    for size in (3, 3, 40, 200, 200, 5):
        words = np.array([None, "", " \t", *(f"id-{k}" for k in range(size))], object)
        texts = rng.choice(words, 100).tolist()
        whole = pa.array([*texts, "never used"]).dictionary_encode()
        found = codes.encode(encode_ids(whole.slice(0, 100), "here")).tolist()
        expected = [codes.ids[text] if text and text.strip() else -1 for text in texts]
        assert found == expected
    assert list(codes.ids.values()) == list(range(len(codes.ids)))
    assert not {"never used", "", " \t"} & set(codes.ids)
