"""`gcs export`: what a crawl gathered, as lines for other programs. Streams: memory does not grow with the crawl,
but for --latest, which has to know which records are out of date.
"""

import csv
import difflib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from gcs.errors import StoreError, UsageError
from gcs.ports.records import cdxj, reading
from gcs.ports.records.parquet import FIELDS
from gcs.ports.records.reading import latest


@click.command()
@click.argument("place", metavar="DIR")
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "csv", "cdxj"]), default="jsonl", show_default=True,
    help="jsonl, csv: a line per record. cdxj: the sorted index of the WARC files, for pywb.",
)  # fmt: skip
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Where it goes. [stdout]")
@click.option("--fields", metavar="A,B", help=f"Which fields of a page, in which order. [all: {', '.join(FIELDS)}]")
@click.option("--latest", "is_latest", is_flag=True, help="Each page once, as it was found last; none that are gone.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON; needs --output.")
def export(place: str, form: str, output: Path | None, fields: str | None, is_latest: bool, as_json: bool) -> int:
    """Write what the crawl in DIR (a directory or s3://…) gathered: a record for each URL and session."""
    if fields and form == "cdxj":
        raise UsageError("--fields is for jsonl and csv: the fields of cdxj are fixed")
    if is_latest and form == "cdxj":
        raise UsageError("--latest is for jsonl and csv: an index of the WARC files names all that is in them")
    if as_json and output is None:
        raise UsageError("--json needs --output: stdout carries the records")
    chosen = _fields(fields)
    rows = latest if is_latest else reading.rows
    text = _csv if form == "csv" else _jsonl
    lines = _cdxj(place) if form == "cdxj" else text(rows(place, chosen), chosen)
    count = 0
    with _sink(output) as sink:
        for line in lines:
            sink.write(line)
            count += 1
    count -= form == "csv"  # its header is no record
    if as_json:
        click.echo(msgspec.json.encode({"format": form, "records": count, "output": str(output)}))
    elif output is not None:
        click.echo(f"{count:,} records written to {output}")
    return 0


def _jsonl(rows: Iterable[reading.Row], fields: list[str]) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    for row in rows:
        yield encode(dict(zip(fields, _shown(fields, row)))) + b"\n"


def _csv(rows: Iterable[reading.Row], fields: list[str]) -> Iterator[bytes]:
    """A header and a line per record; out-links stand in one cell, apart by spaces (a URL holds none)."""
    text = io.StringIO()
    writer = csv.writer(text)
    for row in chain([fields], (_shown(fields, row) for row in rows)):
        writer.writerow([" ".join(cell) if isinstance(cell, list) else cell for cell in row])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()


def _cdxj(place: str) -> Iterator[bytes]:
    return cdxj.merge(line for name, file in reading.warc_files(place) for line in cdxj.index(file, name))


def _shown(fields: list[str], row: reading.Row) -> list[Any]:
    """The row as a reader wants it: times in ISO 8601."""
    return [
        datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z") if name == "fetched_at" else value
        for name, value in zip(fields, row)
    ]


def _fields(text: str | None) -> list[str]:
    if not text:
        return list(FIELDS)
    fields = [name.strip() for name in text.split(",")]
    for name in fields:
        if name not in FIELDS:
            near = difflib.get_close_matches(name, FIELDS, 1, 0)
            raise UsageError(f"there is no field {name!r}: did you mean {near[0]!r}?")
    return fields


@contextmanager
def _sink(output: Path | None) -> Iterator[BinaryIO]:
    """Stdout, or a file that appears when it is complete."""
    if output is None:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
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
