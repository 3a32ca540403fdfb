"""The file of a watch: profiles, matches, receivers; what is one transaction; what is kept and what goes."""

import stat
import sys
from pathlib import Path
from subprocess import run

import pytest

from gcs.core.search.searchable import Searchable
from gcs.core.watch.profile import Match, Profile
from gcs.core.watch.push_target import PushTarget
from gcs.errors import InUseError, UsageError
from gcs.ports.watch.watch_store import KEEP_S, KEPT, WatchStore, watch_file, watch_lock

HOOK = PushTarget.parse("https://hooks.example/a")
OTHER = PushTarget.parse("https://hooks.example/b")


def match(number: int, profile: str = "news") -> Match:
    return Match(f"{profile}{number}", profile, "new", f"http://a.example/{number}", "", "", "en", 1, 5.0)


@pytest.fixture
def store(tmp_path: Path):
    with WatchStore(tmp_path) as made:
        made.add(Profile("news", "red"), [(HOOK, "s")])
        yield made


def commit(store: WatchStore, *numbers: int, profile: str = "news", now: float = 100.0) -> int:
    return store.commit([match(number, profile) for number in numbers], [], {"g0": (1, max(numbers))}, now)


def test_match_is_kept_once_whatever_comes_again(store: WatchStore, tmp_path: Path) -> None:
    assert (commit(store, 1, 2), commit(store, 2, 3)) == (2, 1)
    with WatchStore(tmp_path) as again:
        assert [each.match.id for each in again.matches("news")] == ["news1", "news2", "news3"]
        assert again.positions() == {"g0": (1, 3)}


def test_receiver_gets_what_is_found_from_now_on_and_goes_on_where_it_was(store: WatchStore) -> None:
    commit(store, 1, 2)
    (due,) = store.due(100)
    store.passed(due, store.matches("news")[0].seq, 0)
    store.add(Profile("news", "red OR blue"), [(HOOK, ""), (OTHER, "t")])
    commit(store, 3)
    waiting = {state.target: state.waiting for state in store.targets()}
    assert waiting == {HOOK: 2, OTHER: 1}
    assert {each.secret for each in store.due(100)} == {"s", "t"}, "a secret stays, unless a new one is given"
    store.add(Profile("news", "red"), [(OTHER, "")])
    assert [state.target for state in store.targets()] == [OTHER]


def test_failed_receiver_waits(store: WatchStore) -> None:
    commit(store, 1)
    (due,) = store.due(100)
    store.failed(due, "HTTP 500", 160)
    assert store.due(159) == [] and store.next_due() == 160
    (again,) = store.due(160)
    assert again.failures == 1 and store.targets()[0].problem == "HTTP 500"
    store.passed(again, 1, 0)
    assert store.due(1_000) == [] and store.next_due() is None


def test_matches_stay_for_receivers_and_the_newest_for_the_feed(store: WatchStore) -> None:
    commit(store, *range(KEPT + 20))
    store.add(Profile("feed", "red"))
    commit(store, *range(KEPT + 20), profile="feed")
    assert store.prune(100) == 0
    assert len(store.matches("news", most=5_000)) == KEPT + 20
    assert len(store.matches("feed", most=5_000)) == KEPT
    (due,) = store.due(100)
    store.passed(due, store.matches("news", most=5_000)[-1].seq, 0)
    store.prune(100)
    assert len(store.matches("news", most=5_000)) == KEPT
    commit(store, 5_000)
    assert store.prune(101 + KEEP_S) == 1 and store.matches(None) == []


def test_past_of_a_page_is_that_of_the_latest_session(store: WatchStore) -> None:
    page = Searchable("http://a.example/1", "a.example", "", "one")
    assert not store.has_past()
    store.fill_past([(2, page), (1, Searchable(page.url, page.host, "", "older"))])
    assert store.has_past() and store.past(page.url) == page and store.past("http://a.example/2") is None


def test_profiles_are_named_changed_and_removed(store: WatchStore) -> None:
    commit(store, 1)
    assert [profile.name for profile in store.profiles()] == ["news"]
    with pytest.raises(UsageError):
        store.add(Profile("bad name", "red"))
    store.remove("news")
    assert (store.profiles(), store.targets(), store.matches(None)) == ([], [], [])
    with pytest.raises(UsageError, match="no profile"):
        store.remove("news")


def test_file_is_of_its_owner_and_of_one_process(store: WatchStore, tmp_path: Path) -> None:
    for file in watch_file(tmp_path).parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file.name
    with watch_lock(tmp_path), pytest.raises(InUseError), watch_lock(tmp_path):
        pass


def test_watch_begins_where_the_crawl_stands(store: WatchStore) -> None:
    store.begin({"g0": (3, 7)})
    store.begin({"g0": (9, 9), "g1": (1, 1)})
    assert store.positions() == {"g0": (3, 7)}


def test_link_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "watch").mkdir()
    (tmp_path / "else").write_text("mine")
    watch_file(tmp_path).symlink_to(tmp_path / "else")
    with pytest.raises(Exception, match="symbolic link"):
        WatchStore(tmp_path)
    assert (tmp_path / "else").read_text() == "mine"


def test_other_processes_come_and_go_and_nothing_that_is_written_is_lost(tmp_path: Path) -> None:
    """Two connections in one process, as in a watch; and a station that opens and closes the file meanwhile."""
    look = "import sys, pathlib; from gcs.ports.watch.watch_store import WatchStore as S\n"
    look += "with S(pathlib.Path(sys.argv[1])) as store: print([each.name for each in store.profiles()])"
    with WatchStore(tmp_path) as one, WatchStore(tmp_path) as other:
        run([sys.executable, "-c", look, str(tmp_path)], check=True)
        one.add(Profile("a", "red"))
        other.add(Profile("b", "red"))
        done = run([sys.executable, "-c", look, str(tmp_path)], check=True, capture_output=True, text=True)
        assert done.stdout.strip() == "['a', 'b']"
