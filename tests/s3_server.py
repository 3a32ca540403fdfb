"""An S3 server of a test, in this process; the environment names it, also for processes that are started."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def s3_bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty bucket."""
    s3fs = pytest.importorskip("s3fs", reason="the extra `s3` is not installed")
    s3fs.S3FileSystem.clear_instance_cache()  # those that are kept know the server of another test
    server_module = pytest.importorskip("moto.server", reason="moto and flask are not installed")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("HTTP_PROXY", raising=False)
    server = server_module.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    import boto3

    boto3.client("s3").create_bucket(Bucket="crawls")
    try:
        yield "s3://crawls"
    finally:
        server.stop()
