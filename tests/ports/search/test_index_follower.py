"""The follower: pages come, change and go; several gatherers; a kill between any two steps; the same index anew."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from gcs.core.search.query import parse
from gcs.core.search.results import Asked
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store
from gcs.ports.search.index_follower import COMMIT_S, IndexFollower
from gcs.ports.search.index_place import make_index, open_index
from tests.ports.records.pages import record


def add(store: Store, number: int, text: str = "red", **given: object) -> None:
    store.add_page(record(f"http://a.example/{number}", text=text, **given))
    store.flush()


def follower(directory: Path, engine: str, clock: "Clock | None" = None) -> IndexFollower:
    return IndexFollower([directory], directory, make_index(directory / "index", engine), clock or Clock())


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def bring(directory: Path, engine: str) -> int:
    """Index all there is; how many pages were indexed."""
    following = follower(directory, engine)
    while following.step(hurry=True):
        pass
    following.close()
    return following.indexed


def found(directory: Path, query: str) -> list[str]:
    engine = open_index(directory / "index")
    try:
        best = engine.search(Asked(parse(query), 1_000, fold=False)).best
        return sorted(each.page.url.rpartition("/")[2] for each in best)
    finally:
        engine.close()


def test_pages_are_indexed_once_and_go_on(engine: str, tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(log_records=4), "g0") as store:
        for number in range(10):
            add(store, number)
        assert bring(tmp_path, engine) == 10
        assert bring(tmp_path, engine) == 0
        add(store, 10)
        assert bring(tmp_path, engine) == 1
    assert len(found(tmp_path, "red")) == 11


def test_commit_waits_for_others_but_not_long(engine: str, tmp_path: Path) -> None:
    clock = Clock()
    following = follower(tmp_path, engine, clock)
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        add(store, 1)
        while following.step():
            pass
        assert following.indexed == 0
        clock.now += COMMIT_S
        following.step()
        assert following.indexed == 1
    following.close()


def test_what_the_last_session_found_is_what_is_found(engine: str, tmp_path: Path) -> None:
    """Whichever gatherer stored it, in whatever order the logs are read."""
    with Store.open(tmp_path, StoreSettings(), "g9") as first, Store.open(tmp_path, StoreSettings(), "g0") as second:
        for number in range(5):
            add(first, number)
        add(second, 0, "blue", session=2, change="changed")
        add(second, 1, "", session=2, status=404, failure="http-404", change="gone")
        add(second, 2, "", session=2, status=503, failure="http-503")
        add(second, 3, "", session=2, status=304, held_at_us=5, change="same")
        add(second, 4, "", session=2, noindex=True, change="changed")
    bring(tmp_path, engine)
    assert (found(tmp_path, "red"), found(tmp_path, "blue")) == (["2", "3"], ["0"])


def test_index_made_anew_is_the_same(engine: str, tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(log_records=3), "g0") as store:
        for number in range(8):
            add(store, number, f"red {'blue' if number % 2 else ''}")
            if number == 4:
                bring(tmp_path, engine)
    bring(tmp_path, engine)
    done = subprocess.run(
        [sys.executable, "-m", "gcs", "index", str(tmp_path), "--rebuild", "--engine", engine, "--json"],
        capture_output=True,
        check=True,
    )
    assert b'"indexed":8' in done.stdout
    assert (len(found(tmp_path, "red")), found(tmp_path, "blue")) == (8, ["1", "3", "5", "7"])
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".index")]


_KILLED = """
import os, sys
from pathlib import Path
from gcs.ports.search.index_follower import IndexFollower
from gcs.ports.search.index_place import make_index
import gcs.ports.search.index_follower as following
following.COMMIT_PAGES, following._READ = 3, 3
directory, engine = Path(sys.argv[1]), make_index(Path(sys.argv[1]) / "index", sys.argv[2])
made, write = IndexFollower([directory], directory, engine), engine.write
commits = 0
def count(*given):
    global commits
    print(commits, flush=True)
    write(*given)
    commits += 1
engine.write = count
while made.step():
    pass
print("all", flush=True)
sys.stdin.read()
"""


def test_kill_at_any_moment_loses_and_doubles_nothing(engine: str, tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        for number in range(40):
            add(store, number)
    for commits in (1, 2, 3):
        process = subprocess.Popen(
            [sys.executable, "-c", _KILLED, str(tmp_path), engine], stdout=subprocess.PIPE, stdin=subprocess.PIPE
        )
        assert process.stdout and process.stdin
        for _ in range(commits):  # it is killed while it commits, or a moment before or after
            if process.stdout.readline() == b"all\n":
                break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stdin.close()
    bring(tmp_path, engine)
    assert found(tmp_path, "red") == sorted(str(number) for number in range(40))
    again = open_index(tmp_path / "index")
    assert again.pages() == 40
    again.close()


def test_several_crawls_are_one_index(engine: str, tmp_path: Path) -> None:
    for name, number in (("one", 1), ("two", 2)):
        with Store.open(tmp_path / name, StoreSettings(), "g0") as store:
            add(store, number)
    directories = [tmp_path / "one", tmp_path / "two"]
    following = IndexFollower(directories, tmp_path, make_index(tmp_path / "index", engine))
    while following.step(hurry=True):
        pass
    following.close()
    assert found(tmp_path, "red") == ["1", "2"]
