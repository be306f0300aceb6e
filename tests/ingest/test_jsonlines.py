"""Lines of JSON: what is refused, by file and line."""

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest.jsonlines import read_lines


def test_a_key_that_occurs_twice_is_refused(tmp_path):
    path = tmp_path / "twice.jsonl"
    path.write_text('{"correct": 1, "correct": 0}\n')
    with pytest.raises(InputError, match=r"line 1: broken JSON: the key 'correct' occurs twice"):
        list(read_lines(path))
