"""`gcs export`: what a crawl gathered, as lines for other programs. Streams: memory does not grow with the crawl,
but for --latest, which has to know which records are out of date.
"""

import csv
import difflib
import io
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from gcs.app.crawl_input import SavedCrawl
from gcs.app.say import say
from gcs.core.page.spreadsheet import harmless
from gcs.core.page.values import PageRecord
from gcs.errors import StoreError, UsageError
from gcs.events import set_up_log, tame
from gcs.ports.duplicates import METHODS, FirstOfGroup
from gcs.ports.records import cdxj, reading
from gcs.ports.records.page import Page
from gcs.ports.records.parquet import FIELDS
from gcs.ports.records.reading import latest
from gcs.ports.records.wacz import write_wacz
from gcs.ports.sinks.markdown_files import MarkdownFiles, markdown_file
from gcs.ports.tables import TABLES, table_rows, write_tables
from gcs.ports.transfer.sending import send
from gcs.ports.transfer.transfer_form import keep_note
from gcs.settings import Settings
from gcs.version import __version__

#: how the name of a value begins that a plug-in has added
_ADDED = "fields."
#: made from the WARC files
_ARCHIVE_FORMS = ("cdxj", "wacz")


@click.command()
@click.argument("place", metavar="DIR")
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "csv", "parquet", "md", "cdxj", "wacz"]), default="jsonl",
    show_default=True,
    help="jsonl, csv: a line per record, or per row of --table. parquet: all tables, as FOLDER/pages/*.parquet and so"
    " on; FOLDER is DIR, or what --output says. md: the main text of each page as Markdown, with front matter; one file"
    " a page where --output is a directory or ends in a slash. cdxj: the sorted index of the WARC files, for pywb."
    " wacz: WARC files, index and list of pages in one file, for ReplayWeb.page; needs --output.",
)  # fmt: skip
@click.option(
    "--table", type=click.Choice(list(TABLES)), metavar="NAME",
    help="One table, each URL once, as it was found last: "
    + "; ".join(f"{name}, {table.what}" for name, table in TABLES.items()) + ". [all records]",
)  # fmt: skip
@click.option("--output", "-o", "place_out", metavar="FILE", help="Where it goes. [stdout]")
@click.option(
    "--fields",
    metavar="A,B",
    help=f"Which fields of a page, in which order; fields.NAME is what a plug-in has added. [all: {', '.join(FIELDS)}]",
)
@click.option("--latest", "is_latest", is_flag=True, help="Each page once, as it was found last; none that are gone.")
@click.option(
    "--dedup", type=click.Choice(METHODS), is_flag=False, flag_value=METHODS[0], metavar="[METHOD]",
    help="Like --latest, and of pages that are nearly the same only the first: by their signatures (simhash), or by the"
    " words of their texts (minhash: gcs-crawler[dedup]). gcs duplicates reports them.",
)  # fmt: skip
@click.option(
    "--changed", is_flag=False, flag_value="0", metavar="[SESSION]",
    help="Write a transfer for a central place: what was stored since the last one, or since that session began; as the"
    " difference from what the place has, compressed. gcs merge applies it there. Needs --output.",
)  # fmt: skip
@click.option(
    "--summary", is_flag=True, help="--changed: leave out what an index does not need: texts, links, headers."
)
@click.option(
    "--raw", is_flag=True,
    help="csv: write every cell as it is, for programs. Without it, a cell that a spreadsheet would take for a formula"
    " begins with an apostrophe.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON; needs --output.")
def export(
    place: str,
    form: str,
    table: str | None,
    place_out: str | None,
    fields: str | None,
    is_latest: bool,
    dedup: str | None,
    changed: str | None,
    summary: bool,
    raw: bool,
    as_json: bool,
) -> int:
    """Write what the crawl in DIR (a directory or s3://…) gathered: a record for each URL and session, or tables."""
    output = Path(place_out) if place_out else None
    as_folder = bool(place_out) and str(place_out).endswith(("/", os.sep))
    if fields and form in (*_ARCHIVE_FORMS, "md"):
        raise UsageError(f"--fields is for jsonl and csv: the fields of {form} are fixed")
    if (is_latest or dedup) and form in _ARCHIVE_FORMS:
        raise UsageError(
            f"--{'dedup' if dedup else 'latest'} is for jsonl, csv and md: {form} names all that is in the WARC files"
        )
    if dedup and (form == "parquet" or table):
        raise UsageError("--dedup is for pages as jsonl, csv and md")
    if as_json and output is None:
        raise UsageError("--json needs --output: stdout carries the records")
    set_up_log("warning", as_json=False)
    if changed is not None:
        return _export_changed(place, output, changed, summary, as_json)
    if summary:
        raise UsageError("--summary is for --changed")
    if raw and form != "csv":
        raise UsageError("--raw is for csv: no other format is changed")
    if form == "wacz":
        return _export_wacz(place, output, as_json)
    if table and (is_latest or form not in ("jsonl", "csv")):
        raise UsageError("--table is for jsonl and csv, and holds each URL as it was found last: leave the others out")
    if form == "parquet":
        return _export_tables(place, output, as_json)
    chosen = _fields(fields, TABLES[table].columns if table else FIELDS)
    if table:
        names = list(TABLES[table].columns)
        picked = (_picked(dict(zip(names, row)), chosen) for row in table_rows(place, table))
        lines = _csv(picked, chosen, raw) if form == "csv" else _jsonl(picked, chosen)
    elif form == "cdxj":
        lines = _cdxj(place)
    elif form == "md":
        rows = _rows(place, FIELDS, is_latest, dedup)
        pages = (Page(PageRecord(**dict(zip(FIELDS, row))), place) for row in rows)
        if output is not None and (output.is_dir() or as_folder):
            return _told(form, _write_files(pages, output), output, as_json)
        lines = (content + b"\n" for page in pages if (content := markdown_file(page)))
    else:
        columns = list(dict.fromkeys(name.partition(".")[0] for name in chosen))
        rows = _rows(place, columns, is_latest, dedup)
        picked = (_picked(dict(zip(columns, row)), chosen) for row in rows)
        lines = _csv(picked, chosen, raw) if form == "csv" else _jsonl(picked, chosen)
    count = 0
    with _sink(output) as sink:
        for line in lines:
            sink.write(line)
            count += 1
    count -= form == "csv"  # its header is no record
    return _told(form, count, output, as_json)


def _rows(place: str, columns: Sequence[str], is_latest: bool, dedup: str | None) -> Iterator[reading.Row]:
    """All records, each page as it was found last, or of those the first of each kind."""
    if not dedup:
        return (latest if is_latest else reading.rows)(place, columns)
    first = FirstOfGroup(dedup)
    found = latest(place, ("simhash", "text", *columns))
    return (tuple(row) for signature, text, *row in found if first.add(signature, text))


def _told(form: str, count: int, output: Path | None, as_json: bool) -> int:
    """Say what was written; the exit code."""
    if as_json:
        say(msgspec.json.encode({"format": form, "records": count, "output": str(output)}))
    elif output is not None:
        say(f"{count:,} records written to {output}")
    return 0


def _write_files(pages: Iterable[Page], folder: Path) -> int:
    """One file a page, in a folder per host; the number of pages. A page that is met again replaces its file."""
    try:
        files = MarkdownFiles(str(folder), is_durable=False)
        return sum(files.put(page) for page in pages)
    except OSError as error:
        raise StoreError(f"cannot write {error.filename or folder}: {error.strerror or error}") from error


def _export_changed(place: str, output: Path | None, changed: str, is_summary: bool, as_json: bool) -> int:
    if output is None or reading.is_url(place) or not changed.isdecimal():
        raise UsageError("--changed [SESSION] needs --output FILE, and the directory of the crawl")
    directory = reading.check_crawl(Path(place))
    name = str(SavedCrawl.read(directory).settings.get("crawl.name", Settings().crawl.name))
    with _sink(output) as sink:
        assert not isinstance(sink, _TameTerminal)
        note = send(directory, name, sink, session=int(changed), is_summary=is_summary)
    keep_note(directory, note)
    return _told("transfer", note.records, output, as_json)


def _export_wacz(place: str, output: Path | None, as_json: bool) -> int:
    if output is None:
        raise UsageError("--format wacz needs --output: it is no text")
    title = Path(place).name if "://" not in place else place
    with _sink(output) as sink:
        assert not isinstance(sink, _TameTerminal)
        pages = write_wacz(place, sink, f"gcs/{__version__}", title)
    if as_json:
        say(msgspec.json.encode({"format": "wacz", "pages": pages, "output": str(output)}))
    else:
        say(f"{pages:,} pages written to {output}")
    return 0


def _export_tables(place: str, output: Path | None, as_json: bool) -> int:
    if output is None and reading.is_url(place):
        raise UsageError("--format parquet needs --output FOLDER where the crawl is at a URL")
    folder = output or Path(place)
    rows = write_tables(place, folder)
    if as_json:
        say(msgspec.json.encode({"format": "parquet", "rows": rows, "output": str(folder)}))
    else:
        say("\n".join(f"{count:,} rows in {folder / name}/" for name, count in rows.items()))
    return 0


def _picked(record: dict[str, Any], chosen: list[str]) -> reading.Row:
    """The chosen fields: columns, values that a plug-in has added (fields.price), or all of these as an object."""
    if "fields" not in record:
        return tuple(record[name] for name in chosen)
    added = msgspec.json.decode(record["fields"], type=dict[str, Any]) if record["fields"] else {}
    return tuple(
        added if name == "fields" else added.get(name[len(_ADDED) :]) if name.startswith(_ADDED) else record[name]
        for name in chosen
    )


def _jsonl(rows: Iterable[reading.Row], fields: list[str]) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    for row in rows:
        yield encode(dict(zip(fields, _shown(fields, row)))) + b"\n"


def _csv(rows: Iterable[reading.Row], fields: list[str], raw: bool) -> Iterator[bytes]:
    """A header and a line per record; out-links stand in one cell, apart by spaces (a URL holds none)."""
    shown = (lambda cell: cell) if raw else harmless
    text = io.StringIO()
    writer = csv.writer(text)
    for row in chain([fields], (_shown(fields, row) for row in rows)):
        writer.writerow([shown(_cell(name, cell)) for name, cell in zip(fields, row)])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()


def _cell(name: str, value: object) -> object:
    if name == "outlinks" and isinstance(value, list):
        return " ".join(value)
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict) else value


def _cdxj(place: str) -> Iterator[bytes]:
    return cdxj.merge(line for name, file in reading.warc_files(place) for line in cdxj.index(file, name))


def _shown(fields: Sequence[str], row: reading.Row) -> list[Any]:
    """The row as a reader wants it: times in ISO 8601."""
    return [
        datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z") if name == "fetched_at" else value
        for name, value in zip(fields, row)
    ]


def _fields(text: str | None, known: Collection[str]) -> list[str]:
    if not text:
        return list(known)
    fields = [name.strip() for name in text.split(",")]
    for name in fields:
        if name not in known and not ("fields" in known and name.startswith(_ADDED) and name != _ADDED):
            near = difflib.get_close_matches(name, known, 1, 0)
            raise UsageError(f"there is no field {name!r}: did you mean {near[0]!r}?")
    return fields


class _TameTerminal:
    """Standard output where a person looks at it."""

    def write(self, data: bytes) -> None:
        sys.stdout.write(tame(data.decode("utf-8", "replace")))


@contextmanager
def _sink(output: Path | None) -> Iterator[BinaryIO | _TameTerminal]:
    """Stdout, or a file that appears when it is complete."""
    if output is None:
        try:
            yield _TameTerminal() if sys.stdout.isatty() else sys.stdout.buffer
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has seen enough; what is left in the buffer goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    plain = not output.exists() or output.is_file()  # a pipe or a device is written as it is
    target = output.with_name(f".{output.name}.{os.getpid()}.tmp") if plain else output
    try:
        with target.open("wb") as file:
            yield file
        if plain:
            target.replace(output)
    except OSError as error:
        raise StoreError(f"cannot write {output}: {error.strerror or error}") from error
    finally:
        if plain:
            target.unlink(missing_ok=True)
