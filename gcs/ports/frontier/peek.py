"""A look at a frontier from outside, while its gatherer runs or when it does not. Reads only."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

import lmdb

from gcs.errors import StoreError
from gcs.ports.frontier.lmdb_file import MAX_TABLES


@dataclass(frozen=True, slots=True)
class FrontierPeek:
    """A frontier as of its last commit."""

    known: int
    queued: int
    running: bool
    notes: dict[str, bytes]


def peek(directory: Path) -> FrontierPeek:
    """How the frontier in this directory stands."""
    try:
        # without a lock where none can be written: then nobody else writes either
        locks = os.access(directory, os.W_OK)
        environment = lmdb.open(os.fspath(directory), readonly=True, max_dbs=MAX_TABLES, lock=locks)
    except lmdb.Error as error:
        raise StoreError(f"{directory}: the frontier cannot be read ({error})") from None
    with environment, environment.begin() as txn:
        sizes = dict.fromkeys((b"urls", b"queue", b"taken", b"later", b"pool"), 0)
        notes: dict[str, bytes] = {}
        for table in sizes:
            if txn.get(table) is not None:
                sizes[table] = txn.stat(environment.open_db(table, txn, create=False))["entries"]
        if txn.get(b"notes") is not None:
            value = txn.get(b"share", db=environment.open_db(b"notes", txn, create=False))
            if value is not None:
                notes["share"] = value
    known = sizes.pop(b"urls")
    return FrontierPeek(known, sum(sizes.values()), _is_locked(directory), notes)


def _is_locked(directory: Path) -> bool:
    try:
        with (directory / "lock").open("r") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False
