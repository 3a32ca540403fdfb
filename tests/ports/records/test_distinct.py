from pathlib import Path

import pytest

from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.reading import distinct
from gcs.ports.records.record_store import Store

from .pages import record

A, B, C = (f"http://example.com/{name}" for name in "abc")


@pytest.mark.parametrize(("most", "few"), [(1, 9), (2, 9), (100, 9), (100, 0)])
def test_distinct_counts_pages_over_all_gatherers_in_one_pass_or_in_many(
    tmp_path: Path, most: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gcs.ports.records.reading._FEW", few)
    by_gatherer = {
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
                store.page(record(**{"session": 1, "gatherer": gatherer} | changes))
            store.sync()
    found = distinct(tmp_path, 2, 3, most)
    assert (found.unique, found.stored) == (2, {"g0": 1, "g1": 2})
    found = distinct(tmp_path, 1, 2, most)
    assert (found.unique, found.stored) == (2, {"g0": 2})
