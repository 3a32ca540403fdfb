"""The frontier's file in memory: the part of LMDB that the frontier calls, on a simulated disk.

`MemoryDisk` stands for `lmdb_file`: what it has committed outlives the process that wrote it, what it has not goes with
the process. A commit is whole or not there, as in LMDB, whose last page names the newest whole tree. The contract suite
(`test_memory_tables`) makes the same calls of LMDB.

Invariant: the same calls give the same answers as LMDB does.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lmdb

from gcs.errors import DamagedError, InUseError

_MISSING = None


class Table:
    """Rows in the order of their keys."""

    __slots__ = ("keys", "rows")

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.keys: list[bytes] = []

    def set(self, key: bytes, value: bytes | None) -> None:
        """Write a row, or remove it."""
        if value is None:
            if self.rows.pop(key, None) is not None:
                del self.keys[bisect_left(self.keys, key)]
            return
        if key not in self.rows:
            insort(self.keys, key)
        self.rows[key] = value


class Tables:
    """One file: its tables by name, and what is not committed yet."""

    def __init__(self) -> None:
        self.tables: dict[bytes, Table] = {}
        #: rows as they were before each change since the last commit
        self.journal: list[tuple[Table, bytes, bytes | None]] = []
        self.is_damaged = False

    def roll_back(self) -> None:
        while self.journal:
            table, key, value = self.journal.pop()
            table.set(key, value)


class MemoryEnvironment:
    """As `lmdb.Environment`, of one process."""

    def __init__(self, tables: Tables, has_room: Callable[[], bool]) -> None:
        self._tables: Tables | None = tables
        self._has_room = has_room

    def open_db(self, name: bytes) -> Table:
        assert self._tables is not None
        if name not in self._tables.tables:
            self.check_room()
        return self._tables.tables.setdefault(name, Table())

    def begin(self, write: bool = False) -> "MemoryTransaction":
        assert self._tables is not None
        return MemoryTransaction(self, self._tables)

    def check_room(self) -> None:
        if not self._has_room():
            raise lmdb.DiskError("simulated: No space left on device")

    def close(self) -> None:
        """What is not committed is lost."""
        tables, self._tables = self._tables, None
        if tables is not None:
            tables.roll_back()


class MemoryTransaction:
    """As `lmdb.Transaction`, of which there is one at a time."""

    def __init__(self, environment: MemoryEnvironment, tables: Tables) -> None:
        self._environment, self._tables = environment, tables

    def get(self, key: bytes, default: bytes | None = None, *, db: Table) -> bytes | None:
        return db.rows.get(key, default)

    def put(self, key: bytes, value: bytes, *, overwrite: bool = True, db: Table) -> bool:
        if not key:
            raise lmdb.BadValsizeError("simulated: no key")
        before = db.rows.get(key)
        if before is not None and not overwrite:
            return False
        self._tables.journal.append((db, bytes(key), before))
        db.set(bytes(key), bytes(value))
        return True

    def pop(self, key: bytes, *, db: Table) -> bytes | None:
        before = db.rows.get(key)
        if before is not None:
            self._tables.journal.append((db, bytes(key), before))
            db.set(bytes(key), None)
        return before

    def delete(self, key: bytes, *, db: Table) -> bool:
        return self.pop(key, db=db) is not None

    def drop(self, db: Table, delete: bool = True) -> None:
        assert not delete
        self._tables.journal += [(db, key, value) for key, value in db.rows.items()]
        db.rows.clear()
        db.keys.clear()

    def cursor(self, db: Table) -> "MemoryCursor":
        return MemoryCursor(self, db)

    def stat(self, db: Table) -> dict[str, int]:
        return {"entries": len(db.rows)}

    def commit(self) -> None:
        try:
            self._environment.check_room()
        except lmdb.Error:
            self._tables.roll_back()
            raise
        self._tables.journal.clear()

    def abort(self) -> None:
        self._tables.roll_back()


class MemoryCursor:
    """As `lmdb.Cursor`: stands at a row, or nowhere."""

    def __init__(self, txn: MemoryTransaction, table: Table) -> None:
        self._txn, self._table = txn, table
        self._key = b""

    def __enter__(self) -> "MemoryCursor":
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def _stand(self, at: int) -> bool:
        keys = self._table.keys
        self._key = keys[at] if 0 <= at < len(keys) else b""
        return bool(self._key)

    def first(self) -> bool:
        return self._stand(0)

    def last(self) -> bool:
        return self._stand(len(self._table.keys) - 1)

    def set_range(self, key: bytes) -> bool:
        return self._stand(bisect_left(self._table.keys, key))

    def next(self) -> bool:
        return self._stand(bisect_right(self._table.keys, self._key)) if self._key else self.first()

    def key(self) -> bytes:
        return self._key

    def value(self) -> bytes:
        return self._table.rows.get(self._key, b"")

    def delete(self) -> bool:
        key = self._key
        if not key or not self._txn.delete(key, db=self._table):
            return False
        self.set_range(key)
        return True

    def iternext(self, keys: bool = True, values: bool = True) -> Iterator[Any]:
        ok = bool(self._key) or self.first()
        while ok:
            key = self._key
            yield (key, self.value()) if keys and values else key if keys else self.value()
            ok = self.next()

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self.iternext()


class _Lock:
    """Holds a directory until it is closed, or the process ends that has it."""

    def __init__(self, held: "dict[Path, _Lock]", directory: Path, owner: object) -> None:
        self._held, self._directory, self.owner = held, directory, owner
        held[directory] = self

    def close(self) -> None:
        if self._held.get(self._directory) is self:
            del self._held[self._directory]

    def __del__(self) -> None:
        self.close()  # as a file that nobody refers to any more


class _NoTrim:
    """There is no map of a file that takes memory."""

    def __init__(self, *_of: object) -> None: ...

    def touch(self, lookups: int) -> None: ...

    def release(self) -> None: ...


class MemoryDisk:
    """Takes the place of the functions of `lmdb_file`. `has_room`: whether the disk takes writes; `owner`: who asks."""

    def __init__(self, has_room: Callable[[], bool] = lambda: True, owner: Callable[[], object] = lambda: None) -> None:
        self._has_room, self._owner = has_room, owner
        self._files: dict[Path, Tables] = {}
        self._held: dict[Path, _Lock] = {}

    def functions(self) -> dict[str, object]:
        """What the frontier calls, by the name under which it has imported it."""
        return {
            "lock": self.lock,
            "open_environment": self.open_environment,
            "close_environment": lambda environment, _directory: environment.close(),
            "discard": self.discard,
            "MmapTrim": _NoTrim,
        }

    def lock(self, directory: Path) -> _Lock:
        if directory in self._held:
            raise InUseError(f"{directory}: another crawl is running here")
        directory.mkdir(parents=True, exist_ok=True)  # others ask whether it is there
        return _Lock(self._held, directory, self._owner())

    def release(self, owner: object) -> None:
        """A process has ended: what it held is free, and what it had not committed is lost."""
        for directory, lock in list(self._held.items()):
            if lock.owner is owner:
                lock.close()
                self._files.get(directory, Tables()).roll_back()

    def open_environment(self, directory: Path, _fsync: bool) -> MemoryEnvironment:
        tables = self._files.setdefault(directory, Tables())
        if tables.is_damaged:
            raise DamagedError(f"{directory} is damaged: simulated")
        return MemoryEnvironment(tables, self._has_room)

    def discard(self, directory: Path) -> Path:
        if self._files.pop(directory, None) is None:
            return directory / "data.mdb"
        kept = directory / "data.mdb.cut"
        kept.touch()
        return kept

    def damage(self, directory: Path) -> bool:
        """The file changes behind the back of its owner; False if there is none, or it is open."""
        if directory not in self._files or directory in self._held:
            return False
        self._files[directory].is_damaged = True
        return True

    def lose(self, directory: Path) -> None:
        """All files below a directory are gone."""
        self._files = {path: file for path, file in self._files.items() if not path.is_relative_to(directory)}
