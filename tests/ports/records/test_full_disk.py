"""A disk that fills up, a directory that cannot be written: one clear line, and what was stored stays valid."""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcs.errors import StoreError
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.reading import read_records
from gcs.ports.records.record_store import Store

from .checking import check, warc_places
from .pages import record, response
from .test_append_file import file_size_limit

DISK_BYTES = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, 1 MB large."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small tmpfs")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", disk], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.parametrize("settings", [StoreSettings(), StoreSettings(log_records=20)], ids=["one log", "many logs"])
def test_full_disk_leaves_a_valid_store_that_goes_on_when_there_is_room(
    small_disk: Path, settings: StoreSettings
) -> None:
    reserve = small_disk / "reserve"
    reserve.write_bytes(bytes(200_000))
    promised = _fill(small_disk, settings)
    assert promised > 10
    assert len(warc_places(small_disk / "warc")) >= promised  # whole records only, before any repair
    reserve.unlink()
    with Store.open(small_disk, settings, "g1") as store:
        kept = [page.url for page in read_records(small_disk)]
        assert kept == [f"http://example.com/{number}" for number in range(len(kept))]
        assert len(kept) >= promised
        assert check(small_disk) == len(kept)
        store.add_page(record("http://example.com/after"), response("http://example.com/after", b"after"))
        store.finish()
    assert check(small_disk) == len(kept) + 1


def _fill(directory: Path, settings: StoreSettings) -> int:
    rng, promised = random.Random(7), 0
    with Store.open(directory, settings, "g1") as store:
        try:
            for number in range(1_000):
                url = f"http://example.com/{number}"
                store.add_page(record(url), response(url, rng.randbytes(rng.randrange(20_000))))
                if number % 3 == 0:
                    store.sync()
                    promised = number + 1
        except StoreError as error:
            assert str(error).startswith("cannot ")
            assert str(error).endswith("No space left on device")
            return promised
    raise AssertionError("the disk never filled up")


def test_read_only_directory_is_one_clear_line(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(StoreError, match=r"cannot make .*: Read-only file system"):
        Store.open(small_disk, StoreSettings(), "g1")


def test_directory_that_is_a_file_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "crawl").write_text("")
    with pytest.raises(StoreError, match=r"cannot make .*crawl.*: Not a directory"):
        Store.open(tmp_path / "crawl", StoreSettings(), "g1")


def test_log_is_not_written_when_the_warc_cannot_be(tmp_path: Path) -> None:
    body = random.Random(3).randbytes(50_000)
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.add_page(record(), response(body=b"first"))
        store.flush()
        store.add_page(record("http://example.com/2"), response("http://example.com/2", body))
        with file_size_limit(20_000), pytest.raises(StoreError, match=r"warc\.gz: File too large"):
            store.flush()
        assert check(tmp_path) == 1
        store.sync()  # room again: the page was only waiting
        assert check(tmp_path) == 2


def test_warc_is_ahead_of_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.add_page(record(text="x" * 50_000), response(body=b"first"))
        with file_size_limit(20_000), pytest.raises(StoreError, match=r"000001\.log: File too large"):
            store.flush()
        assert len(warc_places(tmp_path / "warc")) == 1
    with Store.open(tmp_path, StoreSettings(), "g1"):
        assert check(tmp_path) == 0
