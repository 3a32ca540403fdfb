"""The window: release never breaks politeness, forgets nobody, and shares the room among hosts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.polite.politeness import Politeness, Sharing, delay_of
from gcs.core.polite.window import Host, Window


class Crawl:
    """Drives a window as a gatherer does, on a ticking clock, and checks every start."""

    def __init__(
        self, rules: Politeness, stock: dict[str, int], room: int = 10, ips: dict[str, str] | None = None
    ) -> None:
        self.rules, self.stock, self.room = rules, dict(stock), room
        self.ips = ips or {}
        self.window: Window[int] = Window(rules)
        self.now = 0.0
        self.flying: list[tuple[float, Host[int]]] = []
        self.last_end: dict[str, float] = {}
        self.released: dict[str, int] = dict.fromkeys(stock, 0)
        for name in stock:
            self.window.arrived(name)

    def feed(self) -> None:
        for host in list(self.window.hungry.values()):
            count = min(3, self.stock[host.name])
            self.stock[host.name] -= count
            self.window.feed(host, range(count), more=self.stock[host.name] > 0)

    def turn(self, duration: float, status: int = 200) -> None:
        for at, host in [flight for flight in self.flying if flight[0] <= self.now]:
            self.flying.remove((at, host))
            self.window.ended(host, self.now, self.ips.get(host.name, host.name), status)
            self.last_end[host.name] = self.now
        self.feed()
        for host, _ in self.window.release(self.now, self.room - len(self.flying)):
            delay = delay_of(host.pace, self.rules)
            assert self.now >= self.last_end.get(host.name, -1e9) + delay, "released too early"
            assert delay == 0 or host.pace.in_flight == 0
            self.window.begin(host, self.now)
            self.released[host.name] += 1
            self.flying.append((self.now + duration, host))
        assert len(self.flying) <= self.room
        upcoming = [at for at, _ in self.flying] + [at for at in [self.window.next_at()] if at is not None]
        self.now = max(self.now + 0.001, min(upcoming, default=self.now))

    def run(self, duration: float = 0.2, turns: int = 2000) -> None:
        for _ in range(turns):
            self.turn(duration)
            if not self.flying and not self.window.waiting and not any(self.stock.values()):
                return


@settings(deadline=None, max_examples=50)
@given(
    stock=st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 12), min_size=1),
    delay=st.sampled_from([0.0, 0.5, 2.0]),
    connections=st.integers(1, 3),
    room=st.integers(1, 6),
    shared=st.booleans(),
)
def test_window_releases_everything_once_and_never_too_early(stock, delay, connections, room, shared) -> None:
    rules = Politeness(delay_s=delay, host_connections=connections, ip_connections=2)
    crawl = Crawl(rules, stock, room, dict.fromkeys(stock, "10.0.0.1") if shared else None)
    crawl.run()
    assert crawl.released == stock


def test_window_serves_hosts_in_turn() -> None:
    crawl = Crawl(Politeness(delay_s=0.0, host_connections=100), {"giant": 300, "small": 3, "tiny": 2}, room=4)
    crawl.feed()
    first = [host.name for host, _ in crawl.window.release(0.0, 3) if crawl.window.begin(host, 0.0) is None]
    assert sorted(first) == ["giant", "small", "tiny"]


def test_window_limits_connections_to_an_address() -> None:
    rules = Politeness(delay_s=0.0, host_connections=5, ip_connections=3)
    window: Window[int] = Window(rules)
    for name in "abc":
        window.arrived(name)
        window.host(name).ip = "10.0.0.1"
        window.feed(window.host(name), range(5), more=False)
    started = [host for host, _ in window.release(0.0, 100) if window.begin(host, 0.0) is None]
    assert len(started) == 3
    window.ended(started[0], 1.0, "10.0.0.1", 200)
    assert len([host for host, _ in window.release(1.0, 100) if window.begin(host, 1.0) is None]) == 1


def test_window_passes_a_connection_that_its_host_did_not_use_to_the_next_one() -> None:
    window: Window[int] = Window(Politeness(delay_s=0.0, ip_connections=1))
    for name in "abcd":
        window.arrived(name)
        window.host(name).ip = "10.0.0.1"
        window.feed(window.host(name), (1,), more=False)
    (first,) = (host for host, _ in window.release(0.0, 100) if window.begin(host, 0.0) is None)
    window.host("c").pace.next_at = 5.0  # told so by another gatherer, while it is blocked
    window.ended(first, 1.0, "10.0.0.1", 200)
    refused, last = (host.name for host, _ in window.release(1.0, 100))  # neither is requested
    assert (first.name, refused, last) == ("a", "b", "d")
    assert [host.name for host, _ in window.release(5.0, 100)] == ["c"]
    assert not window.waiting


def test_window_holds_a_host_until_its_robots_are_known() -> None:
    window: Window[str] = Window(Politeness(delay_s=0.0))
    window.arrived("a")
    window.feed(window.host("a"), ["page"], more=False)
    for host, entry in window.release(0.0, 5):
        window.give_back(host, entry)
        host.held = True
        window.begin(host, 0.0)
    assert list(window.release(0.0, 5)) == []
    host = window.host("a")
    host.held = False
    window.ended(host, 0.1, status=200)
    assert [entry for _, entry in window.release(0.1, 5)] == ["page"]


def test_window_begins_with_a_pause_after_a_restart() -> None:
    window: Window[int] = Window(Politeness(delay_s=2.0), not_before=100.0)
    window.arrived("a")
    window.feed(window.host("a"), [1], more=False)
    assert list(window.release(100.0, 5)) == []
    assert window.next_at() == 102.0


def test_window_asks_no_host_whose_owners_change_and_waits_a_delay_when_they_have() -> None:
    for delay, first in ((2.0, []), (0.0, ["a"])):
        window: Window[int] = Window(Politeness(delay_s=delay))
        window.share({"a": Sharing.CLOSED}, 10.0)
        window.arrived("a")
        window.feed(window.host("a"), [1], more=False)
        assert [host.name for host, _ in window.release(11.0, 5)] == first
    window = Window(Politeness(delay_s=2.0))
    window.share({"a": Sharing.CLOSED}, 10.0)
    window.feed(window.host("a"), [1], more=False)
    assert [*window.release(11.0, 5)] == [] and window.next_at() is None
    assert window.clear() == [1]
    window.share({}, 20.0)
    window.feed(window.host("a"), [1], more=False)
    assert [*window.release(21.9, 5)] == [] and window.next_at() == 22.0
    assert [entry for _, entry in window.release(22.0, 5)] == [1]


def test_window_forgets_only_hosts_with_nothing_owed() -> None:
    crawl = Crawl(Politeness(delay_s=1.0), {"a": 1, "b": 1})
    crawl.run()
    crawl.window.forget_idle(crawl.now)
    assert crawl.window.hosts, "a delay is still owed"
    crawl.window.forget_idle(crawl.now + 10)
    assert not crawl.window.hosts
