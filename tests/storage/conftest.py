"""An S3 server whose answers can be made to fail, for clients that don't wait long."""

import botocore.retryhandler
import pytest
import s3fs
from tenacity import stop_after_attempt, wait_none

from mtlirt.storage import s3
from tests.storage.faults import faulty_proxy


@pytest.fixture(scope="module")
def module_proxy(s3_endpoint, shared_bucket):
    with faulty_proxy(s3_endpoint) as proxy, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", proxy.url)
        patch.setenv("AWS_MAX_ATTEMPTS", "3")
        patch.setattr(botocore.retryhandler, "delay_exponential", lambda **_: 0)
        patch.setitem(s3.PATIENCE, "stop", stop_after_attempt(3))
        patch.setitem(s3.PATIENCE, "wait", wait_none())
        s3fs.S3FileSystem.clear_instance_cache()
        yield proxy
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def proxy(module_proxy):
    """What the environment's S3 endpoint is: passes everything on until told otherwise."""
    module_proxy.faults.clear()
    module_proxy.requests.clear()
    return module_proxy
