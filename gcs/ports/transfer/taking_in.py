"""Takes in a transfer at the central place: its records become rows of a directory of summaries."""

import struct
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

import msgspec
import zstandard

from gcs.core.page.values import PageRecord
from gcs.errors import DamagedError, UsageError
from gcs.ports.records.layout import NAME, SUMMARIES, parquet_name, store_error, sync_directory
from gcs.ports.records.parquet import FIELDS, write_records
from gcs.ports.records.reading import rows
from gcs.ports.transfer.transfer_form import (
    Bases,
    Item,
    TransferHead,
    TransferNote,
    check,
    item_of,
    items_of,
    keep_note,
    last_note,
    record_of,
    restored,
)

#: how the logs of a central place are named: those of the gatherer, and this
SENT = ".sent"


def take_in(directory: Path, path: Path) -> TransferNote:
    """Apply a transfer to a directory of transfers, which may be new; returns its note."""
    try:
        with path.open("rb") as file:
            return _take_in(directory, path, file)
    except OSError as error:
        raise store_error("read", path, error) from error
    except (zstandard.ZstdError, msgspec.MsgspecError, struct.error, KeyError, TypeError, UnicodeError) as error:
        raise DamagedError(f"{path} is damaged, or no transfer ({error}): copy it again") from error


def _take_in(directory: Path, path: Path, file: BinaryIO) -> TransferNote:
    items = items_of(file)
    head = msgspec.msgpack.decode(next(items, b""), type=TransferHead)
    before = last_note(directory)
    if before and before.head.id == head.id:
        return before
    if before and before.head.crawl != head.crawl:
        raise UsageError(f"{path} is of the crawl {head.crawl!r}, and {directory} of {before.head.crawl!r}")
    if head.after and head.after != (before.head.id if before else ""):
        had = f"number {before.head.number}" if before else "none"
        raise UsageError(f"{path} is transfer number {head.number}, and {directory} has had {had}: apply them in order")

    def is_earlier(gatherer: str, number: int) -> bool:
        return not gatherer.endswith(SENT) or number < head.number  # a part of this one may be there

    def present() -> Iterator[PageRecord]:
        if (directory / SUMMARIES).is_dir():
            for row in rows(directory, FIELDS, is_earlier):
                yield PageRecord(**dict(zip(FIELDS, row)))

    wanted = {item.url for item in map(item_of, items) if item.base}
    bases = Bases(wanted, head.is_summary)
    for record in present():
        if head.session and record.session >= head.session:
            raise UsageError(f"{directory} has records of session {record.session}: {path} sends all since then again")
        bases.offer(record)
    file.seek(0)
    items = items_of(file)
    next(items)
    count, parts = 0, dict[Path, Path]()
    try:
        (directory / SUMMARIES).mkdir(parents=True, exist_ok=True)
        (directory / "state").mkdir(exist_ok=True)
        for gatherer, mine in groupby(map(item_of, items), lambda item: item.gatherer):
            if not NAME.fullmatch(gatherer):
                raise DamagedError(f"{path}: {gatherer!r} is no name of a gatherer")
            target = directory / SUMMARIES / parquet_name(gatherer + SENT, head.number)
            parts[target] = target.with_name(f".{target.name}.part")
            count += write_records((_record(item, bases, path) for item in mine), parts[target])
        for target, part in parts.items():
            part.replace(target)
        sync_directory(directory / SUMMARIES)
        note = TransferNote(head, records=count)
        keep_note(directory, note)
    except OSError as error:
        raise store_error("write", directory, error) from error
    finally:
        bases.close()
        for part in parts.values():
            part.unlink(missing_ok=True)
    return note


def _record(item: Item, bases: Bases, path: Path) -> PageRecord:
    if not item.base:
        return record_of(item.fields)
    base = bases.get(item.url)
    if base is None or check(base) != item.base:
        raise UsageError(f"{path} changes a record that is not here as it was sent: was a transfer left out?")
    return record_of(restored(item.fields, base))
