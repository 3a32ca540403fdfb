"""The frontier's file in memory answers as LMDB does: one contract, two implementations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.queued_url import QueuedUrl
from gcs.errors import DamagedError, DiskFullError, InUseError
from gcs.ports.frontier import frontier as frontier_module
from gcs.ports.frontier import lmdb_file
from gcs.ports.frontier.frontier import Frontier, FrontierSettings
from gcs.ports.frontier.url_rows import Mark
from tests.simulation.memory_tables import MemoryDisk

KEYS = st.binary(min_size=1, max_size=2)
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.binary(max_size=3), st.booleans()),
        st.tuples(st.sampled_from(["get", "pop", "delete", "scan", "sweep", "retreat"]), KEYS),
        st.tuples(st.sampled_from(["drop", "last", "all", "stat", "commit", "abort", "again"])),
    ),
    max_size=40,
)


def answers(open_it: Callable[[], Any], calls: list[tuple[Any, ...]]) -> list[object]:
    """What a file says to calls, one after the other."""
    environment = open_it()
    table, other = environment.open_db(b"a"), environment.open_db(b"b")
    txn, said = environment.begin(write=True), list[object]()
    for name, *args in calls:
        match name:
            case "put":
                said.append(txn.put(args[0], args[1], overwrite=args[2], db=table))
            case "get":
                said.append(txn.get(args[0], db=table))
            case "pop" | "delete":
                said.append(getattr(txn, name)(args[0], db=table))
            case "scan":
                with txn.cursor(table) as cursor:
                    ok = cursor.set_range(args[0])
                    while ok:
                        said.append((bytes(cursor.key()), bytes(cursor.value())))
                        ok = cursor.next()
                    said.append(bytes(cursor.key()))
            case "sweep":  # as ranges and retries are taken out
                with txn.cursor(table) as cursor:
                    ok = cursor.set_range(args[0])
                    while ok:
                        txn.put(bytes(cursor.key()), bytes(cursor.value()), db=other)
                        ok = cursor.delete() and bool(cursor.key())
                said.append([(bytes(key), bytes(value)) for key, value in txn.cursor(other)])
            case "retreat":
                with txn.cursor(table) as cursor:
                    if cursor.set_range(args[0]):
                        said.append([bytes(key) for key in cursor.iternext(keys=True, values=False)])
            case "drop":
                txn.drop(table, delete=False)
            case "last":
                with txn.cursor(table) as cursor:
                    said.append((cursor.last(), bytes(cursor.key())))
            case "all":
                said.append([(bytes(key), bytes(value)) for key, value in txn.cursor(table)])
            case "stat":
                said.append(txn.stat(table)["entries"])
            case "commit" | "abort":
                getattr(txn, name)()
                txn = environment.begin(write=True)
            case "again":  # the process dies, and the file is opened again
                txn.abort()
                environment.close()
                environment = open_it()
                table, other = environment.open_db(b"a"), environment.open_db(b"b")
                txn = environment.begin(write=True)
    txn.abort()
    environment.close()
    return said


@given(calls=CALLS)
def test_memory_answers_as_lmdb_does(calls: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, disk = tmp_path_factory.mktemp("lmdb"), MemoryDisk()
    real = answers(lambda: lmdb.open(str(folder), map_size=1 << 24, max_dbs=4, sync=False), calls)
    assert answers(lambda: disk.open_environment(folder, True), calls) == real


@pytest.fixture(params=["lmdb", "memory"])
def damage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """The frontier's file is one of the two; how to damage it while nobody has it open."""

    def damage_file(directory: Path) -> None:
        data = directory / "data.mdb"
        data.write_bytes(data.read_bytes()[:-9] + b"something")

    if request.param == "lmdb":
        return damage_file
    disk = MemoryDisk()
    for name, function in disk.functions().items():
        monkeypatch.setattr(frontier_module, name, function)
    return lambda directory: disk.damage(directory) or pytest.fail("it is not there, or open")


def test_frontier_keeps_what_is_committed_and_holds_its_directory(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """The same calls of the frontier on both files: committed rows stay, others go, one holds the directory."""
    frontier = Frontier(tmp_path / "f", FrontierSettings(fsync=False))
    frontier.insert([QueuedUrl("https://a.example/1"), QueuedUrl("https://b.example/1")])
    frontier.commit()
    frontier.insert([QueuedUrl("https://c.example/1")])
    with pytest.raises(InUseError):
        Frontier(tmp_path / "f", FrontierSettings(fsync=False))
    taken = frontier.take("a.example", 1)
    frontier.close()
    frontier = Frontier(tmp_path / "f", FrontierSettings(fsync=False))
    assert frontier.known() == frontier.queued() == 2 and frontier.take("a.example", 1) == taken
    frontier.finish("https://a.example/1", Mark.DONE)
    frontier.commit()
    assert frontier.mark("https://a.example/1") is Mark.DONE and not frontier.had_another
    frontier.close()
    damage(tmp_path / "f")
    frontier = Frontier(tmp_path / "f", FrontierSettings(fsync=False))
    assert frontier.known() == 0 and frontier.had_another
    frontier.close()


def test_full_disk_takes_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What LMDB does on a full disk is shown in the tests of the frontier; memory says the same."""
    room = [True]
    disk = MemoryDisk(lambda: room[0])
    for name, function in disk.functions().items():
        monkeypatch.setattr(frontier_module, name, function)
    frontier = Frontier(tmp_path / "f", FrontierSettings())
    frontier.insert([QueuedUrl("https://a.example/1")])
    room[0] = False
    with pytest.raises(DiskFullError):
        frontier.commit()
    assert frontier.known() == 0
    assert lmdb_file.store_error(tmp_path, lmdb.DiskError("full")).args
    with pytest.raises(DiskFullError) as caught:
        Frontier(tmp_path / "g", FrontierSettings())
    room[0] = True
    Frontier(tmp_path / "g", FrontierSettings()).close()  # though the error is still there, nobody holds the directory
    assert caught.value.args
    frontier.close()


def test_damaged_memory_is_refused(tmp_path: Path) -> None:
    disk = MemoryDisk()
    disk.open_environment(tmp_path, True).close()
    assert disk.damage(tmp_path)
    with pytest.raises(DamagedError):
        disk.open_environment(tmp_path, True)
