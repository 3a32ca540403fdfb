"""One fixture, `target`, runs each test of the contract on every sink."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .engines import ENGINES
from .stores import Target, engine_target, files, parquet, postgres_server, postgres_target, redis_target


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="gcs-pg-") as folder, postgres_server(Path(folder) / "pg") as url:
        yield url


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """A server that speaks S3; the URL of a bucket on it."""
    pytest.importorskip("moto")
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        boto3.client("s3").create_bucket(Bucket="pages")
        yield "s3://pages/here"
    server.stop()


@pytest.fixture(params=["jsonl", "csv", "md", "parquet", "duckdb", "postgresql", "redis", "s3", *ENGINES])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    if request.param == "postgresql":
        yield postgres_target(request.getfixturevalue("postgres"))
    elif request.param == "redis":
        with redis_target(tmp_path) as found:
            yield found
    elif request.param in ENGINES:
        with engine_target(request.param) as found:
            yield found
    elif request.param == "s3":
        pytest.importorskip("s3fs")
        place = f"{request.getfixturevalue('s3')}/{tmp_path.name}"
        yield Target(place, lambda: parquet(place))
    else:
        yield files(request.param, tmp_path)
