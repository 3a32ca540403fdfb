"""A frontier that weighs its URLs, against a model: the best first, no worth lost, whatever the order of operations."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings, stateful
from hypothesis import strategies as st

from gcs.core.ordering import BFS, GIFT, ORDERS, Found, Ordering, Scored, rank
from gcs.core.queues.queue_maker import make_queue
from gcs.core.url.canonical import host_of_url
from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier import Frontier, FrontierSettings, Mark
from gcs.ports.frontier.disk_queue import DiskSettings, open_scratch

QUICK = FrontierSettings(fsync=False)
OPIC, BACKLINK = ORDERS["opic"], ORDERS["backlink"]
URLS = [f"http://{name}/{path}" for name in ("a.example", "b.example", "127.0.0.1:8080") for path in "abcd"]
gifts = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0])


def heap() -> object:
    return make_queue("heap")


class OrderMachine(stateful.RuleBasedStateMachine):
    """insert, credit, extract, take, settle, retry, move, commit and crash under OPIC, in one order over all hosts."""

    #: blocks of two keys and memory for four of them: the queue goes to its file and back
    queue: DiskSettings | None = DiskSettings(cache_bytes=4 * 2 * 16, block_keys=2)

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.open()
        self.worth: dict[str, float] = {}  # of all that wait
        self.found: list[str] = []  # in order of discovery
        self.done: set[str] = set()
        self.taken: set[str] = set()
        self.shelved: set[str] = set()
        self.later: set[str] = set()
        self.committed = self.state()

    def open(self) -> None:
        folder = Path(self.folder.name)
        make_queue = partial(open_scratch, "quickheap", folder, self.queue) if self.queue else None
        self.frontier = Frontier(folder, QUICK, OPIC, make_queue)

    def state(self) -> tuple[object, ...]:
        return dict(self.worth), list(self.found), set(self.done), set(self.taken), set(self.shelved), set(self.later)

    def teardown(self) -> None:
        self.frontier.close()
        self.folder.cleanup()

    @property
    def pooled(self) -> list[str]:
        return [url for url in self.worth if url not in self.taken | self.shelved | self.later]

    def best(self, urls: list[str]) -> list[str]:
        return sorted(urls, key=lambda url: (rank(self.worth[url]), self.found.index(url)))

    @stateful.rule(links=st.lists(st.tuples(st.sampled_from(URLS), gifts)))
    def insert(self, links: list[tuple[str, float]]) -> None:
        self.frontier.ledger.issued += sum(gift for _, gift in links)
        new = self.frontier.insert([QueuedUrl(url, "http://p.example/", 1, worth=gift) for url, gift in links])
        assert [entry.url for entry in new] == list(dict.fromkeys(url for url, _ in links if url not in self.known))
        for url, gift in links:
            if url not in self.known:
                self.found.append(url)
                self.worth[url] = 0.0
            self.give(url, gift)

    @property
    def known(self) -> set[str]:
        return self.done | self.worth.keys()

    def give(self, url: str, gift: float) -> None:
        if url in self.worth and url not in self.later:
            self.worth[url] += gift

    @stateful.rule(url=st.sampled_from(URLS), gift=gifts)
    def gift(self, url: str, gift: float) -> None:
        self.frontier.ledger.issued += gift
        assert self.frontier.insert([QueuedUrl(url, depth=GIFT, worth=gift)]) == [], "a gift makes no URL known"
        self.give(url, gift)

    @stateful.rule(url=st.sampled_from(URLS))
    def seed(self, url: str) -> None:
        self.frontier.ledger.issued += 1.0
        if self.frontier.insert([QueuedUrl(url, worth=1.0)]):
            self.found.append(url)
            self.worth[url] = 1.0
        assert url in self.known, "a seed that is known is not worth more for being told again"

    @stateful.precondition(lambda self: self.queue)
    @stateful.rule(count=st.integers(1, 6), full=st.sets(st.sampled_from(["a.example", "b.example"])))
    def extract(self, count: int, full: set[str]) -> None:
        expected = self.best(self.pooled)[:count]
        entries, shelved = self.frontier.extract(count, lambda name: name not in full)
        assert [entry.url for entry in entries] == [url for url in expected if host_of_url(url) not in full]
        assert shelved == {host_of_url(url) for url in expected} & full
        assert all(entry.worth == pytest.approx(self.worth[entry.url]) for entry in entries)
        self.taken |= {entry.url for entry in entries}
        self.shelved |= {url for url in expected if host_of_url(url) in full}

    @stateful.rule(name=st.sampled_from(["a.example", "b.example", "127.0.0.1"]), count=st.integers(1, 3))
    def take(self, name: str, count: int) -> None:
        shelf = self.shelved if self.queue else set(self.pooled)
        entries = [entry.url for entry in self.frontier.take(name, count)]
        assert entries == self.best([url for url in shelf if host_of_url(url) == name])[:count]
        self.taken |= set(entries)
        self.shelved -= set(entries)

    @stateful.precondition(lambda self: self.worth)
    @stateful.rule(data=st.data(), mark=st.sampled_from([Mark.DONE, Mark.FAILED]))
    def settle(self, data: st.DataObject, mark: Mark) -> None:
        url = data.draw(st.sampled_from(sorted(self.worth)))
        before, worth = self.frontier.settle(url, mark)
        assert before is Mark.QUEUED
        assert worth == pytest.approx(self.worth.pop(url))
        self.frontier.ledger.idle += worth
        self.done.add(url)
        for places in (self.taken, self.shelved, self.later):
            places.discard(url)

    @stateful.precondition(lambda self: self.taken)
    @stateful.rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        url = data.draw(st.sampled_from(sorted(self.taken)))
        self.frontier.retry(QueuedUrl(url, tries=1), 10.0)
        self.taken.remove(url)
        self.later.add(url)

    @stateful.rule()
    def requeue_due(self) -> None:
        self.frontier.requeue_due(11.0)
        self.shelved |= self.later
        self.later = set()

    @stateful.rule()
    def put_back(self) -> None:
        self.frontier.put_back(list(self.taken))
        self.shelved |= self.taken
        self.taken = set()

    @stateful.rule()
    def move(self) -> None:
        """Everything leaves, and comes back."""
        piece = self.frontier.range_moves.take_out(b"", b"\xff", lambda _: False, 1000)
        assert {entry.url: pytest.approx(entry.worth) for entry in piece.entries} == self.worth
        assert self.frontier.ledger.waiting() == pytest.approx(0.0)
        self.frontier.ledger.received += sum(entry.worth for entry in piece.entries)
        self.frontier.range_moves.put_in(piece.marks)
        self.frontier.insert(piece.entries)
        self.found = [entry.url for entry in piece.entries]
        self.taken, self.shelved, self.later = set(), set(), set()

    @stateful.rule()
    def commit(self) -> None:
        self.frontier.commit()
        self.committed = self.state()

    @stateful.rule()
    def crash(self) -> None:
        self.frontier.close()
        self.open()
        worth, found, done, taken, shelved, later = self.committed
        self.worth, self.found, self.done, self.later = dict(worth), list(found), set(done), set(later)
        self.taken, self.shelved = set(), shelved | taken

    @stateful.invariant()
    def nothing_is_lost(self) -> None:
        waiting = {entry.url: entry.worth for entry in self.frontier.entries(b"", b"\xff")}
        assert waiting == pytest.approx(self.worth)
        assert self.frontier.queued() == len(self.worth)
        assert self.frontier.ledger.waiting() == pytest.approx(sum(self.worth.values()))


class HostOrderMachine(OrderMachine):
    """The same, host by host."""

    queue = None

    @property
    def pooled(self) -> list[str]:
        return [url for url in self.worth if url not in self.taken | self.later]


OrderMachine.TestCase.settings = settings(max_examples=35, stateful_step_count=30, deadline=None)
HostOrderMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=30, deadline=None)
test_frontier_in_one_order_agrees_with_model = OrderMachine.TestCase
test_frontier_host_by_host_agrees_with_model = HostOrderMachine.TestCase


def everything(frontier: Frontier) -> list[str]:
    if frontier.is_pooled:
        return [entry.url for entry in frontier.extract(100, lambda _: True)[0]]
    return [entry.url for name in frontier.hosts("", 100) for entry in frontier.take(name, 100)]


DEEP, LINKED = (
    QueuedUrl("http://a.example/deep", depth=5, priority=5, worth=9.0),
    QueuedUrl("http://a.example/", worth=1.0),
)


@pytest.mark.parametrize("later", [BFS, BACKLINK, Scored("by-length", lambda found: float(len(found.url)))])
@pytest.mark.parametrize("queues", [(None, heap), (heap, None), (heap, heap), (None, None)])
def test_frontier_goes_over_to_another_order(tmp_path: Path, later: Ordering, queues: tuple[object, object]) -> None:
    """A crawl is resumed with another order or queue: what waits is put in that order, and none is lost."""
    before, after = queues
    frontier = Frontier(tmp_path, QUICK, BFS, before)
    frontier.insert([DEEP, LINKED])
    frontier.commit()
    frontier.close()
    frontier = Frontier(tmp_path, QUICK, later, after)
    first = LINKED if later is BFS else DEEP
    assert everything(frontier)[0] == first.url
    assert frontier.queued() == 2
    frontier.close()


def test_frontier_asks_a_score_again_when_links_arrive(tmp_path: Path) -> None:
    """A score may fall, too: what came out under the old one is dropped."""
    seen: list[Found] = []

    def fewest(found: Found) -> float:
        seen.append(found)
        return -found.backlinks

    frontier = Frontier(tmp_path, QUICK, Scored("fewest", fewest), heap)
    frontier.insert([QueuedUrl("http://a.example/1", "http://p.example/", 3), QueuedUrl("http://a.example/2")])
    for _ in range(3):
        frontier.insert([QueuedUrl("http://a.example/1", depth=GIFT, worth=1.0)])
    assert [found.backlinks for found in seen] == [0, 0, 1, 2, 3]
    assert (seen[-1].parent, seen[-1].depth) == ("http://p.example/", 3)
    assert everything(frontier) == ["http://a.example/2", "http://a.example/1"]
    frontier.close()


def test_freshness_is_an_input_of_a_score(tmp_path: Path) -> None:
    """What was seen long ago, and has changed often, goes first; what was never seen, last."""

    def stalest(found: Found) -> float:
        return (2_000.0 - found.copy_at) * (found.changes + 1) / (found.visits + 1) if found.copy_at else 0.0

    frontier = Frontier(tmp_path, QUICK, Scored("stalest", stalest), heap)
    kinds = {"new": (0, 0, 0), "lately": (1_900, 4, 4), "steady": (1_000, 4, 0), "changing": (1_000, 4, 4)}
    frontier.insert(
        QueuedUrl(f"http://a.example/{name}", copy_at_us=at * 1_000_000, visits=visits, changes=changes)
        for name, (at, visits, changes) in kinds.items()
    )
    assert everything(frontier) == [f"http://a.example/{name}" for name in ("changing", "steady", "lately", "new")]
    frontier.close()


@pytest.mark.parametrize("queue", [None, heap])
def test_frontier_takes_what_was_put_back_for_what_it_is_worth_by_then(tmp_path: Path, queue: object) -> None:
    first, second = "http://a.example/1", "http://a.example/2"
    frontier = Frontier(tmp_path, QUICK, BACKLINK, queue)
    frontier.insert([QueuedUrl(first)])
    assert everything(frontier) == [first]
    frontier.insert([QueuedUrl(second, worth=1.0), QueuedUrl(first, depth=GIFT, worth=3.0)])
    frontier.put_back([first, *everything(frontier)] if queue else [first])
    assert [entry.url for entry in frontier.take("a.example", 2)] == [first, second]
    frontier.close()


def test_pool_forgets_stale_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often ranks change, the queue in memory follows the rows on disk."""
    monkeypatch.setattr("gcs.ports.frontier.ordered_pool.STALE_LEAST", 50)
    queues = []
    frontier = Frontier(tmp_path, QUICK, BACKLINK, lambda: queues.append(heap()) or queues[-1])
    frontier.insert([QueuedUrl(url) for url in URLS])
    for _ in range(40):
        frontier.insert([QueuedUrl(url, depth=GIFT, worth=1.0) for url in URLS])
        frontier.extract(0, lambda _: True)
    assert len(queues[-1]) <= 50 + 4 * len(URLS)
    assert sorted(everything(frontier)) == sorted(URLS)
    frontier.close()
