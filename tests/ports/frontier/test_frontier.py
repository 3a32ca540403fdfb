"""The frontier against a model: whatever the order of operations and crashes, no URL is lost or doubled."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings, stateful
from hypothesis import strategies as st

from gcs.core.url import sortkey
from gcs.core.url.canonical import host_of_url
from gcs.core.url.queued_url import QueuedUrl
from gcs.errors import StoreError, UsageError
from gcs.ports.frontier import Frontier, FrontierSettings, Mark
from gcs.ports.frontier.url_rows import short

QUICK = FrontierSettings(fsync=False)
HOSTS = ("example.com", "www.example.com", "example.org", "127.0.0.1:8080", "a.b.example.com")
URLS = [f"http://{name}/{path}" for name in HOSTS for path in ("", "a", "a/b", "a/b/?x=1", "b", "long/" + "x" * 600)]


def key_of(url: str) -> bytes:
    return short(sortkey.sort_key(url))


class FrontierMachine(stateful.RuleBasedStateMachine):
    """insert, take, finish, retry, requeue, move, learn, commit and crash against plain dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.frontier = Frontier(Path(self.folder.name), QUICK)
        self.now = 1000.0
        self.marks: dict[str, Mark] = {}
        self.taken: dict[str, QueuedUrl] = {}
        self.later: dict[str, float] = {}
        self.committed: dict[str, Mark] = {}
        self.committed_later: dict[str, float] = {}

    def teardown(self) -> None:
        self.frontier.close()
        self.folder.cleanup()

    @stateful.rule(urls=st.lists(st.sampled_from(URLS)), priority=st.integers(0, 3))
    def insert(self, urls: list[str], priority: int) -> None:
        new = self.frontier.insert([QueuedUrl(url, priority=priority) for url in urls])
        assert [entry.url for entry in new] == list(dict.fromkeys(url for url in urls if url not in self.marks))
        self.marks |= {entry.url: Mark.QUEUED for entry in new}

    @stateful.rule(name=st.sampled_from(HOSTS), count=st.integers(1, 4))
    def take(self, name: str, count: int) -> None:
        bare = name.partition(":")[0]
        waiting = [
            url
            for url, mark in self.marks.items()
            if mark is Mark.QUEUED and host_of_url(url) == bare and url not in self.taken and url not in self.later
        ]
        entries = self.frontier.take(bare, count)
        assert len(entries) == min(count, len(waiting))
        assert {entry.url for entry in entries} <= set(waiting)
        assert [entry.priority for entry in entries] == sorted(entry.priority for entry in entries)
        self.taken |= {entry.url: entry for entry in entries}

    @stateful.precondition(lambda self: self.taken)
    @stateful.rule(data=st.data(), mark=st.sampled_from([Mark.DONE, Mark.FAILED, Mark.REFUSED]))
    def finish(self, data: st.DataObject, mark: Mark) -> None:
        url = data.draw(st.sampled_from(sorted(self.taken)))
        self.frontier.finish(url, mark)
        del self.taken[url]
        self.marks[url] = mark

    @stateful.precondition(lambda self: self.taken)
    @stateful.rule(data=st.data(), wait=st.integers(1, 20))
    def retry(self, data: st.DataObject, wait: int) -> None:
        url = data.draw(st.sampled_from(sorted(self.taken)))
        self.frontier.retry(self.taken.pop(url), self.now + wait)
        self.later[url] = self.now + wait

    @stateful.rule(seconds=st.integers(0, 15))
    def requeue_due(self, seconds: int) -> None:
        self.now += seconds
        hosts, next_at = self.frontier.requeue_due(self.now)
        due = {url for url, at in self.later.items() if at <= self.now}
        assert hosts == {host_of_url(url) for url in due}
        self.later = {url: at for url, at in self.later.items() if url not in due}
        assert next_at == (min(self.later.values()) if self.later else None)

    @stateful.rule(data=st.data(), most=st.integers(1, 6))
    def move(self, data: st.DataObject, most: int) -> None:
        """A range leaves piece by piece, but for some that are in flight; what was finished comes back at once."""
        low, high = sorted(sortkey.sort_key(url)[:400] for url in data.draw(st.tuples(*[st.sampled_from(URLS)] * 2)))
        keep = data.draw(st.sets(st.sampled_from(sorted(self.taken)))) if self.taken else set()
        gone = {url for url in self.marks if low <= sortkey.sort_key(url) < high and url not in keep}
        entries, marks, at = [], {}, low
        while at is not None:
            piece = self.frontier.range_moves.take_out(at, high, {key_of(url) for url in keep}.__contains__, most)
            assert len(piece.entries) + len(piece.marks) <= most
            entries += [entry.url for entry in piece.entries]
            marks |= dict(piece.marks)
            at = piece.next
        waiting = {url for url in gone if self.marks[url] is Mark.QUEUED}
        assert sorted(entries) == sorted(waiting)
        assert marks == {key_of(url): self.marks[url] for url in gone - waiting}
        for table in (self.marks, self.taken, self.later):
            for url in waiting:
                table.pop(url, None)
        assert self.frontier.range_moves.put_in(marks.items()) == []

    @stateful.rule(url=st.sampled_from(URLS))
    def learn(self, url: str) -> None:
        """Somebody else has fetched a page."""
        waits = self.marks.get(url) is Mark.QUEUED
        assert self.frontier.range_moves.put_in([(key_of(url), Mark.DONE)]) == ([key_of(url)] if waits else [])
        if waits:
            self.frontier.range_moves.give_up(key_of(url), Mark.DONE)
            for table in (self.marks, self.taken, self.later):
                table.pop(url, None)
        self.marks.setdefault(url, Mark.DONE)

    @stateful.rule()
    def commit(self) -> None:
        self.frontier.commit()
        self.committed, self.committed_later = dict(self.marks), dict(self.later)

    @stateful.rule()
    def crash(self) -> None:
        """Back to the last commit; whatever was taken is queued again."""
        self.frontier.close()
        self.frontier = Frontier(Path(self.folder.name), QUICK)
        self.marks, self.later, self.taken = dict(self.committed), dict(self.committed_later), {}

    @stateful.invariant()
    def agrees(self) -> None:
        assert {url: self.frontier.mark(url) for url in self.marks} == self.marks
        assert self.frontier.known() == len(self.marks)
        waiting = [url for url, mark in self.marks.items() if mark is Mark.QUEUED]
        assert self.frontier.queued() == len(waiting)
        assert sorted(entry.url for entry in self.frontier.entries(b"", b"\xff")) == sorted(waiting)
        idle = {host_of_url(url) for url in waiting if url not in self.taken and url not in self.later}
        assert set(self.frontier.hosts("", 100)) == idle


FrontierMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
test_frontier_agrees_with_model = FrontierMachine.TestCase


@pytest.fixture
def frontier(tmp_path: Path):
    opened = Frontier(tmp_path / "frontier", QUICK)
    yield opened
    opened.close()


def test_frontier_scans_ranges_in_the_order_of_the_tree(frontier: Frontier) -> None:
    urls = [url for url in URLS if len(url) < 400]
    frontier.insert([QueuedUrl(url) for url in reversed(urls)])
    low, high = sortkey.subtree(b"com\x00example")
    assert [sortkey.url_of(key) for key, _ in frontier.scan(low, high)] == sorted(
        (url for url in urls if "example.com" in url), key=sortkey.tokens
    )


def test_frontier_walks_hosts_behind_a_cursor(frontier: Frontier) -> None:
    frontier.insert([QueuedUrl(url) for url in URLS])
    everybody = frontier.hosts("", 100)
    assert len(everybody) == 5
    walked: list[str] = []
    while names := frontier.hosts(walked[-1] if walked else "", 2):
        walked += names
    assert walked == everybody


def test_frontier_counts_the_queue_of_a_host(frontier: Frontier) -> None:
    for name, urls in (("a.example", 5), ("b.a.example", 3), ("aa.example", 2)):
        frontier.insert([QueuedUrl(f"http://{name}/{number}", priority=2**32 - 1) for number in range(urls)])
    lengths = [frontier.queue_length(name, 100) for name in ("a.example", "b.a.example", "aa.example", "c.example")]
    assert lengths == [5, 3, 2, 0]
    assert frontier.queue_length("a.example", 4) == 4
    frontier.take("a.example", 2)
    assert frontier.queue_length("a.example", 100) == 3


def test_frontier_walks_past_a_host_of_the_last_rank(frontier: Frontier) -> None:
    """As in cross-over mode, by a score of minus infinity."""
    frontier.insert([QueuedUrl(f"http://{name}/", priority=2**32 - 1) for name in HOSTS])
    assert len(frontier.hosts("", 100)) == len(set(frontier.hosts("", 100))) == len(HOSTS)
    assert frontier.hosts(frontier.hosts("", 100)[0], 100) == frontier.hosts("", 100)[1:]


def test_frontier_keeps_hosts_to_their_budget(frontier: Frontier) -> None:
    entries = [QueuedUrl(f"http://trap.example/{number}") for number in range(50)]
    assert len(frontier.insert(entries[:8], host_limit=10)) == 8
    assert len(frontier.insert(entries[8:], host_limit=10)) == 2
    assert len(frontier.insert([QueuedUrl("http://other.example/")], host_limit=10)) == 1


def test_frontier_moves_the_budget_of_a_host_with_its_urls(frontier: Frontier, tmp_path: Path) -> None:
    entries = [QueuedUrl(f"http://trap.example/{number}") for number in range(50)]
    frontier.insert(entries[:8], host_limit=10)
    frontier.finish(entries[0].url, Mark.DONE)
    piece = frontier.range_moves.take_out(b"", b"\xff", lambda _: False, 100)
    other = Frontier(tmp_path / "other", QUICK)
    other.range_moves.put_in(piece.marks)
    assert len(other.insert(piece.entries, host_limit=10)) == 7
    assert len(other.insert(entries, host_limit=10)) == 2
    assert len(frontier.insert(entries, host_limit=10)) == 10
    other.close()


def test_frontier_renews_what_is_finished_and_keeps_what_waits(frontier: Frontier) -> None:
    done, failed, refused, waits, later, taken = (f"http://a.example/{n}" for n in "dfrwlt")
    entries = {url: QueuedUrl(url, etag=f'"{url}"') for url in (done, failed, refused, waits, later, taken)}
    frontier.insert(entries.values())
    frontier.take("a.example", 10)
    frontier.put_back([waits])
    for url, mark in ((done, Mark.DONE), (failed, Mark.FAILED), (refused, Mark.REFUSED)):
        frontier.finish(url, mark)
    frontier.retry(entries[later], 10.0)
    frontier.put_back([taken])
    assert frontier.team_tables.post(b"key")
    assert frontier.renew() == [refused]
    assert frontier.known() == frontier.queued() == 3
    assert {frontier.mark(url) for url in (done, failed, refused)} == {None}
    assert frontier.team_tables.post(b"key"), "nothing counts as posted"
    frontier.commit()
    assert len(frontier.insert(entries.values(), host_limit=5)) == 2, "three of the host are known"
    frontier.requeue_due(11.0)
    assert {entry.url for entry in frontier.take("a.example", 10)} == {waits, later, taken, done, failed}


def test_frontier_refuses_a_second_process(frontier: Frontier, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another crawl is running here"):
        Frontier(tmp_path / "frontier", QUICK)


def test_frontier_says_why_a_directory_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        Frontier(tmp_path / "file" / "frontier", QUICK)


def test_frontier_finishes_a_url_that_waits_for_a_retry(frontier: Frontier) -> None:
    """As a replay does: the record was made after the commit that put the URL aside."""
    frontier.insert([QueuedUrl("http://a.example/"), QueuedUrl("http://a.example/b")])
    for entry in frontier.take("a.example", 2):
        frontier.retry(entry, 10.0)
    assert frontier.finish("http://a.example/", Mark.DONE) is Mark.QUEUED
    assert frontier.queued() == 1
    frontier.requeue_due(11.0)
    assert [entry.url for entry in frontier.take("a.example", 5)] == ["http://a.example/b"]


def test_frontier_hastens_what_waits_for_a_retry(frontier: Frontier) -> None:
    urls = [f"http://a.example/{number}" for number in range(3)]
    frontier.insert([QueuedUrl(url) for url in urls])
    for entry in frontier.take("a.example", 2):
        frontier.retry(entry, 10.0)
    frontier.hasten([urls[1], urls[2], "http://unknown.example/"])
    assert frontier.requeue_due(1.0) == ({"a.example"}, 10.0)
    assert [entry.url for entry in frontier.take("a.example", 5)] == urls[1:]
    assert frontier.requeue_due(10.0) == ({"a.example"}, None)


def test_frontier_tells_the_mark_that_a_url_had(frontier: Frontier) -> None:
    frontier.insert([QueuedUrl("http://a.example/")])
    assert frontier.finish("http://a.example/", Mark.DONE) is Mark.QUEUED
    assert frontier.finish("http://a.example/", Mark.DONE) is Mark.DONE
    assert frontier.finish("http://unknown.example/", Mark.FAILED) is None
