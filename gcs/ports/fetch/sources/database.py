"""An SQLite database: its tables are lists of rows, a row is a page that links to the rows its foreign keys name.

    db://…/shop.db/   db://…/shop.db/orders/   db://…/shop.db/orders/?after=1000   db://…/shop.db/orders/17

A row is known by its rowid; in a table without them by its place in the order of the primary key. Opened anew, and for
reading only, for every question, so that a crawl holds no lock and sees what is there.

Invariant: names of tables come from the database itself, never from a URL.
"""

import html
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, unquote

from gcs.core.page.values import FailureKind
from gcs.ports.fetch.sources import LISTED, MISSING, Answer, listing

_URL = re.compile(r"https?://\S+")


def read_database(inside: str, after: str, file: Path, max_bytes: int) -> Answer | FailureKind:
    """What lies at the path `inside` the database: "", "table/" or "table/row"."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as base:
            base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_bytes)
            names = (name for (name,) in base.execute(_TABLES))
            table, row = (*map(unquote, inside.split("/")), "")[:2]
            if not table:
                return listing(f"{name}/" for name in names if f"{name}/" > after)
            if table not in names:
                return MISSING
            return Table(base, table).page(row) if row else listing(Table(base, table).keys(after))
    except sqlite3.DataError:
        return FailureKind.TOO_LARGE
    except sqlite3.OperationalError:  # gone, locked, or a question that it cannot answer
        return FailureKind.CONNECT
    except sqlite3.DatabaseError:
        return FailureKind.PROTOCOL


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"


class Table:
    """One table, whose name the database has confirmed."""

    def __init__(self, base: sqlite3.Connection, name: str) -> None:
        self._base, self._name = base, name
        self._quoted = '"' + name.replace('"', '""') + '"'
        (ddl,) = base.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        self._has_rowid = not re.search(r"\bWITHOUT\s+ROWID\b", ddl, re.I)

    def keys(self, after: str) -> Iterable[str]:
        """The keys of the rows behind `after`."""
        number = int(after) if after.removeprefix("-").isdigit() else None
        if self._has_rowid:
            least = -(1 << 63) if number is None else number + 1
            query = f"SELECT rowid FROM {self._quoted} WHERE rowid >= ? ORDER BY rowid LIMIT ?"  # noqa: S608
            return (str(key) for (key,) in self._base.execute(query, (least, LISTED + 1)))
        (rows,) = self._base.execute(f"SELECT count(*) FROM {self._quoted}").fetchone()  # noqa: S608
        return map(str, range(0 if number is None else number + 1, rows))

    def page(self, key: str) -> Answer:
        if not key.removeprefix("-").isdigit() or len(key) > 20:
            return MISSING
        which = "WHERE rowid = ?" if self._has_rowid else "LIMIT 1 OFFSET ?"
        found = self._base.execute(f"SELECT * FROM {self._quoted} {which}", (int(key),))  # noqa: S608
        if (row := found.fetchone()) is None:
            return MISSING
        columns = [column[0] for column in found.description]
        links = self._links(dict(zip(columns, row, strict=True)))
        return page_of_row(f"{self._name} {key}", dict(zip(columns, row, strict=True)), links)

    def _links(self, row: dict[str, object]) -> dict[str, str]:
        """By column: the row of another table that its foreign key names."""
        found = {}
        for _, _, other, column, target, *_ in self._base.execute(f"PRAGMA foreign_key_list({self._quoted})"):
            quoted = [name.replace('"', '""') for name in (other, target or "rowid")]
            query = f'SELECT rowid FROM "{quoted[0]}" WHERE "{quoted[1]}" = ?'  # noqa: S608
            try:
                key = self._base.execute(query, (row[column],)).fetchone()
            except sqlite3.OperationalError:  # a table without rowids, or that is not there
                continue
            if key:
                found[column] = f"../{quote(other, safe='')}/{key[0]}"
        return found


def page_of_row(title: str, row: Mapping[str, object], links: Mapping[str, str]) -> Answer:
    """A row as a page; `links`: by column, the row that it names."""
    lines = "".join(_line(name, value, links.get(name, "")) for name, value in row.items())
    body = f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><article>{lines}</article>"
    return Answer(content_type="text/html; charset=utf-8", body=body.encode(errors="replace"))


def _line(name: str, value: object, link: str) -> str:
    if value is None or isinstance(value, bytes):
        return ""
    text = html.escape(str(value))
    href = link or (text if _URL.fullmatch(str(value)) else "")
    shown = f'<a href="{href}">{text}</a>' if href else text
    return f"<p>{html.escape(name)}: {shown}</p>"
