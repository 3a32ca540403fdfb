"""What a crawl has stored: all records, distinct pages of a session, and the latest record of each page."""

from pathlib import Path
from typing import Any

import pytest

from gcs.errors import UsageError
from gcs.ports.records import reading
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.reading import distinct, latest
from gcs.ports.records.record_store import Store

from .pages import record, response
from .storing import store

DEFAULT = StoreSettings()


def store_pages(directory: Path, gatherer: str, count: int, settings: StoreSettings = DEFAULT) -> list[str]:
    urls = [f"http://{gatherer}.example.com/{number}" for number in range(count)]
    with Store.open(directory, settings, gatherer) as store:
        for url in urls:
            store.add_page(record(url, depth=3), response(url, url.encode()))
            store.sync()
    return urls


def test_reading_joins_parquet_and_logs_of_all_gatherers(tmp_path: Path) -> None:
    urls = store_pages(tmp_path, "a", 7, StoreSettings(log_records=3)) + store_pages(tmp_path, "b", 2)
    with Store.open(tmp_path, StoreSettings(log_records=3), "a") as store:
        store.flush()  # hands in the closed logs
    assert [page.url for page in reading.read_records(tmp_path)] == urls
    assert list(reading.rows(tmp_path, ["url", "depth"])) == [(url, 3) for url in urls]
    assert list(reading.rows(str(tmp_path), ["url"])) == [(url,) for url in urls]


def test_reading_takes_a_page_once_where_log_and_parquet_are_both_there(tmp_path: Path) -> None:
    """Killed between the rename of the Parquet file and the removal of the log."""
    urls = store_pages(tmp_path, "a", 2, StoreSettings(log_records=2, keep_logs=True))
    with Store.open(tmp_path, StoreSettings(keep_logs=True), "a") as store:
        store.finish()
    (tmp_path / "state/a/log/000001.kept").rename(tmp_path / "state/a/log/000001.log")
    assert [page.url for page in reading.read_records(tmp_path)] == urls


def test_reading_follows_a_log_that_becomes_parquet_meanwhile(tmp_path: Path) -> None:
    urls = store_pages(tmp_path, "a", 3) + store_pages(tmp_path, "b", 3)
    records = reading.read_records(tmp_path)
    first = next(records)  # the file is found, as a log
    with Store.open(tmp_path, StoreSettings(), "b") as store:
        store.finish()
    with Store.open(tmp_path, StoreSettings(), "a") as store:
        store.finish()
    assert [page.url for page in (first, *records)] == urls


def test_reading_sees_the_warc_files_of_all_gatherers(tmp_path: Path) -> None:
    store_pages(tmp_path, "a", 1)
    store_pages(tmp_path, "b", 1)
    assert [name[:6] for name, _ in reading.warc_files(tmp_path)] == ["gcs-a-", "gcs-b-"]


@pytest.mark.parametrize("make", [False, True])
def test_reading_what_is_no_crawl_is_a_usage_error(tmp_path: Path, make: bool) -> None:
    place = tmp_path / "place"
    if make:
        place.mkdir()
    with pytest.raises(UsageError, match="holds no crawl" if make else "no directory"):
        list(reading.read_records(place))
    with pytest.raises(UsageError):
        list(reading.warc_files(place))


A, B, C, GONE, DOWN, LATE = (f"http://example.com/{name}" for name in ("a", "b", "c", "gone", "down", "late"))


@pytest.mark.parametrize("most", [1, 3, 8, 1_000])
def test_latest_is_the_record_that_tells_what_a_page_holds(tmp_path: Path, most: int) -> None:
    """Whoever stored it: not a 304, nor an answer that tells nothing; and no page that is gone or leads elsewhere."""
    pages = [{"url": url, "title": "first", "session": 1} for url in (A, B, C, GONE, DOWN, LATE)]
    store(
        tmp_path,
        "g1",
        *pages,
        {"url": A, "session": 2, "status": 304, "held_at_us": 5},
        {"url": GONE, "session": 2, "status": 404, "failure": "http-404"},
        {"url": DOWN, "session": 2, "status": 503, "failure": "http-503", "held_at_us": 5},
        {"url": LATE, "session": 2, "status": 0, "failure": "timeout", "held_at_us": 5},
        {"url": DOWN, "session": 6, "status": 503, "failure": "http-503"},  # after three such sessions, found anew
        {"url": LATE, "session": 6, "status": 0, "failure": "timeout"},
        {"url": B, "title": "third", "session": 3},
    )
    store(
        tmp_path,
        "g0",
        {"url": B, "title": "second", "session": 2},
        {"url": C, "session": 2, "status": 301},
        {"url": f"{A}/new", "title": "second", "session": 2},
        {"url": f"{A}/new", "title": "again", "session": 2},
        {"url": f"{A}/map", "title": "a list", "session": 2, "source": True},
    )
    found = list(latest(tmp_path, ("url", "title"), most))
    assert sorted(found) == [(A, "first"), (f"{A}/new", "second"), (B, "third"), (DOWN, "first"), (LATE, "first")]


@pytest.mark.parametrize(("most", "few"), [(1, 9), (2, 9), (100, 9), (100, 0)])
def test_distinct_counts_pages_over_all_gatherers_in_one_pass_or_in_many(
    tmp_path: Path, most: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gcs.ports.records.reading._FEW", few)
    by_gatherer: dict[str, Any] = {
        "g0": [{"url": A}, {"url": B}, {"url": A, "session": 2}, {"url": B, "session": 2, "status": 304}],
        "g1": [
            {"url": A, "session": 2},
            {"url": B, "session": 2},
            {"url": C, "session": 2, "status": 404, "failure": "http-404"},
            {"url": C, "session": 2, "source": True},
        ],
    }
    for gatherer, records in by_gatherer.items():
        with Store.open(tmp_path, StoreSettings(log_records=3), gatherer) as store:
            for changes in records:
                store.add_page(record(**{"session": 1, "gatherer": gatherer} | changes))
            store.sync()
    found = distinct(tmp_path, 2, 3, most)
    assert (found.unique, found.stored) == (2, {"g0": 1, "g1": 2})
    found = distinct(tmp_path, 1, 2, most)
    assert (found.unique, found.stored) == (2, {"g0": 2})
