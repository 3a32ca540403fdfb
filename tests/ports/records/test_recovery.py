"""kill -9, power cuts and damaged tails: afterwards log and WARC agree, nothing is lost and nothing is twice."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.reading import read_records
from gcs.ports.records.record_log import PAGE, SYNCED, Position, file_name, frames, log_numbers, page_of, pages
from gcs.ports.records.record_store import Store

from .checking import check, warc_places
from .pages import record, response
from .writer import SETTINGS, load, url_of

KILLS = 10


def test_store_killed_at_random_moments_loses_and_doubles_nothing(tmp_path: Path) -> None:
    rng = random.Random(20)
    stored = 0
    for kill in range(KILLS):
        command = [sys.executable, "-m", "records.writer", tmp_path, str(kill)]
        with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE) as writer:
            assert writer.stdout
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(rng.random() * 0.2)  # the moment of death is what is random here
            writer.send_signal(signal.SIGKILL)
        with Store.open(tmp_path, SETTINGS, "g1") as store:
            assert store.position >= load(tmp_path).position
            urls = [page.url for page in read_records(tmp_path)]
            assert urls == [url_of(number) for number in range(len(urls))]
            assert check(tmp_path) == len(urls) >= stored
            stored = len(urls)
    assert stored > KILLS
    with Store.open(tmp_path, SETTINGS, "g1") as store:
        store.finish()
    assert len(log_numbers(tmp_path / "state/g1/log")) == 1  # the others have become Parquet
    assert [page.url for page in read_records(tmp_path)] == urls
    assert check(tmp_path) == stored


@pytest.fixture(scope="module")
def flushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of twelve exchanges, the first four synced, the others only flushed; two WARC files."""
    directory = tmp_path_factory.mktemp("flushed")
    rng = random.Random(1)
    with Store.open(directory, StoreSettings(warc_bytes=20_000), "g1") as store:
        for number in range(10):
            store.add_page(record(url_of(number)), response(url_of(number), rng.randbytes(3_000)))
            if number == 3:
                store.sync()
            if number % 5 == 0:
                store.fetched(response("http://example.com/robots.txt", rng.randbytes(50)))
            store._warcs.flush()
            store._log.file.flush()
        store._warcs.close()
        store.add_page(record(url_of(10)), response(url_of(10), rng.randbytes(3_000)))
        store._warcs.flush()
        store._log.file.flush()
    assert check(directory) == 13
    return directory


@pytest.mark.parametrize("seed", range(25))
def test_open_after_a_power_cut_keeps_the_longest_whole_beginning(flushed: Path, tmp_path: Path, seed: int) -> None:
    """Unsynced bytes may be missing, or zero, in either file: whatever is left is cut to where both agree."""
    directory = tmp_path / "crawl"
    shutil.copytree(flushed, directory)
    rng = random.Random(seed)
    synced_log, synced_warc = _synced_ends(flushed)
    log = directory / "state/g1/log" / file_name(1)
    first, second = sorted((directory / "warc").iterdir())
    for path, floor in ((log, synced_log), (first, synced_warc), (second, 0)):
        damage = rng.choice(("none", "cut", "zeros", "gone" if path == second else "cut"))
        at = rng.randrange(floor, path.stat().st_size)
        if damage == "cut":
            _truncate(path, at)
        elif damage == "zeros":
            data = path.read_bytes()
            path.write_bytes(data[:at] + bytes(len(data) - at))
        elif damage == "gone":
            path.unlink()
    with Store.open(directory, StoreSettings(), "g1") as store:
        urls = [page.url for page in read_records(directory)]
        assert len(urls) >= 4  # what was synced
        assert urls == [url_of(number) for number in range(len(urls))]
        check(directory)
        store.add_page(record("http://example.com/after"), response("http://example.com/after", b"after"))
        store.sync()
    assert [page.url for page in read_records(directory)] == [*urls, "http://example.com/after"]
    check(directory)


def _synced_ends(directory: Path) -> tuple[int, int]:
    """Ends of the log and of the first WARC file at the sync."""
    log_end = warc_end = 0
    last = 0
    for frame in frames(directory / "state/g1/log" / file_name(1)):
        if frame.kind == PAGE:
            page = page_of(frame)
            last = page.warc_offset + page.warc_bytes
        elif frame.kind == SYNCED and last:
            log_end, warc_end = frame.end, last
    return log_end, warc_end


def _truncate(path: Path, size_bytes: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size_bytes)


def test_open_removes_a_warc_file_that_no_frame_names(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.add_page(record(), response())
        store._warcs.flush()  # killed between the WARC and the log
    assert len(list((tmp_path / "warc").iterdir())) == 1
    with Store.open(tmp_path, StoreSettings(), "g1"):
        pass
    assert not list((tmp_path / "warc").iterdir())


def test_open_leaves_warc_files_of_an_older_log_alone(tmp_path: Path) -> None:
    """Someone removed the state directory: the archive of that crawl is still an archive."""
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.add_page(record(), response())
        store.finish()
    shutil.rmtree(tmp_path / "state")
    for _ in range(2):
        with Store.open(tmp_path, StoreSettings(), "g1") as store:
            store.add_page(record(), response())
            store.sync()
    assert len(warc_places(tmp_path / "warc")) == 3
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.finish()
    assert sorted(path.name for path in (tmp_path / "summaries").iterdir()) == [
        "g1-000001.parquet",
        "g1-000002.parquet",
    ]


def test_open_takes_a_log_file_without_header_for_absent(tmp_path: Path) -> None:
    """Killed while the next log file was made: the one before it goes on."""
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.add_page(record(), response())
        store.sync()
    (tmp_path / "state/g1/log" / file_name(2)).write_bytes(b"\x30\0\0")
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.add_page(record("http://example.com/2"), response("http://example.com/2", b"2"))
        store.sync()
    assert log_numbers(tmp_path / "state/g1/log") == [1]
    assert len(list(pages(tmp_path / "state/g1/log" / file_name(1)))) == 2
    assert check(tmp_path) == 2


@pytest.fixture(scope="module")
def synced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Position]:
    """A store of thirty exchanges, synced after each ten, and the position of its last checkpoint."""
    directory = tmp_path_factory.mktemp("synced")
    with Store.open(directory, StoreSettings(), "g1") as store:
        for number in range(30):
            store.add_page(record(url_of(number)), response(url_of(number), b"%d" % number))
            if number % 10 == 9:
                known = store.sync()
    return directory, known


@pytest.mark.parametrize("seed", range(25))
def test_open_with_a_flipped_byte_in_the_log_loses_one_record_at_most(
    synced: tuple[Path, Position], tmp_path: Path, seed: int
) -> None:
    directory, known = tmp_path / "crawl", synced[1]
    shutil.copytree(synced[0], directory)
    log, rng = directory / "state/g1/log" / file_name(1), random.Random(seed)
    content = bytearray(log.read_bytes())
    before = {path.name: path.read_bytes() for path in (directory / "warc").iterdir()}
    content[rng.randrange(len(content))] ^= rng.randrange(1, 256)
    log.write_bytes(content)
    with Store.open(directory, StoreSettings(), "g1", known=known) as store:
        urls = [page.url for page in store.tail(Position())]
        assert len(urls) >= 29
        assert store.is_damaged or len(urls) == 30  # the last mark itself may be the damaged frame
        assert {path.name: path.read_bytes() for path in (directory / "warc").iterdir()} == before
        if store.is_damaged:
            assert (log.with_name("000001.log.cut")).read_bytes() == content
        store.add_page(record("http://example.com/after"), response("http://example.com/after", b"after"))
        known = store.sync()
    for _ in range(2):
        with Store.open(directory, StoreSettings(), "g1", known=known) as store:
            assert not store.is_damaged
            assert [page.url for page in store.tail(Position())] == [*urls, "http://example.com/after"]
            assert warc_places(directory / "warc")


@pytest.mark.parametrize("damage", ["cut", "emptied", "deleted"])
def test_open_with_a_log_that_ends_before_the_checkpoint_cuts_no_warc(
    synced: tuple[Path, Position], tmp_path: Path, damage: str
) -> None:
    directory, known = tmp_path / "crawl", synced[1]
    shutil.copytree(synced[0], directory)
    log = directory / "state/g1/log" / file_name(1)
    content = b"" if damage == "emptied" else log.read_bytes()[: log.stat().st_size // 2]
    log.write_bytes(content)
    if damage == "deleted":
        log.unlink()
    places = warc_places(directory / "warc")
    for _ in range(2):  # a second start must not cut either
        with Store.open(directory, StoreSettings(), "g1", known=known) as store:
            urls = [page.url for page in store.tail(Position())]
            known = store.position if store.is_damaged else known
        assert (10 < len(urls) < 20) if damage == "cut" else urls == []
        assert warc_places(directory / "warc") == places
