"""The backends, each by the conformance tests."""

from uuid import uuid4

import pytest
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

from mtlirt.errors import InputError
from mtlirt.storage.backend import open_backend
from mtlirt.storage.local import LocalBackend
from mtlirt.storage.objects import ObjectBackend
from mtlirt.storage.s3 import S3Backend
from tests.storage.conformance import ODD_FOLDER, BackendTests, SharedBackendTests


class TestLocalBackend(SharedBackendTests):
    @pytest.fixture
    def backend(self, tmp_path):
        backend = open_backend(str(tmp_path / ODD_FOLDER))
        assert isinstance(backend, LocalBackend)
        return backend

    def fill(self, backend, paths):
        for path in paths:
            file = backend.base / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()


class TestMemory(BackendTests):
    @pytest.fixture
    def backend(self):
        backend = open_backend(f"memory://{uuid4().hex}/{ODD_FOLDER}")
        assert isinstance(backend, ObjectBackend)
        return backend


class TestS3Backend(SharedBackendTests):
    @pytest.fixture
    def backend(self, shared_bucket):
        backend = open_backend(f"{shared_bucket}/{uuid4().hex}/{ODD_FOLDER}")
        assert isinstance(backend, S3Backend)
        return backend

    def fill(self, backend, paths):
        server = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
        for path in paths:
            server.put_object(backend.bucket, f"{backend.prefix}/{path}", b"")


@pytest.mark.parametrize("url", ["s3://KEY:hidden@bucket/x", "s3://hidden@bucket"])
def test_an_s3_url_holds_no_credentials_and_its_error_does_not_repeat_them(url):
    with pytest.raises(InputError, match="credentials in the environment") as error:
        open_backend(url)
    assert "hidden" not in str(error.value)
