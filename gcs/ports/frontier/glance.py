"""A look at a frontier from outside, while its gatherer runs or when it does not. Reads only."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

import lmdb

from gcs.errors import StoreError


@dataclass(frozen=True, slots=True)
class Glance:
    """A frontier as of its last commit."""

    known: int
    queued: int
    running: bool
    notes: dict[str, bytes]


def glance(directory: Path) -> Glance:
    """How the frontier in this directory stands."""
    try:
        environment = lmdb.open(os.fspath(directory), readonly=True, max_dbs=9, lock=True)
    except lmdb.Error as error:
        raise StoreError(f"{directory}: the frontier cannot be read ({error})") from None
    with environment, environment.begin() as txn:
        sizes = {name: 0 for name in (b"urls", b"queue", b"taken", b"later")}
        notes = {}
        for name in sizes:
            if txn.get(name) is not None:
                sizes[name] = txn.stat(environment.open_db(name, txn, create=False))["entries"]
        if txn.get(b"notes") is not None:
            table = environment.open_db(b"notes", txn, create=False)
            for name in ("tally",):
                if (value := txn.get(name.encode(), db=table)) is not None:
                    notes[name] = value
    return Glance(sizes[b"urls"], sizes[b"queue"] + sizes[b"taken"] + sizes[b"later"], _is_locked(directory), notes)


def _is_locked(directory: Path) -> bool:
    try:
        with (directory / "lock").open("r") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False
