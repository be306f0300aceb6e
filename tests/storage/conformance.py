"""What every backend must pass; a subclass says which, and pytest collects that."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from mtlirt.storage.backend import open_backend

ODD_FOLDER = "odd [a-z]* é+%20&=#~"
"""For the base of a backend: what globs, quotes and URLs take for something else."""


class BackendTests:
    """Tests of one backend, which a subclass gives as the fixture `backend`: an empty one."""

    def fill(self, backend, paths):
        """Make empty objects; for a subclass that has a faster way."""
        for path in paths:
            backend.put(path, b"")

    @pytest.mark.parametrize("data", [b"", b"\x00\xff\r\n" * 1000])
    def test_what_is_written_is_read(self, backend, data):
        backend.write_new("a/b/new", data)
        backend.put("a/b/put", data)
        assert backend.read("a/b/new") == backend.read("a/b/put") == data

    def test_a_second_writer_is_refused_and_leaves_nothing_behind(self, backend):
        backend.write_new("folder/name", b"first")
        with pytest.raises(FileExistsError):
            backend.write_new("folder/name", b"second")
        assert backend.read("folder/name") == b"first"
        assert backend.names("folder") == ["name"]

    @pytest.mark.parametrize("other", [b"short", b"other", b"another one"])
    def test_put_replaces(self, backend, other):
        backend.put("folder/name", b"first")
        backend.put("folder/name", other)
        assert backend.read("folder/name") == other
        assert backend.names("folder") == ["name"]

    def test_what_is_missing_is_told(self, backend):
        with pytest.raises(FileNotFoundError):
            backend.read("name")
        backend.put("folder/name", b"")
        with pytest.raises(FileNotFoundError):
            backend.read("folder/na")

    def test_names_are_those_directly_inside_in_order(self, backend):
        self.fill(backend, ["f/b", "f/c/deep/x", "f/a", "f/C", "f2/d", "top"])
        assert backend.names("f") == ["C", "a", "b", "c"]
        assert backend.names("f/c") == ["deep"]
        assert backend.names("") == ["f", "f2", "top"]

    def test_no_folder_has_no_names(self, backend):
        assert backend.names("nowhere") == []
        assert backend.names("") == []

    def test_names_are_those_of_now(self, backend):
        other = open_backend(backend.url)
        assert backend.names("folder") == []
        other.put("folder/one", b"")
        assert backend.names("folder") == ["one"]
        other.put("folder/two", b"")
        assert backend.names("folder") == ["one", "two"]
        other.remove_folder("folder")
        assert backend.names("folder") == []

    def test_content_is_that_of_now(self, backend):
        other = open_backend(backend.url)
        for data in [b"12345", b"54321", b"1", b"1234567"]:
            other.put("name", data)
            assert backend.read("name") == data

    def test_a_folder_is_removed_and_no_other(self, backend):
        self.fill(backend, ["f/a", "f/b/c", "f2/d", "other/f/a"])
        backend.remove_folder("f")
        assert backend.names("") == ["f2", "other"]
        assert backend.names("f2") == ["d"]
        assert backend.names("other/f") == ["a"]

    def test_no_folder_may_be_removed(self, backend):
        backend.remove_folder("nowhere")

    def test_any_number_of_names(self, backend):
        names = [f"{number:04d}" for number in range(1003)]
        self.fill(backend, [f"folder/{name}" for name in names])
        assert backend.names("folder") == names
        backend.remove_folder("folder")
        assert backend.names("folder") == []

    def test_its_url_opens_it(self, backend):
        backend.put("name", b"content")
        assert open_backend(backend.url).read("name") == b"content"

    def test_it_travels_by_pickle(self, backend):
        backend.put("name", b"content")
        assert pickle.loads(pickle.dumps(backend)).read("name") == b"content"


class SharedBackendTests(BackendTests):
    """Tests of a backend that several writers reach at the same time."""

    def test_one_of_several_writers_wins(self, backend):
        def write(number):
            try:
                backend.write_new("name", str(number).encode())
            except FileExistsError:
                return None
            return number

        with ThreadPoolExecutor(8) as pool:
            (winner,) = [number for number in pool.map(write, range(8)) if number is not None]
        assert backend.read("name") == str(winner).encode()
        assert backend.names("") == ["name"]

    def test_threads_share_it(self, backend):
        def write(number):
            backend.put(f"folder/{number}", str(number).encode())
            return backend.read(f"folder/{number}")

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(write, range(16))) == [str(k).encode() for k in range(16)]
        assert len(backend.names("folder")) == 16
