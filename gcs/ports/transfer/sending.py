"""Sends a transfer: what a crawl directory has stored since the last one, or since a session began."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from gcs.core.page.values import PageRecord
from gcs.errors import UsageError
from gcs.ports.records.follower import RecordFollower
from gcs.ports.records.record_log import BEGINNING, Position
from gcs.ports.transfer.transfer_form import (
    LEVEL,
    WINDOW_LOG,
    Bases,
    Item,
    TransferHead,
    TransferNote,
    check,
    difference,
    digest,
    encoded,
    end,
    fields_of,
    last_note,
    put,
)

#: records that are read at a time
_AT_ONCE = 64


def send(directory: Path, crawl: str, file: BinaryIO, *, session: int = 0, is_summary: bool = False) -> TransferNote:
    """Write a transfer to this file; returns the note to keep when the file is safe.

    `session`: send what was stored since that session began; 0 for what was stored since the last transfer.
    """
    before = last_note(directory)
    if before and not session and before.head.is_summary and not is_summary:
        raise UsageError("the last transfer was a summary: the central place lacks the texts; send all: --changed 1")
    begin = before.positions if before and not session else {}
    number, after = (before.head.number + 1, before.head.id) if before else (1, "")
    head = TransferHead(crawl, secrets.token_hex(8), number, "" if session else after, is_summary, session)
    ends: dict[str, Position] = {}
    wanted: set[int] = set()
    gatherers = sorted(log.parent.name for log in directory.glob("state/*/log"))
    for gatherer in gatherers:
        ends[gatherer] = first = begin.get(gatherer, BEGINNING)
        for record, position in _stored(directory, gatherer, first, None):
            ends[gatherer] = position
            if record.session >= session:
                wanted.add(digest(record.url.encode()))
    bases = Bases(wanted, is_summary)
    for gatherer in gatherers:
        until = ends[gatherer] if session else begin.get(gatherer, BEGINNING)
        for record, _ in _stored(directory, gatherer, BEGINNING, until):
            if not session or record.session < session:
                bases.offer(record)
    count = 0
    packing = zstandard.ZstdCompressionParameters.from_level(
        LEVEL, window_log=WINDOW_LOG, enable_ldm=True, write_checksum=True
    )
    with zstandard.ZstdCompressor(compression_params=packing).stream_writer(file, closefd=False) as stream:
        put(stream, head)
        for gatherer in gatherers:
            for record, _ in _stored(directory, gatherer, begin.get(gatherer, BEGINNING), ends[gatherer]):
                if record.session >= session:
                    put(stream, _item(record, gatherer, bases, is_summary))
                    count += 1
        end(stream)
    bases.close()
    return TransferNote(head, ends, count)


def _stored(
    directory: Path, gatherer: str, begin: Position, until: Position | None
) -> Iterator[tuple[PageRecord, Position]]:
    """Some records of a gatherer, each with the position behind it."""
    if begin == until:
        return
    follower = RecordFollower(directory, gatherer, begin)
    try:
        while found := follower.read(_AT_ONCE):
            for stored in found:
                if until is not None and stored.position > until:
                    return
                yield stored.record, stored.position
    finally:
        follower.close()


def _item(record: PageRecord, gatherer: str, bases: Bases, is_summary: bool) -> Item:
    url, row = digest(record.url.encode()), encoded(record, is_summary)
    base = bases.get(url)
    if base is None:
        return Item(gatherer, url, 0, fields_of(row))
    return Item(gatherer, url, check(base), difference(row, base))
