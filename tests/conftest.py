"""An S3 server for the tests that need one."""

import os
import uuid

import pytest
import s3fs


@pytest.fixture(scope="session")
def s3_endpoint():
    """The URL of an S3 server of this test run."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_access(s3_endpoint, monkeypatch):
    """What an environment says that may use the server, and none other."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    access = {
        "AWS_ENDPOINT_URL": s3_endpoint,
        "AWS_ACCESS_KEY_ID": "test-access-key",
        "AWS_SECRET_ACCESS_KEY": "test-secret-key-that-nothing-may-show",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in access.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    yield access
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(s3_access):
    """The URL of an empty bucket."""
    name = f"bucket-{uuid.uuid4().hex}"
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(name)
    return f"s3://{name}"
