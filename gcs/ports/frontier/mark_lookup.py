"""Looks up marks in a frontier that nobody has open, from outside. It only reads."""

import os
from contextlib import ExitStack
from pathlib import Path

import lmdb
import msgspec

from gcs.ports.frontier.lmdb_file import MAX_TABLES
from gcs.ports.frontier.url_rows import Mark, key_of
from gcs.ports.records.record_log import BEGINNING, Position


class MarkLookup:
    """The marks of one frontier. The file must be sound: see `soundness`."""

    def __init__(self, directory: Path) -> None:
        self._open = ExitStack()
        environment = self._open.enter_context(
            lmdb.open(os.fspath(directory), readonly=True, max_dbs=MAX_TABLES, lock=False)
        )
        self._txn = self._open.enter_context(environment.begin())
        tables = {bytes(name) for name, _ in self._txn.cursor()}
        self._urls, self._notes = (
            environment.open_db(name, self._txn, create=False) if name in tables else None
            for name in (b"urls", b"notes")
        )
        packed = self._txn.get(b"position", db=self._notes) if self._notes else None
        #: up to where the records are in the frontier
        self.position = msgspec.msgpack.decode(packed, type=Position) if packed else BEGINNING

    def mark(self, url: str) -> Mark | None:
        value = self._txn.get(key_of(url), db=self._urls) if self._urls else None
        return None if value is None else Mark(value[:1])

    def recorded(self) -> int:
        """URLs that must have a record: those that were requested, with or without success."""
        ended = (Mark.DONE.value, Mark.FAILED.value)
        return sum(value in ended for _, value in self._txn.cursor(self._urls)) if self._urls else 0

    def close(self) -> None:
        self._open.close()
