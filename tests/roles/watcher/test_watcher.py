"""The watcher follows what a crawl stores: each page once, for the profiles of the moment, through kills."""

from pathlib import Path

import pytest

from gcs.core.watch.profile import Profile
from gcs.ports.records.follower import log_ends
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store
from gcs.ports.watch.watch_store import WatchStore
from gcs.roles.watcher.watcher import Watcher
from tests.ports.records.pages import record


def add(store: Store, number: int, text: str = "red", **given: object) -> None:
    store.add_page(record(f"http://a.example/{number}", **{"text": text, "change": "new", **given}))
    store.flush()


def drain(directory: Path, watch: WatchStore) -> int:
    watcher = Watcher(directory, watch)
    while watcher.step():
        pass
    watcher.close()
    return watcher.found


def found(watch: WatchStore, profile: str = "news") -> list[str]:
    return [f"{each.match.event} {each.match.url[-1]}" for each in watch.matches(profile)]


def test_each_page_is_matched_once_in_the_order_it_was_stored(tmp_path: Path) -> None:
    with WatchStore(tmp_path) as watch, Store.open(tmp_path, StoreSettings(log_records=3), "g0") as store:
        watch.add(Profile("news", "red"))
        for number in range(6):
            add(store, number, "red" if number % 2 else "blue")
        assert (drain(tmp_path, watch), found(watch)) == (3, ["new 1", "new 3", "new 5"])
        assert drain(tmp_path, watch) == 0
        add(store, 7)
        assert (drain(tmp_path, watch), found(watch)[-1]) == (1, "new 7")


def test_profile_added_while_it_runs_is_taken_up(tmp_path: Path) -> None:
    with WatchStore(tmp_path) as watch, Store.open(tmp_path, StoreSettings(), "g0") as store:
        watch.add(Profile("news", "red"))
        watcher = Watcher(tmp_path, watch)
        add(store, 1, "red blue")
        watcher.step()
        with WatchStore(tmp_path) as other:
            other.add(Profile("blue", "blue"))
            other.remove("news")
        add(store, 2, "red blue")
        watcher.step()
        watcher.close()
        assert (found(watch, "news"), found(watch, "blue")) == ([], ["new 2"])


def test_what_pages_said_before_is_known_when_a_profile_asks(tmp_path: Path) -> None:
    """Also of pages that were stored before any profile asked."""
    with Store.open(tmp_path, StoreSettings(log_records=2), "g0") as store:
        for number in range(5):
            add(store, number, f"red number {number}")
        with WatchStore(tmp_path) as watch:
            watch.begin(log_ends(tmp_path))
            watch.add(Profile("news", "red", ("changed", "gone"), with_diff=True))
            assert drain(tmp_path, watch) == 0
            add(store, 1, "red number one", session=2, change="changed")
            add(store, 2, "", session=2, status=404, failure="http-404", change="gone")
            add(store, 3, "red number 3", session=2, change="same")
            add(store, 4, "blue", session=2, change="changed")
            assert drain(tmp_path, watch) == 3
            one, gone, lost = (each.match for each in watch.matches("news"))
            assert (one.event, one.diff) == ("changed", "- red number 1\n+ red number one")
            assert (gone.event, gone.excerpt) == ("gone", "red number 2")
            assert (lost.words_added, lost.words_removed) == (1, 3)
            add(store, 1, "red number 1", session=3, change="changed")
            drain(tmp_path, watch)
            assert watch.matches("news", newest=True, most=1)[0].match.diff == "- red number one\n+ red number 1"


def test_watch_that_was_killed_finds_the_same_again(tmp_path: Path) -> None:
    with WatchStore(tmp_path) as watch, Store.open(tmp_path, StoreSettings(), "g0") as store:
        watch.add(Profile("news", "red"))
        for number in range(4):
            add(store, number)
        killed = Watcher(tmp_path, watch)
        commit, watch.commit = watch.commit, None  # type: ignore[assignment,method-assign]
        with pytest.raises(TypeError):  # as if it died before the transaction
            killed.step()
        watch.commit = commit  # type: ignore[method-assign]
        killed.close()
        assert (drain(tmp_path, watch), len(found(watch))) == (4, 4)


def test_gone_page_is_nobody_elses_business(tmp_path: Path) -> None:
    with WatchStore(tmp_path) as watch, Store.open(tmp_path, StoreSettings(), "g0") as store:
        watch.add(Profile("news", "red OR blue"))
        add(store, 1, noindex=True)
        add(store, 2, "", status=404, failure="http-404", change="gone", session=2)
        add(store, 3, change="same", session=2)
        assert drain(tmp_path, watch) == 0
