from pathlib import Path

import pytest

from gcs.errors import UsageError
from gcs.ports.records import reading
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store

from .pages import record, response

DEFAULT = StoreSettings()


def store_pages(directory: Path, gatherer: str, count: int, settings: StoreSettings = DEFAULT) -> list[str]:
    urls = [f"http://{gatherer}.example.com/{number}" for number in range(count)]
    with Store.open(directory, settings, gatherer) as store:
        for url in urls:
            store.page(record(url, depth=3), response(url, url.encode()))
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
