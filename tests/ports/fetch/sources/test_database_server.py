"""Databases on servers, by SQLAlchemy: the same pages as those of an SQLite file, whatever the server."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcs.core.page.values import FailureKind
from gcs.core.url.sources import source_url
from gcs.ports.fetch.sources import LISTED
from tests.ports.sinks.stores import postgres_server

sql = pytest.importorskip("sqlalchemy")

SCHEMA = (
    "CREATE TABLE customers(id INTEGER PRIMARY KEY, name VARCHAR(40), home VARCHAR(80))",
    "CREATE TABLE codes(code VARCHAR(10) PRIMARY KEY, meaning VARCHAR(40))",
    "CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, code VARCHAR(10),"
    " FOREIGN KEY (customer) REFERENCES customers(id), FOREIGN KEY (code) REFERENCES codes(code))",
    "CREATE TABLE pairs(a INTEGER, b INTEGER, what VARCHAR(10), PRIMARY KEY (a, b))",
    "INSERT INTO customers VALUES (7, '<script>', NULL), (12, 'Ann & Bob', 'https://example.org/?a=1')",
    "INSERT INTO codes VALUES ('a', 'alpha'), ('b/c', 'beta')",
    "INSERT INTO orders VALUES (1, 7, 'b/c')",
    "INSERT INTO pairs VALUES (2, 1, 'second'), (1, 9, 'first')",
)


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "mariadb"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """The SQLAlchemy URL of a database with the schema."""
    with tempfile.TemporaryDirectory(prefix="gcs-db-") as folder:
        if request.param == "sqlite":
            yield filled(f"sqlite:///{folder}/shop.db")
        elif request.param == "postgresql":
            with postgres_server(Path(folder) / "pg") as url:
                yield filled(url.replace("postgresql://", "postgresql+psycopg://"))
        else:
            yield from mariadb(Path(folder))


def mariadb(folder: Path) -> Iterator[str]:
    server = shutil.which("mariadbd") or shutil.which("mysqld")
    if server is None:
        pytest.skip("there is no mariadbd here")
    pytest.importorskip("pymysql")
    data, socket = folder / "data", folder / "s"
    data.mkdir()
    begin = "CREATE DATABASE mysql;\nCREATE DATABASE shop;\n"
    command = [server, "--no-defaults", f"--datadir={data}", "--user=root", "--skip-grant-tables", "--skip-networking"]
    command += ["--innodb-buffer-pool-size=8M"]
    subprocess.run([*command, "--bootstrap"], input=begin.encode(), check=True, capture_output=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--socket={socket}"], stdout=log, stderr=log)
    try:
        until = time.monotonic() + 30
        while not socket.exists():
            assert time.monotonic() < until and process.poll() is None, (folder / "log").read_text()[-800:]
            time.sleep(0.05)
        yield filled(f"mysql+pymysql://root@localhost/shop?unix_socket={socket}")
    finally:
        process.kill()
        process.wait()


def filled(address: str) -> str:
    engine = sql.create_engine(address, poolclass=sql.NullPool)
    with engine.begin() as connection:
        for statement in SCHEMA:
            connection.execute(sql.text(statement))
    return address


@pytest.fixture
def shop(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GCS_DB_SHOP", address)
    return source_url("db://shop/")


async def links_at(ask, url: str, shop: str) -> list[str]:
    result = await ask(url, shop)
    assert (result.status, result.header("content-type")) == (200, "text/uri-list")
    return [source_url(line, url) for line in result.body.decode().split("\n") if line]


async def test_structure_is_followed_from_the_database_to_its_rows(ask, shop: str) -> None:
    assert await links_at(ask, shop, shop) == [f"{shop}{name}/" for name in ("codes", "customers", "orders", "pairs")]
    assert await links_at(ask, f"{shop}customers/", shop) == [f"{shop}customers/7", f"{shop}customers/12"]
    codes = await links_at(ask, f"{shop}codes/", shop)
    assert codes == [f"{shop}codes/a", f"{shop}codes/b%2Fc"]
    assert b"meaning: beta" in (await ask(codes[1], shop)).content
    assert b"what: second" in (await ask((await links_at(ask, f"{shop}pairs/", shop))[1], shop)).content


async def test_row_is_a_page_that_links_to_the_rows_that_its_foreign_keys_name(ask, shop: str) -> None:
    ann = (await ask(f"{shop}customers/12", shop)).content
    assert b"Ann &amp; Bob" in ann and b'href="https://example.org/?a=1"' in ann
    order = (await ask(f"{shop}orders/1", shop)).content
    assert b'<a href="../customers/7">7</a>' in order and b'<a href="../codes/b%2Fc">' in order
    for nowhere in ("customers/13", "customers/x", "pairs/9", "pairs/-1", "nothing/1"):
        assert (await ask(shop + nowhere, shop)).status == 404
    assert (await ask(f"{shop}orders/1", shop, max_body_bytes=20)).kind is FailureKind.TOO_LARGE


async def test_long_tables_are_listed_in_pieces(ask, shop: str, address: str) -> None:
    rows = ", ".join(f"({number}, 'n', NULL)" for number in range(100, LISTED + 200))
    with sql.create_engine(address, poolclass=sql.NullPool).begin() as connection:
        connection.execute(sql.text("DELETE FROM customers WHERE id >= 100"))
        connection.execute(sql.text(f"INSERT INTO customers VALUES {rows}"))
    *first, more = await links_at(ask, f"{shop}customers/", shop)
    assert "?after=" in more
    assert len({*first, *await links_at(ask, more, shop)}) == LISTED + 102


async def test_database_that_the_machine_does_not_know_or_reach_is_said(
    ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert (await ask("db://other/", "db://other/")).kind is FailureKind.FORBIDDEN_ADDRESS
    monkeypatch.setenv("GCS_DB_OTHER", f"sqlite:///{tmp_path}/none/none.db")
    assert (await ask("db://other/", "db://other/")).kind is FailureKind.CONNECT
