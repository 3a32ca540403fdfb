"""The index in SQLite's FTS5: one file, and nothing to install.

The full-text table holds words only (`content=''`); what is shown of a page is in the table `page`, compressed. The
words of a page come joined by spaces, so that FTS5 cuts them where all our engines do.

Invariant: a word of a query is quoted in FTS5's language, and every other value is a parameter.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from gcs.core.search.query import Between, Every, Is, Node, Phrase, Some
from gcs.core.search.results import FACETS, MOST_VALUES, TITLE_WEIGHT, Asked, EngineAnswer, FacetValue, RankedPage
from gcs.core.search.searchable import Searchable
from gcs.core.search.words import joined
from gcs.errors import StoreError
from gcs.ports.search import Place
from gcs.ports.system.own_file import refuse_links

_PAGES = msgspec.msgpack.Decoder(Searchable)
_COLUMNS = {"site": "host", "lang": "lang", "type": "kind"}
_MOST_BYTES = 64 << 20
_WAIT_S = 30.0
#: with the tokenizer `ascii`, every letter beyond ASCII is a letter
_TABLES = """
create table page (
    id integer primary key, url text not null unique, host text, lang text, kind text, change text,
    day integer, depth integer, doc blob not null
);
create index page_day on page (day);
create table position (log text primary key, file integer, records integer);
create virtual table words using fts5(title, text, content='', tokenize="ascii tokenchars '_'");
"""


class SqliteEngine:
    """One index in a file of a folder."""

    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "pages.sqlite"
        try:
            refuse_links(folder / f"pages.sqlite{end}" for end in ("", "-wal", "-shm", "-journal"))
            self._database = sqlite3.connect(self._path, _WAIT_S, isolation_level=None, check_same_thread=False)
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("pragma synchronous = normal")
            if not self._is_made():  # whoever only searches waits for nobody who writes
                self._database.execute("begin immediate")
                for statement in _TABLES.split(";") if not self._is_made() else ():
                    self._database.execute(statement)
                self._database.execute("commit")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self._path}: the index cannot be opened ({error}); make it anew: --rebuild") from error
        self._pack, self._unpack = zstandard.ZstdCompressor(3), zstandard.ZstdDecompressor()

    def _is_made(self) -> bool:
        return bool(self._database.execute("select 1 from sqlite_master where name = 'position'").fetchone())

    def positions(self) -> dict[str, Place]:
        return {log: (file, records) for log, file, records in self._database.execute("select * from position")}

    def write(self, pages: Sequence[Searchable], gone: Sequence[str], positions: Mapping[str, Place]) -> None:
        database = self._database
        try:
            database.execute("begin immediate")
            try:
                for url in (*gone, *(page.url for page in pages)):
                    self._forget(url)
                for page in {page.url: page for page in pages}.values():
                    self._add(page)
                database.executemany(
                    "insert or replace into position values (?, ?, ?)",
                    [(log, file, records) for log, (file, records) in positions.items()],
                )
                database.execute("commit")
            except BaseException:
                database.execute("rollback")
                raise
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: the index cannot be written ({error})") from error

    def search(self, asked: Asked) -> EngineAnswer:
        text, condition, values = _where(asked.node)
        tables = "words join page on page.id = words.rowid" if text else "page"
        where = f"words match ? and ({condition})" if text else condition
        values = [text, *values] if text else values
        try:
            count = f"select count(*) from {tables} where {where}"  # noqa: S608  made of our own words only
            (found,) = self._database.execute(count, values).fetchone()
            score = f"-bm25(words, {TITLE_WEIGHT}, 1.0)" if text else "0.0"
            rows = self._database.execute(
                f"select {score}, doc from {tables} where {where} order by 1 desc, day desc, url limit ?",  # noqa: S608
                (*values, asked.window),
            )
            best = [RankedPage(points, self._page(doc)) for points, doc in rows]
            facets = {name: self._facet(_COLUMNS[name], tables, where, values) for name in FACETS if asked.facets}
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: the index cannot be read ({error})") from error
        return EngineAnswer(found, best, facets)

    def pages(self) -> int:
        found: int = self._database.execute("select count(*) from page").fetchone()[0]
        return found

    def close(self) -> None:
        self._database.close()

    def _facet(self, column: str, tables: str, where: str, values: Sequence[object]) -> list[FacetValue]:
        rows = self._database.execute(
            f"select {column}, count(*) from {tables} where ({where}) and {column} != ''"  # noqa: S608
            f" group by 1 order by 2 desc, 1 limit {MOST_VALUES}",
            values,
        )
        return [FacetValue(value, count) for value, count in rows]

    def _add(self, page: Searchable) -> None:
        doc = self._pack.compress(msgspec.msgpack.encode(page))
        row = (page.url, page.host, page.lang, page.kind, page.change, page.day, page.depth, doc)
        number = self._database.execute(
            "insert into page (url, host, lang, kind, change, day, depth, doc) values (?, ?, ?, ?, ?, ?, ?, ?)", row
        ).lastrowid
        self._database.execute(
            "insert into words (rowid, title, text) values (?, ?, ?)",
            (number, joined(page.title), joined(page.text)),
        )

    def _forget(self, url: str) -> None:
        """A table without content has to be told what it held."""
        row = self._database.execute("select id, doc from page where url = ?", (url,)).fetchone()
        if row:
            page = self._page(row[1])
            self._database.execute(
                "insert into words (words, rowid, title, text) values ('delete', ?, ?, ?)",
                (row[0], joined(page.title), joined(page.text)),
            )
            self._database.execute("delete from page where id = ?", (row[0],))

    def _page(self, doc: bytes) -> Searchable:
        return _PAGES.decode(self._unpack.decompress(doc, max_output_size=_MOST_BYTES))


def _where(node: Node) -> tuple[str, str, list[Any]]:
    """What FTS5 matches ("" for anything), the condition on the pages, and its values."""
    parts = node.parts if isinstance(node, Every) else (node,)
    text = " AND ".join(_fts(part) for part in parts if _is_text(part))
    conditions = [_condition(part) for part in parts if not _is_text(part)]
    return (
        text,
        " and ".join(sql for sql, _ in conditions) or "1",
        [each for _, values in conditions for each in values],
    )


def _is_text(node: Node) -> bool:
    """Whether words alone decide: then FTS5 does, and ranks by them."""
    return isinstance(node, Phrase) or (isinstance(node, Every | Some) and all(map(_is_text, node.parts)))


def _condition(node: Node) -> tuple[str, list[Any]]:
    if isinstance(node, Phrase):
        return "page.id in (select rowid from words where words match ?)", [_fts(node)]
    if isinstance(node, Every | Some):
        parts = [_condition(part) for part in node.parts]
        word = " and " if isinstance(node, Every) else " or "
        return f"({word.join(sql for sql, _ in parts)})", [each for _, values in parts for each in values]
    if isinstance(node, Between):
        return f"{'day' if node.field == 'date' else 'depth'} between ? and ?", [node.least, node.most]
    if isinstance(node, Is):
        if node.field == "site":
            return "(host = ? or substr(host, ?) = ?)", [node.value, -len(node.value) - 1, f".{node.value}"]
        return f"{'kind' if node.field == 'type' else node.field} = ?", [node.value]
    sql, values = _condition(node.part)
    return f"not {sql}", values


def _fts(node: Node) -> str:
    """Words in FTS5's language; they hold no quotation marks."""
    if isinstance(node, Every | Some):
        return f"({(' AND ' if isinstance(node, Every) else ' OR ').join(map(_fts, node.parts))})"
    assert isinstance(node, Phrase)
    text = f'"{" ".join(node.words)}"{" *" if node.is_prefix else ""}'
    return f"title : {text}" if node.in_title else text
