"""What each sink writes to in the tests, real servers among them, and how a reader finds the ids there."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gcs.ports.records.page import page_id
from gcs.ports.space.embedded_server import EmbeddedServer
from tests.ports.records.pages import record

from .engines import served

#: user of the machine that the PostgreSQL server runs as: it refuses root
_PG_USER = "nobody"


class Target(NamedTuple):
    """A target of --sink, and what its reader finds: rows with an id, the url and the title, in any order."""

    name: str
    rows: Callable[[], list[dict[str, Any]]]


def files(name: str, folder: Path) -> Target:
    if name == "jsonl":
        path = folder / "pages.jsonl"
        return Target(str(path), lambda: [json.loads(line) for line in path.read_bytes().splitlines()])
    if name == "csv":
        table = folder / "pages.csv"
        return Target(str(table), lambda: list(csv.DictReader(io.StringIO(table.read_bytes().decode(), newline=""))))
    if name == "md":
        corpus = folder / "corpus.md"
        return Target(str(corpus), lambda: [front_matter(file) for file in corpus.rglob("*.md")])
    if name == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        base = folder / "pages.duckdb"

        def rows() -> list[dict[str, Any]]:
            with duckdb.connect(str(base), read_only=True) as connection:
                return _dicts(connection.execute("select id, url, title from pages"))

        return Target(str(base), rows)
    assert name == "parquet"
    return Target(str(folder / "pages.parquet"), lambda: parquet(str(folder / "pages.parquet")))


def front_matter(file: Path) -> dict[str, Any]:
    head = file.read_text().split("---\n")[1]
    return {line.partition(": ")[0]: json.loads(line.partition(": ")[2]) for line in head.splitlines()}


def parquet(place: str) -> list[dict[str, Any]]:
    import fsspec
    import pyarrow.parquet as pq

    found, folder = fsspec.core.url_to_fs(place)
    names = found.glob(f"{folder}/*.parquet")
    tables = [pq.read_table(io.BytesIO(found.cat_file(name))) for name in names]
    return [row for table in tables for row in table.to_pylist()]


def _dicts(cursor: Any) -> list[dict[str, Any]]:
    return [dict(zip(("id", "url", "title"), row)) for row in cursor.fetchall()]


@contextmanager
def redis_target(folder: Path) -> Iterator[Target]:
    import redis

    server = EmbeddedServer(folder / "space")
    url = server.start()
    client = redis.Redis.from_url(url)
    stream = uuid.uuid4().hex

    def rows() -> list[dict[str, Any]]:
        entries = client.xrange(stream)
        return [json.loads(entry[b"page"]) | {"id": entry[b"id"].decode()} for _, entry in entries]

    try:
        yield Target(f"redis={url}?stream={stream}", rows)  # a socket: its scheme is unix
    finally:
        client.close()
        server.stop()


@contextmanager
def engine_target(name: str) -> Iterator[Target]:
    """A document is one for each URL; which copy it is tell its URL and its session, as an id does."""

    def row(document: dict[str, Any]) -> dict[str, Any]:
        return document | {"id": page_id(record(document["url"], session=document["session"]))}

    with served(name) as (engine, target):
        yield Target(target, lambda: [row(document) for document in engine.documents.values()])


def postgres_binary(name: str) -> str:
    paths = [*sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)]
    found = str(paths[0]) if paths else shutil.which(name)
    return found or pytest.skip("no PostgreSQL server here: apt-get install postgresql")


@contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """A server of its own, on a socket in the folder; its URL."""
    initdb, postgres = postgres_binary("initdb"), postgres_binary("postgres")
    folder.mkdir(parents=True, exist_ok=True)
    as_user: list[str] = []
    if os.geteuid() == 0:
        as_user = ["setpriv", "--reuid", _PG_USER, "--regid", "nogroup", "--clear-groups"]
        shutil.chown(folder, _PG_USER)
        folder.parent.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    made = [*as_user, initdb, "-D", str(folder / "data"), "-U", "gcs", "--auth=trust", "--no-sync", "-E", "UTF8"]
    subprocess.run(made, check=True, capture_output=True, env=environment, cwd="/")
    options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}", "-c", "fsync=off"]
    server = subprocess.Popen(
        [*as_user, postgres, "-D", str(folder / "data"), *options],
        env=environment,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert server.stderr
    try:
        for line in server.stderr:
            if b"ready to accept connections" in line:
                break
        else:
            pytest.fail(f"{sys.executable}: PostgreSQL did not start")
        yield f"postgresql://gcs@/postgres?host={folder}"
    finally:
        server.terminate()
        server.stderr.close()
        server.wait()


def postgres_target(url: str) -> Target:
    psycopg = pytest.importorskip("psycopg")
    table = f"t{uuid.uuid4().hex}"

    def rows() -> list[dict[str, Any]]:
        with psycopg.connect(url) as connection:
            return _dicts(connection.execute(f"select id, url, title from {table}"))

    return Target(f"{url}&table={table}", rows)
