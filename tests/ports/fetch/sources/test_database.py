"""Databases: tables are lists, rows are pages."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gcs.core.page.values import FailureKind
from gcs.core.url.sources import source_url
from gcs.ports.fetch.sources import LISTED
from gcs.ports.reader import Summarisers
from gcs.ports.summarise import Options

SCHEMA = '''
CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, home TEXT, photo BLOB);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers(id), code TEXT REFERENCES codes);
CREATE TABLE codes(code TEXT PRIMARY KEY, meaning TEXT) WITHOUT ROWID;
CREATE TABLE "a/b ""c"""(x);
INSERT INTO customers VALUES (-3, 'Ann & Bob', 'https://example.org/?a=1&b=2', x'00ff');
INSERT INTO customers VALUES (7, '<script>', NULL, NULL);
INSERT INTO orders VALUES (1, 7, 'b');
INSERT INTO codes VALUES ('a', 'alpha'), ('b', 'beta');
INSERT INTO "a/b ""c""" VALUES ('odd name');
'''


@pytest.fixture
def shop(tmp_path: Path) -> str:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as base:
        base.executescript(SCHEMA)
    return source_url(f"db://localhost{tmp_path}/shop.db/")


async def links_at(ask, url: str, shop: str) -> list[str]:
    result = await ask(url, shop)
    assert (result.status, result.header("content-type")) == (200, "text/uri-list")
    return [source_url(line, url) for line in result.body.decode().split("\n")]


async def test_the_structure_is_followed_from_the_database_to_its_rows(ask, shop: str) -> None:
    tables = [f"{shop}{name}/" for name in ("a%2Fb%20%22c%22", "codes", "customers", "orders")]
    assert await links_at(ask, shop, shop) == tables
    assert await links_at(ask, tables[2], shop) == [f"{tables[2]}-3", f"{tables[2]}7"]
    assert await links_at(ask, tables[1], shop) == [f"{tables[1]}0", f"{tables[1]}1"]
    assert b"odd name" in (await ask(f"{tables[0]}1", shop)).content
    assert b"meaning: beta" in (await ask(f"{tables[1]}1", shop)).content


async def test_a_row_is_a_page_with_links(ask, shop: str) -> None:
    ann = await ask(f"{shop}customers/-3", shop)
    document = Summarisers().summarise(
        ann.content, ann.header("content-type"), f"{shop}customers/-3", "fast", Options()
    )
    assert (document.title, document.hrefs) == ("customers -3", ["https://example.org/?a=1&b=2"])
    assert "Ann & Bob" in document.text
    assert b"&lt;script&gt;" in (await ask(f"{shop}customers/7", shop)).content
    order = await ask(f"{shop}orders/1", shop)
    assert b'customer: <a href="../customers/7">7</a>' in order.content


async def test_long_tables_are_listed_in_pieces(ask, shop: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as base, base:
        base.executemany("INSERT INTO orders(id) VALUES (?)", [(2 * number,) for number in range(1, 2 * LISTED)])
        base.executemany("INSERT INTO codes VALUES (?, '')", [(f"c{number}",) for number in range(LISTED)])
    for table, rows in (("orders", 2 * LISTED), ("codes", LISTED + 2)):
        found, url = [], f"{shop}{table}/"
        while url:
            *links, last = await links_at(ask, url, shop)
            url = last if "?after=" in last else ""
            found += links if url else [*links, last]
        assert len(set(found)) == len(found) == rows


async def test_what_is_not_there_or_no_database_is_said(ask, shop: str, tmp_path: Path) -> None:
    for path in ("absent/", "absent/1", "customers/99", "customers/x", "customers/1%3B", "sqlite_master/", 'x"; DROP/'):
        assert (await ask(source_url(f"{shop}{path}"), shop)).status == 404, path
    (tmp_path / "text.db").write_text("this is no database, but a text that is long enough to be looked at" * 100)
    text = shop.replace("shop.db", "text.db")
    assert (await ask(text, text)).kind is FailureKind.PROTOCOL
    gone = shop.replace("shop.db", "gone.db")
    assert (await ask(gone, gone)).kind is FailureKind.CONNECT
    assert not (tmp_path / "gone.db").exists()
    with closing(sqlite3.connect(tmp_path / "shop.db")) as base, base:
        base.execute("INSERT INTO customers VALUES (8, zeroblob(5000), '', NULL)")
    assert (await ask(f"{shop}customers/8", shop, max_body_bytes=1000)).kind is FailureKind.TOO_LARGE
