"""Ranges that move between frontiers, also in the order in which a chaotic team sends and forgets things."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gcs.core.messages.tuples import HandOver, HostState
from gcs.core.plan.plan import Plan
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import LAST_KEY, host_key, sort_key
from gcs.ports.frontier import Frontier, FrontierSettings, Mark
from gcs.ports.frontier.url_rows import short
from gcs.roles.gatherer.team.hand_over import PART_URLS, TURN_PARTS, HandOvers, InFlight

ALL = ((b"", LAST_KEY),)


def url(number: int) -> str:
    return f"http://example.com/{number:06d}"


def key(number: int) -> bytes:
    return sort_key(url(number))


class Member:
    """A gatherer as far as hand-over goes: a frontier, and what it sends."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name, self._directory = name, directory
        self.plan: Plan | None = None
        self.sent: list[tuple[str, HandOver]] = []
        self.reopen()

    def reopen(self) -> None:
        self.frontier = Frontier(self._directory / self.name, FrontierSettings(fsync=False))
        self.hand_overs = HandOvers(self.name, self.frontier)
        self.hand_overs.restore(self.frontier.note("hand-overs"), self.plan)

    def commit(self) -> None:
        self.frontier.set_note("hand-overs", self.hand_overs.encode())
        self.frontier.commit()

    def crash(self) -> None:
        self.frontier.close()
        self.reopen()

    def adopt(self, plan: Plan) -> None:
        self.hand_overs.adopt(self.plan, plan)
        self.plan = plan

    def progress(
        self, *open_urls: str, most: int = 1000, host: HostState | None = None, origins: tuple[str, ...] = ()
    ) -> list[tuple[str, HandOver]]:
        assert self.plan
        states = [host] if host else []
        flying = InFlight(open_urls, origins)
        parts = list(self.hand_overs.progress(self.plan.epoch, most, flying, lambda: states))
        self.sent += parts
        return parts

    def receive(self, part: HandOver) -> list[tuple[str, HandOver]]:
        """Take in a part; returns the parts that are sent on."""
        assert self.plan
        got = self.hand_overs.receive(part, self.plan)
        self.frontier.insert(got.entries)
        for at, mark in got.dealt_with.items():
            self.frontier.range_moves.give_up(at, mark)
        self.frontier.insert(self.hand_overs.released())
        return got.onward

    def marks(self) -> dict[bytes, Mark]:
        return dict(self.frontier.scan(b"", LAST_KEY))


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Callable[[str], Member]]:
    members: list[Member] = []

    def make(name: str) -> Member:
        members.append(Member(name, tmp_path))
        return members[-1]

    yield make
    for each in members:
        each.frontier.close()


def plan(epoch: int, owners: dict[bytes, str], lost: tuple[tuple[bytes, bytes], ...] = ()) -> Plan:
    names = ("a", "b", "c")
    cuts = tuple(sorted(owners))
    return Plan(epoch, names, cuts, tuple(names.index(owners[cut]) for cut in cuts), lost=lost)


TO_A, TO_B, TO_C = ({b"": name} for name in "abc")


def test_hand_over_moves_entries_marks_and_long_urls(member: Callable[[str], Member]) -> None:
    a, b = member("a"), member("b")
    long = [f"http://example.com/{'x' * 600}/{number}" for number in range(2)]
    entry = QueuedUrl(url(0), "http://p/", 3, 3, 1, 2, '"etag"', "yesterday", "sha", 17)
    a.frontier.insert([entry, QueuedUrl(url(1)), *map(QueuedUrl, long)])
    a.frontier.finish(url(1), Mark.FAILED)
    a.frontier.finish(long[1], Mark.DONE)
    a.plan = plan(1, TO_A)
    a.adopt(plan(2, TO_B))
    for to, part in a.progress():
        assert to == "b"
        b.plan = a.plan
        b.receive(part)
    assert a.frontier.known() == 0
    assert a.hand_overs.is_settled
    long_keys = [short(sort_key(each)) for each in long]
    wanted = {key(0): Mark.QUEUED, key(1): Mark.FAILED, long_keys[0]: Mark.QUEUED, long_keys[1]: Mark.DONE}
    assert b.marks() == wanted
    assert entry in b.frontier.take("example.com", 5)


def test_hand_over_holds_what_arrives_until_the_end_mark(member: Callable[[str], Member]) -> None:
    a, b = member("a"), member("b")
    a.frontier.insert([QueuedUrl(url(number)) for number in range(3)])
    a.plan = b.plan = plan(1, TO_A)
    a.adopt(plan(2, TO_B))
    b.adopt(plan(2, TO_B))
    [(_, first)] = a.progress(url(2))
    b.receive(first)
    b.receive(first)  # a part may come twice
    assert b.frontier.queued() == 0
    assert b.frontier.team_tables.held() == 2
    assert a.progress(url(2)) == []  # in flight
    a.frontier.finish(url(2), Mark.DONE)
    [(_, last)] = a.progress()
    assert last.last
    b.receive(last)
    assert b.marks() == {key(0): Mark.QUEUED, key(1): Mark.QUEUED, key(2): Mark.DONE}
    assert a.hand_overs.is_settled
    assert b.hand_overs.is_settled


@pytest.mark.parametrize("cut", ["", "0000"])
def test_range_is_not_complete_while_its_host_is_asked_for_its_robots_txt(
    member: Callable[[str], Member], cut: str
) -> None:
    """Wherever the host is cut: the new owner would ask it while it answers."""
    a = member("a")
    a.adopt(plan(1, TO_A))
    a.frontier.insert([QueuedUrl(url(n)) for n in range(3)])
    origin = "http://example.com"
    low = sort_key(f"{origin}/{cut}") if cut else b""
    a.adopt(plan(2, {b"": "a", low: "b"} if low else TO_B))
    assert [part.last for _, part in a.progress(origins=(origin,))] == [False]
    assert a.progress(origins=(origin,)) == []
    assert a.progress()[-1][1].last


def test_hand_over_goes_on_in_slices_and_over_a_crash(member: Callable[[str], Member]) -> None:
    a, b = member("a"), member("b")
    count = PART_URLS * TURN_PARTS * 2 + 5
    a.frontier.insert([QueuedUrl(url(number)) for number in range(count)])
    a.plan = b.plan = plan(1, TO_A)
    a.adopt(plan(2, TO_B))
    b.adopt(plan(2, TO_B))
    assert len(a.progress()) == TURN_PARTS
    assert a.hand_overs.has_foreign_urls
    assert a.progress(most=0) == []
    a.commit()
    committed = len(a.sent)
    a.progress()
    a.crash()
    del a.sent[committed:]  # these parts were not durable, so they have not left
    while not a.hand_overs.is_settled:
        a.progress()
    for _, part in a.sent:
        b.receive(part)
    while b.frontier.team_tables.held():
        b.frontier.insert(b.hand_overs.released())
    assert b.frontier.queued() == count
    assert a.frontier.known() == 0


def test_hand_over_is_not_ended_by_the_end_mark_of_an_earlier_one(member: Callable[[str], Member]) -> None:
    """a → b → a → b, and a's first end mark comes once more, from the outbox of a that crashed."""
    a, b = member("a"), member("b")
    a.frontier.insert([QueuedUrl(url(0))])
    a.plan = b.plan = plan(1, TO_A)
    a.adopt(plan(2, TO_B))
    b.adopt(plan(2, TO_B))
    early = a.progress()
    for _, part in early:
        b.receive(part)
    b.adopt(plan(3, TO_A))
    a.adopt(plan(3, TO_A))
    for _, part in b.progress():
        a.receive(part)
    a.frontier.finish(url(0), Mark.DONE)
    a.adopt(plan(4, TO_B))
    b.adopt(plan(4, TO_B))
    for _, part in early:
        b.receive(part)
    assert not b.hand_overs.is_settled
    assert b.frontier.queued() == 0  # else the page would be fetched twice
    for _, part in a.progress():
        b.receive(part)
    assert b.hand_overs.is_settled
    assert b.marks() == {key(0): Mark.DONE}


def test_hand_over_is_ended_under_another_plan_of_the_same_epoch(member: Callable[[str], Member]) -> None:
    """A whiteboard lost the plan that moved the range before the leader saw it, and another plan leaves it with a."""
    loser, winner = member("a"), member("b")
    loser.adopt(plan(3, {b"": "a"}, lost=ALL))
    loser.frontier.insert([QueuedUrl(url(number)) for number in range(10)])
    for each in (loser, winner):
        each.adopt(plan(4, {b"": "b"}))
    for _, part in loser.progress():
        winner.receive(part)
    for each in (loser, winner):
        each.adopt(plan(4, {b"": "a"}))
    for _, part in winner.progress():
        loser.receive(part)
    assert loser.hand_overs.is_settled
    assert loser.frontier.queued() == 10


def test_hand_over_finds_a_winner_that_missed_the_plan_with_the_move(member: Callable[[str], Member]) -> None:
    """b adopts plan 3 (a recovery elsewhere) without having seen plan 2, under which a had sent everything."""
    a, b = member("a"), member("b")
    a.frontier.insert([QueuedUrl(url(0))])
    a.plan = b.plan = plan(1, TO_A)
    a.adopt(plan(2, TO_B))
    parts = a.progress()
    b.adopt(plan(3, TO_B))
    for _, part in parts:
        b.receive(part)
    assert b.hand_overs.is_settled
    assert b.marks() == {key(0): Mark.QUEUED}


def test_hand_over_sends_on_what_is_not_its_own_any_more(member: Callable[[str], Member]) -> None:
    a, b, c = member("a"), member("b"), member("c")
    a.frontier.insert([QueuedUrl(url(number)) for number in range(4)])
    for number in (1, 3):
        a.frontier.finish(url(number), Mark.DONE)
    a.plan = b.plan = c.plan = plan(1, TO_A)
    a.adopt(plan(2, TO_B))
    for each in (b, c):
        each.adopt(plan(3, {b"": "b", key(2): "c"}, lost=ALL))
        each.hand_overs.open()
    onward = [more for _, part in a.progress() for more in b.receive(part)]
    assert {to for to, _ in onward} == {"c"}
    for _, part in onward:
        assert c.receive(part) == []
    assert b.marks() == {key(0): Mark.QUEUED, key(1): Mark.DONE}
    assert c.marks() == {key(2): Mark.QUEUED, key(3): Mark.DONE}


def test_marks_of_others_end_what_a_rebuilt_frontier_took_for_waiting(member: Callable[[str], Member]) -> None:
    """The frontier of b was damaged; made anew from b's records, it queues a page that only a record of a tells of."""
    b = member("b")
    b.frontier.insert([QueuedUrl(url(0))])
    b.adopt(plan(4, TO_B, lost=ALL))
    b.receive(HandOver(4, b"", LAST_KEY, False, [], [(key(0), Mark.DONE.value.decode())]))
    assert b.marks() == {key(0): Mark.DONE}


def test_hand_over_that_comes_late_ends_what_waits_in_a_range_begun_anew(member: Callable[[str], Member]) -> None:
    """a was counted as lost, b has begun its range anew through links, a comes back."""
    a, b = member("a"), member("b")
    a.frontier.insert([QueuedUrl(url(number)) for number in range(3)])
    a.frontier.finish(url(0), Mark.DONE)
    a.plan = b.plan = plan(1, TO_A)
    lost = plan(2, TO_B, lost=ALL)
    b.adopt(lost)
    assert b.hand_overs.is_settled
    b.hand_overs.open()
    b.frontier.insert([QueuedUrl(url(0)), QueuedUrl(url(1))])
    b.commit()
    b.crash()
    b.plan = lost
    a.adopt(lost)
    for _, part in a.progress():
        b.receive(part)
    assert b.marks() == {key(0): Mark.DONE, key(1): Mark.QUEUED, key(2): Mark.QUEUED}
    assert b.frontier.queued() == 2


FREE = HostState(host_key("example.com"), robots=b"any")


@pytest.mark.parametrize(
    ("host", "held"),
    [(FREE, 0), (replace(FREE, wait_s=1.0), 2), (replace(FREE, robots=None), 2), (None, 2)],
    ids=["no delay", "delay", "unknown robots.txt", "unknown host"],
)
def test_queued_urls_wait_for_those_in_flight_only_where_their_host_is_owed_a_delay(
    member: Callable[[str], Member], host: HostState | None, held: int
) -> None:
    a, b = member("a"), member("b")
    a.frontier.insert([QueuedUrl(url(number)) for number in range(3)])
    a.plan = b.plan = plan(1, TO_A)
    for each in (a, b):
        each.adopt(plan(2, TO_B))
    for _, part in a.progress(url(0), host=host):
        b.receive(part)
    assert (b.frontier.queued(), b.frontier.team_tables.held()) == (2 - held, held)
    assert not b.hand_overs.is_settled
    if not held:
        b.frontier.finish(url(1), Mark.DONE)
    for _, part in a.progress(host=host):
        b.receive(part)
    assert b.hand_overs.is_settled and b.frontier.queued() == 3 - (not held)


def test_old_part_that_comes_again_opens_nothing(member: Callable[[str], Member]) -> None:
    """b had the range once; c has fetched the page since, and will say so."""
    b = member("b")
    b.plan = plan(4, TO_C)
    b.adopt(plan(5, TO_B))
    b.receive(HandOver(2, *ALL[0], False, [QueuedUrl(url(0))], hosts=[FREE]))
    assert (b.frontier.queued(), b.frontier.team_tables.held()) == (0, 1)
    b.receive(HandOver(5, *ALL[0], True, [], [(key(0), "D")]))
    assert b.marks() == {key(0): Mark.DONE}


def test_hand_over_stops_waiting_for_a_loser_that_is_lost(member: Callable[[str], Member]) -> None:
    b = member("b")
    b.plan = plan(1, TO_A)
    b.adopt(plan(2, TO_B))
    b.frontier.team_tables.hold([QueuedUrl(url(0))])
    b.adopt(plan(3, TO_B, lost=ALL))
    assert b.hand_overs.is_settled and b.hand_overs.released() == []
    b.commit()
    b.crash()
    assert b.hand_overs.is_closed and b.hand_overs.released() == []
    b.hand_overs.open()
    assert [entry.url for entry in b.hand_overs.released()] == [url(0)]


def test_lost_range_is_closed_until_all_have_said_what_they_stored_of_it(member: Callable[[str], Member]) -> None:
    """a had the range before c, which is lost: what a has stored of it, b must not fetch again."""
    b = member("b")
    b.plan = plan(2, TO_C)
    b.adopt(plan(3, TO_B, lost=ALL))
    b.receive(HandOver(3, *ALL[0], False, [QueuedUrl(url(0)), QueuedUrl(url(1))]))
    assert b.frontier.queued() == 0 and b.frontier.team_tables.held() == 2
    b.receive(HandOver(3, *ALL[0], False, [], [(key(0), "D")]))
    b.hand_overs.open()
    b.frontier.insert(b.hand_overs.released())
    assert b.marks() == {key(0): Mark.DONE, key(1): Mark.QUEUED}


def test_hand_over_turns_to_the_heir_of_a_winner_that_is_lost(member: Callable[[str], Member]) -> None:
    a = member("a")
    a.frontier.insert([QueuedUrl(url(number)) for number in range(3)])
    a.plan = plan(1, TO_A)
    a.adopt(plan(2, TO_B))
    assert [to for to, _ in a.progress(url(1))] == ["b"]
    a.adopt(plan(3, {b"": "a", key(1): "c"}, lost=ALL))
    a.frontier.finish(url(1), Mark.DONE)
    [(to, part)] = a.progress()
    assert (to, part.last, part.seen) == ("c", True, [(key(1), "D")])
    assert a.hand_overs.is_settled


def test_hand_over_of_a_crawl_that_one_began_alone(member: Callable[[str], Member]) -> None:
    a = member("a")
    a.frontier.insert([QueuedUrl(url(number)) for number in range(4)])
    a.adopt(plan(1, {b"": "a", key(2): "b"}, lost=ALL))
    assert [(to, len(part.queued), part.last) for to, part in a.progress()] == [("b", 2, True)]
    assert set(a.marks()) == {key(0), key(1)}


def test_hand_over_of_many_small_ranges_says_that_there_is_more_to_send(member: Callable[[str], Member]) -> None:
    """Otherwise a gatherer with nothing else to do would send a few ranges at each checkpoint."""
    a = member("a")
    count = 3 * TURN_PARTS
    a.frontier.insert([QueuedUrl(url(number)) for number in range(count)])
    a.plan = plan(1, TO_A)
    a.adopt(plan(2, {b"": "b"} | {key(number): "bc"[number % 2] for number in range(1, count)}))
    turns = 1
    while a.progress() and a.hand_overs.has_more:
        turns += 1
    assert a.hand_overs.is_settled and turns == 3
    assert sum(part.last for _, part in a.sent) == len(a.sent) == count, "one part for each range"


def test_hand_over_ends_a_range_that_was_in_flight_by_itself(member: Callable[[str], Member]) -> None:
    """What was in flight during the first pass may lie behind it when it comes back."""
    a = member("a")
    a.frontier.insert([QueuedUrl(url(number)) for number in range(PART_URLS * TURN_PARTS + 2)])
    a.plan = plan(1, TO_A)
    a.adopt(plan(2, TO_B))
    a.progress(url(0))
    assert [part.last for _, part in a.progress()] == [False, True]
    assert a.sent[-1][1].queued == [QueuedUrl(url(0))]
