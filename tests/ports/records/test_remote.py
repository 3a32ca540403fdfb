"""Finished files move to a URL: fsspec's memory file system, one that fails at times, and an S3 server on loopback."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from gcs.errors import StoreError, UsageError
from gcs.ports.records import finished_files
from gcs.ports.records.finished_files import Remote
from gcs.ports.records.layout import SUMMARIES, WARC, StoreSettings
from gcs.ports.records.reading import read_records, warc_files
from gcs.ports.records.record_log import Position
from gcs.ports.records.record_store import Store
from gcs.ports.records.warc import members
from tests.s3_server import s3_bucket

from .pages import record, response


class Flaky(MemoryFileSystem):
    """Fails or cuts short as often as `failures` says, then works."""

    protocol = "flaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    failures: ClassVar[list[str]] = []
    answers: ClassVar[threading.Event] = threading.Event()

    def put_file(self, lpath: str, rpath: str, *args: Any, **kwargs: Any) -> None:
        failure = self.failures.pop(0) if self.failures else ""
        if failure == "hangs":
            self.answers.wait(60)
        if failure in ("error", "hangs"):
            raise ConnectionError("the network is down")
        super().put_file(lpath, rpath, *args, **kwargs)
        if failure == "short":
            self.pipe_file(rpath, self.cat_file(rpath)[:-1])


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    fsspec.register_implementation("flaky", Flaky, clobber=True)
    monkeypatch.setattr(finished_files, "_PAUSES_S", (0.0, 0.0))
    for filesystem in (MemoryFileSystem, Flaky):
        filesystem.store.clear()
    Flaky.failures.clear()
    yield


def fill(
    directory: Path, url: str, first: int = 0, last: int = 10, *, finish: bool = True, within_s: float | None = None
) -> list[str]:
    with Store.open(directory, StoreSettings(url=url, warc_bytes=2_000, log_records=4), "g1") as store:
        for number in range(first, last):
            page = f"http://example.com/{number}"
            store.add_page(record(page), response(page, b"page %d" % number))
            store.sync()
        if finish:
            store.finish(within_s)
    return [f"http://example.com/{number}" for number in range(last)]


def urls(place: str | Path) -> list[str]:
    return [page.url for page in read_records(place)]


def spool(directory: Path) -> list[Path]:
    return [path for path in (directory / "state/g1/spool").rglob("*") if path.is_file()]


def assert_all_there(directory: Path, url: str, expected: list[str]) -> None:
    """Every file arrived whole, none stayed behind."""
    assert urls(url) == urls(directory) == expected
    assert [name for name, _ in warc_files(url)] == [name for name, _ in warc_files(directory)]
    responses = [
        member.head for _, file in warc_files(url) for member in members(file) if b"WARC-Type: response" in member.head
    ]
    assert len(responses) == len(expected)
    assert spool(directory) == []


def test_finished_files_move_to_the_url(tmp_path: Path) -> None:
    expected = fill(tmp_path, "memory://bucket/crawl")
    assert_all_there(tmp_path, "memory://bucket/crawl", expected)
    assert not (tmp_path / "warc").exists()
    assert len(Remote("memory://bucket/crawl").names(WARC)) > 1


def test_growing_files_stay_local_until_they_are_finished(tmp_path: Path) -> None:
    expected = fill(tmp_path, "memory://b", 0, 6, finish=False)
    assert len(urls("memory://b")) < 6
    assert urls(tmp_path) == expected  # the directory knows where the rest is
    expected = fill(tmp_path, "memory://b", 6, 10)
    assert_all_there(tmp_path, "memory://b", expected)


def test_tail_reads_what_has_moved(tmp_path: Path) -> None:
    expected = fill(tmp_path, "memory://b")
    with Store.open(tmp_path, StoreSettings(url="memory://b"), "g1") as store:
        assert [page.url for page in store.tail(Position(2, 1))] == expected[5:]


def test_upload_is_repeated_until_it_is_whole(tmp_path: Path) -> None:
    Flaky.failures += ["error", "short", "", "short"]
    expected = fill(tmp_path, "flaky://b")
    assert Flaky.failures == []
    assert_all_there(tmp_path, "flaky://b", expected)


def test_crawl_goes_on_without_the_remote_and_the_next_open_uploads(tmp_path: Path) -> None:
    Flaky.failures += ["error"] * 1_000
    with pytest.raises(StoreError, match=r"cannot upload .* to flaky://b/.*: the network is down"):
        fill(tmp_path, "flaky://b")
    assert len(spool(tmp_path)) > 3
    assert len(urls(tmp_path)) == 10  # nothing is lost, it is all here
    assert urls("flaky://b") == []
    Flaky.failures.clear()
    expected = fill(tmp_path, "flaky://b", 10, 10)
    assert_all_there(tmp_path, "flaky://b", expected)


def test_store_that_never_answers_holds_no_end_that_has_to_come(tmp_path: Path) -> None:
    """As when Redis, the store and the gatherers of a deployment are deleted at once."""
    answers = threading.Event()
    Flaky.failures += ["hangs"] * 1_000
    Flaky.answers = answers
    try:
        fill(tmp_path, "flaky://b", within_s=0.3)
        assert len(urls(tmp_path)) == 10 and urls("flaky://b") == []
    finally:
        Flaky.failures.clear()
        answers.set()
    expected = fill(tmp_path, "flaky://b", 10, 11)
    assert_all_there(tmp_path, "flaky://b", expected)


def test_new_state_does_not_overwrite_older_summaries(tmp_path: Path) -> None:
    fill(tmp_path / "first", "memory://b", 0, 3)
    fill(tmp_path / "second", "memory://b", 3, 6)
    assert urls("memory://b") == [f"http://example.com/{number}" for number in range(6)]
    assert Remote("memory://b").names(SUMMARIES) == ["g1-000001.parquet", "g1-000002.parquet"]


@pytest.mark.parametrize("url", ["nonsense://bucket", "sftp2://x"])
def test_unknown_protocol_is_a_usage_error(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError, match="cannot use"):
        Store.open(tmp_path, StoreSettings(url=url), "g1")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a crawl on an S3 server."""
    with s3_bucket(monkeypatch) as bucket:
        yield f"{bucket}/news"


def test_finished_files_move_to_s3(s3: str, tmp_path: Path) -> None:
    expected = fill(tmp_path, s3)
    assert_all_there(tmp_path, s3, expected)
    assert os.environ["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")
