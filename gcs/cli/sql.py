"""`gcs sql`: questions to a crawl in SQL, by DuckDB over its Parquet files."""

import csv
import io
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gcs.app.say import say
from gcs.app.terminal import columns
from gcs.core.page.spreadsheet import harmless
from gcs.errors import UsageError
from gcs.ports.sql_views import VIEWS, open_views

if TYPE_CHECKING:
    import duckdb

#: rows that are fetched at once, and those that a table may have: it needs the widths of all
BATCH, TABLE_ROWS = 1000, 10_000
#: characters of a cell of a table
WIDTH = 80


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.argument("query", required=False, metavar="[SELECT…]")
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "jsonl"]), default="table", show_default=True,
    help="table: cut to what a person reads; csv (no formulas), jsonl: all of it.",
)  # fmt: skip
def sql(directory: Path, query: str | None, form: str) -> None:
    """Ask the crawl in DIR: gcs sql docs "SELECT host, pages FROM hosts ORDER BY pages DESC".

    Views: pages, failures, redirects, links, hosts, newest, records. Without a query, their columns are listed.
    """
    database = open_views(directory)
    import duckdb

    if not query:
        for name, (what, _) in VIEWS.items():
            fields = ", ".join(f"{row[0]} {row[1]}" for row in database.execute(f"DESCRIBE {name}").fetchall())
            say(f"{name}: {what}\n    {fields}")
        return
    try:
        found = database.execute(query)
        lines: Iterator[str | bytes] = _table(found) if form == "table" else (_csv if form == "csv" else _jsonl)(found)
        for line in lines:
            say(line)
    except duckdb.Error as error:
        raise UsageError(f"{' '.join(str(error).split())}") from None


def _rows(found: "duckdb.DuckDBPyConnection") -> Iterator[tuple[Any, ...]]:
    while rows := found.fetchmany(BATCH):
        yield from rows


def _table(found: "duckdb.DuckDBPyConnection") -> Iterator[str | bytes]:
    cells = [tuple(each[0] for each in found.description or ())]
    for row in _rows(found):
        if len(cells) > TABLE_ROWS:
            raise UsageError(f"more than {TABLE_ROWS:,} rows: add LIMIT, or --format csv or jsonl")
        cells.append(tuple(_cut("" if cell is None else str(cell)) for cell in row))
    for line in columns(cells, left=len(cells[0])):
        yield line.rstrip()


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def _csv(found: "duckdb.DuckDBPyConnection") -> Iterator[str | bytes]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="")
    for row in chain([[each[0] for each in found.description or ()]], _rows(found)):
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in row])
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def _jsonl(found: "duckdb.DuckDBPyConnection") -> Iterator[str | bytes]:
    names = [each[0] for each in found.description or ()]
    for row in _rows(found):
        yield json.dumps(dict(zip(names, row, strict=True)), default=str, ensure_ascii=False).encode()
