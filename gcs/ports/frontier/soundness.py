"""Whether an LMDB file is sound. LMDB has no checksums: a damaged file gives wrong rows, or a signal ends the process.

    seal    size and hash of the file, written when it is closed, removed before it is opened. A file that has a seal
            is as it was closed, or it is damaged.

A file without a seal was not closed: its process was killed. Then a process of its own reads every row: the signal that
a damaged page may raise ends that process only. `python -m gcs.ports.frontier.soundness DIR` is that process.

Not found: a changed byte inside of a row that still has its form, in a file whose process was killed.
"""

import os
import subprocess
import sys
from pathlib import Path
from struct import Struct
from typing import Any

import lmdb
import xxhash

from gcs.ports.frontier.url_rows import decode as _decode
from gcs.ports.frontier.url_rows import key_of, split
from gcs.ports.records.file_book import hash_of
from gcs.ports.system.own_file import own_stream

DATA, SEAL = "data.mdb", "seal"
#: rank and sequence behind the mark of a URL that waits, the rank before a row of the pool, the key of a retry
_ORDER, _RANK, _DUE = Struct(">IQ"), Struct(">I"), Struct(">QQ")
_MAX_TABLES = 12
#: seconds for the check of a file: a damaged one may hold a circle of pages
_CHECK_S = 600


def damage_of(directory: Path) -> str:
    """What is wrong with the file in a directory that nobody has open, in words; "" if nothing is, or there is none."""
    data, seal = directory / DATA, _read_seal(directory)
    if not data.exists():
        return "is missing" if seal else ""
    if seal:
        return "" if seal == _seal_of(data) else "has changed since it was closed"
    return _check_apart(directory)


def write_seal(directory: Path) -> None:
    """Note how the file is now that it is closed."""
    with own_stream(directory / SEAL, "w") as file:
        file.write(_sealed(_seal_of(directory / DATA)))


def break_seal(directory: Path, fsync: bool) -> None:
    """The file is about to change. Durable first: the seal must not be there again after a power cut."""
    (directory / SEAL).unlink(missing_ok=True)
    if fsync:
        handle = os.open(directory, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


def _seal_of(data: Path) -> str:
    return f"{data.stat().st_size} {hash_of(data)}"


def _sealed(text: str) -> str:
    return f"{text} {xxhash.xxh3_64_hexdigest(text.encode())}\n"


def _read_seal(directory: Path) -> str:
    """The text of the seal; "" where there is none, or the seal itself is damaged."""
    try:
        line = (directory / SEAL).read_text("ascii", "replace")
    except OSError:
        return ""
    text = line.rpartition(" ")[0]
    return text if line == _sealed(text) else ""


def _check_apart(directory: Path) -> str:
    command = [sys.executable, "-m", __name__, str(directory)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_CHECK_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "cannot be read to its end"
    if done.returncode < 0:
        return f"cannot be read (signal {-done.returncode})"
    return "" if not done.returncode else done.stdout.strip() or "cannot be read"


# -- in the process of its own


def check(directory: Path) -> None:
    """Read everything; raises one of many errors, or ends the process, if the file is damaged."""
    environment = lmdb.open(os.fspath(directory), readonly=True, max_dbs=_MAX_TABLES, lock=False)
    with environment, environment.begin() as txn, Path(os.devnull).open("wb") as nowhere:
        environment.copyfd(nowhere.fileno(), compact=True)  # each page is where the others say
        names = [bytes(name) for name, _ in txn.cursor()]
        tables = {name: environment.open_db(name, txn, create=False) for name in names}
        for table in tables.values():
            for _ in txn.cursor(table):
                pass
        if b"urls" in tables:
            _check_frontier(txn, tables)


def _check_frontier(txn: Any, tables: dict[bytes, Any]) -> None:
    waiting = 0
    for key, value in txn.cursor(tables[b"urls"]):
        key.index(b"\x00/")
        if value[:1] == b"Q":
            waiting += 1
            _ORDER.unpack(value[1:])
        elif value not in (b"D", b"F", b"R"):
            raise ValueError("a URL has no mark")
    for place, row in txn.cursor(tables[b"queue"]):
        _check_row(txn, tables, place[-_ORDER.size :], row)
    for place, row in txn.cursor(tables[b"taken"]):
        _check_row(txn, tables, place[-_ORDER.size :], row)
    for due, packed in txn.cursor(tables[b"later"]):
        _DUE.unpack(due)
        place, row = split(packed)
        _check_row(txn, tables, place[-_ORDER.size :], row)
    for sequence, packed in txn.cursor(tables[b"pool"]):
        _check_row(txn, tables, sequence, packed[_RANK.size :])
    rows = sum(txn.stat(tables[name])["entries"] for name in (b"queue", b"taken", b"later", b"pool"))
    if rows != waiting:
        raise ValueError(f"{waiting} URLs wait, but {rows} are queued")


def _check_row(txn: Any, tables: dict[bytes, Any], order: bytes, row: bytes) -> None:
    """A row that waits belongs to the URL whose mark names its place; in the pool, by the sequence number alone."""
    mark = txn.get(key_of(_decode(row).url), db=tables[b"urls"])
    if mark is None or mark[:1] != b"Q" or not mark.endswith(order):
        raise ValueError("a URL that waits is not where its mark says")


if __name__ == "__main__":
    try:
        check(Path(sys.argv[1]))
    except Exception as error:  # whatever it is, the file is damaged
        print(" ".join(f"{type(error).__name__}: {error}".split()))
        sys.exit(1)
