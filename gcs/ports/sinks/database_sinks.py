"""Sinks that are tables: DuckDB and PostgreSQL. The id is the key, so that a page which comes again is one row.

Invariant: a batch is one transaction. Columns that a newer version of GCS adds are added to an old table.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from gcs.errors import SettingsError
from gcs.ports.records.page import Page
from gcs.ports.records.parquet import FIELDS, schema
from gcs.ports.sinks.page_rows import ROW_COLUMNS, as_table

#: table that is written, unless the target says ?table=NAME (PostgreSQL)
TABLE = "pages"
_PG_TYPES = {
    **dict.fromkeys(("int32", "int64"), "bigint"),
    "uint64": "numeric(20)",
    "bool": "boolean",
    "timestamp[us, tz=UTC]": "timestamptz",
    "list<item: string>": "text[]",
}


class DuckDb:
    """The table `pages` of a DuckDB file."""

    def __init__(self, target: str) -> None:
        self._file = target
        import duckdb

        self._duckdb = duckdb
        with self._open() as database:
            known = {row[0] for row in database.execute("select column_name from (describe pages)").fetchall()} if (
                database.execute("select 1 from duckdb_tables() where table_name = 'pages'").fetchone()
            ) else set()  # fmt: skip
            if not known:
                database.register("batch", as_table([]))
                database.execute("create table pages as from batch")
                database.execute("create unique index pages_id on pages (id)")
            elif missing := [name for name in ROW_COLUMNS if name not in known]:
                database.register("batch", as_table([]))
                kinds = {row[0]: row[1] for row in database.execute("describe from batch").fetchall()}
                for name in missing:
                    database.execute(f'alter table pages add column "{name}" {kinds[name]}')

    def write(self, pages: Sequence[Page]) -> None:
        with self._open() as database:  # opened for each batch: others may read the file in between
            unique = {page.id: page for page in pages}
            database.register("batch", as_table(list(unique.values())))
            database.execute("insert or replace into pages by name from batch")

    def _open(self) -> Any:
        return self._duckdb.connect(self._file)


class PostgreSql:
    """A table of a PostgreSQL server."""

    def __init__(self, target: str) -> None:
        self._url, self._table = _split_table(target)
        import psycopg

        self._psycopg = psycopg
        self._connection: Any = None

    def write(self, pages: Sequence[Page]) -> None:
        try:
            connection = self._connect()
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(self._insert(), [_pg_row(page) for page in pages])
        except self._psycopg.Error:
            self.close()  # the next try connects anew
            raise

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _connect(self) -> Any:
        if self._connection is None:
            self._connection = self._psycopg.connect(self._url, autocommit=True, connect_timeout=10)
            sql = self._psycopg.sql
            table = sql.Identifier(self._table)
            self._connection.execute(sql.SQL("create table if not exists {} (id text primary key)").format(table))
            for field in schema():
                self._connection.execute(
                    sql.SQL("alter table {} add column if not exists {} {}").format(
                        table, sql.Identifier(field.name), sql.SQL(_PG_TYPES.get(str(field.type), "text"))
                    )
                )
        return self._connection

    def _insert(self) -> Any:
        sql = self._psycopg.sql
        columns = sql.SQL(", ").join(map(sql.Identifier, ROW_COLUMNS))
        values = sql.SQL(", ").join(sql.Placeholder() * len(ROW_COLUMNS))
        news = sql.SQL(", ").join(
            sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in ROW_COLUMNS if name != "id"
        )
        return sql.SQL("insert into {} ({}) values ({}) on conflict (id) do update set {}").format(
            sql.Identifier(self._table), columns, values, news
        )


def _split_table(target: str) -> tuple[str, str]:
    """The URL without ?table=NAME, and the table."""
    parts = urlsplit(target)
    options = dict(parse_qsl(parts.query))
    table = options.pop("table", TABLE)
    if not table.isidentifier():
        raise SettingsError(f"sink {parts.scheme}: {table!r} is no name of a table: write ?table=NAME")
    return urlunsplit(parts._replace(query=urlencode(options))), table


def _pg_row(page: Page) -> tuple[Any, ...]:
    values: list[Any] = [page.id]
    for name in FIELDS:
        value: Any = getattr(page.record, name)
        values.append(page.fetched_at if name == "fetched_at" else _storable(value))
    return tuple(values)


def _storable(value: Any) -> Any:
    """PostgreSQL has no NUL in a text, and no lone surrogate."""
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
    return [_storable(each) for each in value] if isinstance(value, list) else value
