"""The follower reads what is stored, while it is stored, from any position, whatever has become of the log files."""

from pathlib import Path

import pytest

from gcs.ports.records import follower as records_follower
from gcs.ports.records.follower import Cursor, RecordFollower, SessionReader
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_log import BEGINNING, Position, file_name
from gcs.ports.records.record_store import Store

from .pages import record


def urls(follower: RecordFollower, most: int = 1_000) -> list[str]:
    return [stored.record.url for stored in follower.read(most)]


def add(store: Store, *numbers: int) -> None:
    for number in numbers:
        store.add_page(record(f"http://a.example/{number}"))


def named(*numbers: int) -> list[str]:
    return [f"http://a.example/{number}" for number in numbers]


def test_follower_reads_records_once_they_are_flushed(tmp_path: Path) -> None:
    follower = RecordFollower(tmp_path, "g0")
    assert urls(follower) == []
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        add(store, 1, 2)
        assert urls(follower) == []
        store.flush()
        assert urls(follower) == named(1, 2)
        add(store, 3)
        store.flush()
        assert urls(follower) == named(3) and urls(follower) == []
    follower.close()


@pytest.mark.parametrize("summaries", [True, False])
def test_follower_goes_on_from_any_position_through_logs_and_parquet(tmp_path: Path, summaries: bool) -> None:
    settings = StoreSettings(log_records=3, summaries=summaries)
    positions = [BEGINNING]
    with Store.open(tmp_path, settings, "g0") as store:
        for number in range(8):
            add(store, number)
            store.flush()
            positions.append(Position(number // 3 + 1, number % 3 + 1))
        store.finish()
    assert (tmp_path / "state/g0/log" / file_name(1)).exists() is not summaries
    for start, position in enumerate(positions):
        for most in (1, 2, 100):
            follower = RecordFollower(tmp_path, "g0", position)
            found = []
            while some := follower.read(most):
                assert len(some) <= most
                found += some
            follower.close()
            assert [stored.record.url for stored in found] == named(*range(start, 8))
            assert [stored.position for stored in found] == positions[start + 1 :]


def test_followers_read_a_few_large_records_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a site whose pages have millions of characters in their links takes the memory of whoever follows."""
    monkeypatch.setattr(records_follower, "MOST_CHARS", 1_000)
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        for number in range(6):
            store.add_page(record(f"http://a.example/{number}", text="", outlinks=["x" * 400]))
        store.flush()
    follower, reader = RecordFollower(tmp_path, "g0"), SessionReader([tmp_path], {}, tmp_path)
    assert [len(follower.read(100)) for _ in range(3)] == [3, 3, 0]
    assert [len(reader.read(100)) for _ in range(3)] == [3, 3, 0]
    follower.close()
    reader.close()


def test_follower_waits_at_a_torn_frame(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        add(store, 1, 2)
        store.flush()
    log = tmp_path / "state/g0/log" / file_name(1)
    whole = log.read_bytes()
    log.write_bytes(whole[:-5])
    follower = RecordFollower(tmp_path, "g0")
    assert urls(follower) == named(1)
    log.write_bytes(whole)
    assert urls(follower) == named(2)
    follower.close()


def test_cursor_keeps_its_position(tmp_path: Path) -> None:
    file = tmp_path / "state" / "delivered"
    cursor = Cursor(file)
    assert cursor.position == BEGINNING
    cursor.keep(Position(3, 7))
    cursor.keep(Position(4, 1))
    cursor.close()
    cursor.close()
    again = Cursor(file)
    assert again.position == Position(4, 1)
    again.close()
