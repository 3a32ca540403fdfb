"""The dispatcher: from the frontier, through the window and past robots.txt, to the fetch engine.

Invariant: a page is requested only when its host's politeness and its origin's robots.txt allow it, and each request
that was started ends with one call, of `page_ended` or of `robots_answered`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from gcs.core.messages.tuples import BusyNote, HostState, RobotsNote
from gcs.core.page.ai_preferences import preferences
from gcs.core.page.robots import Robots
from gcs.core.page.values import FINAL, TOO_LONG, Failure, FailureKind, PageFacts, Request, Response, Result
from gcs.core.polite import politeness
from gcs.core.polite.politeness import Sharing
from gcs.core.polite.window import Host, Window
from gcs.core.report.counters import Counters
from gcs.core.url.canonical import host_of_url, origin_of_url
from gcs.core.url.queued_url import QueuedUrl, level_of
from gcs.core.url.sortkey import host_key, host_name
from gcs.ports.fetch import Fetcher
from gcs.ports.frontier import Frontier, FrontierSettings, Mark
from gcs.roles.gatherer.fetch.backlog import Backlog
from gcs.roles.gatherer.fetch.robots_cache import MAX_HOPS, RobotsCache

#: failures that say nothing of the robots.txt itself: its host, or all of the web, is out of reach
OF_THE_HOST = frozenset(
    {FailureKind.DNS, FailureKind.CONNECT, FailureKind.TLS, FailureKind.PROXY, FailureKind.FORBIDDEN_ADDRESS}
)
#: waiting URLs that are work for a second or so
PLENTY_URLS = 500
#: hosts looked up on disk at a time when the window has room
HOSTS_PER_FILL = 256
#: most URLs extracted in one turn from an order over all hosts, while no host may be asked
DRAWN_PER_TURN = 2_000
#: hosts that are remembered for what pages need of them
MOST_NEEDS = 100_000


class PageVisit(msgspec.Struct, frozen=True):
    """Tag of a request for a page."""

    host: Host[QueuedUrl]
    entry: QueuedUrl
    #: what a helper has read in the page
    facts: PageFacts | None = None
    #: the helper is a stranger
    doubted: bool = False
    #: the helper has a browser
    is_rendered: bool = False
    #: AI preferences that the robots.txt states for the page
    usage: tuple[str, ...] = ()


class RobotsVisit(msgspec.Struct, frozen=True):
    """Tag of a request for a robots.txt."""

    host: Host[QueuedUrl]
    origin: str
    hops: int


@dataclass(frozen=True, slots=True)
class DispatcherParts:
    """The parts and settings that a dispatcher works with."""

    frontier: Frontier
    limits: FrontierSettings
    window: Window[QueuedUrl]
    robots: RobotsCache
    fetcher: Fetcher
    counters: Counters
    #: URLs that were requested and have no record yet; emptied by the recorder
    open_urls: set[str] = field(default_factory=set)
    #: R: URLs extracted at a time, where all hosts share one order
    draw_urls: int = 1
    #: whether the user by now excludes a URL that was queued earlier
    is_left_out: Callable[[QueuedUrl], bool] = lambda _: False
    #: the headers that plug-ins want in the request of a URL
    headers_of: Callable[[str], tuple[tuple[str, str], ...]] | None = None
    #: called for every host that is overloaded: its name, and for how many seconds it is to be left alone
    on_busy: Callable[[str, float], None] = lambda *_: None
    #: called for every URL that is not to be requested
    on_refused: Callable[[str], None] = lambda _: None
    #: what the crawl is for; "" for anything
    purpose: str = ""


class Dispatcher:
    """Decides what is requested when."""

    def __init__(self, parts: DispatcherParts) -> None:
        self._frontier, self._limits, self._window = parts.frontier, parts.limits, parts.window
        self._robots, self._fetcher, self._counters = parts.robots, parts.fetcher, parts.counters
        self._draw_urls, self._is_left_out, self._on_busy = parts.draw_urls, parts.is_left_out, parts.on_busy
        self._on_refused = parts.on_refused
        self._headers_of, self._purpose = parts.headers_of, parts.purpose
        self.backlog = Backlog(parts.window, parts.frontier)
        #: URLs that were requested and have no record yet
        self.open = parts.open_urls
        #: origins whose robots.txt is being asked for
        self.asked_origins: set[str] = set()
        self._robots_hops: dict[str, tuple[str, int]] = {}  # by origin: the URL that its robots.txt redirects to
        self._cursor = ""  # hosts after this name have not been offered to the window in this round
        self._hosts_on_disk = True
        #: hosts that were asked for what pages need, and whether nothing else is asked for any more
        self._needs: set[str] = set()
        self._is_last = False
        #: whether another turn is wanted at once, to go on drawing
        self.is_drawing = False

    @property
    def window(self) -> Window[QueuedUrl]:
        return self._window

    @property
    def next_at(self) -> float | None:
        """When the next host that has to wait may be asked."""
        return self._window.next_at()

    @property
    def delayed(self) -> int:
        """Hosts that have URLs and wait for their delays."""
        return self._window.delayed

    @property
    def ready(self) -> int:
        """Hosts that may be asked, and wait for room."""
        return self._window.ready

    @property
    def has_waiting(self) -> bool:
        """Whether the window holds anything."""
        return self._window.waiting > 0

    @property
    def has_plenty(self) -> bool:
        """Whether the window holds work for a while."""
        return self._window.waiting > PLENTY_URLS or self._frontier.pooled() > PLENTY_URLS

    def queued(self, entries: list[QueuedUrl]) -> None:
        """The frontier has just taken in these entries: offer their hosts to the window."""
        if self._frontier.is_pooled:
            return  # the order over all hosts says when they are drawn
        for host, urls in Counter(host_of_url(entry.url) for entry in entries).items():
            self._offer(host)
            self.backlog.added(host, urls)
        for host, urls in Counter(host_of_url(entry.url) for entry in entries if level_of(entry.depth)).items():
            self._put_first(host, urls)

    def _put_first(self, name: str, urls: int) -> None:
        """What pages need goes before the pages of its host that are in the window: it is first on disk, too."""
        if len(self._needs) < MOST_NEEDS:
            self._needs.add(name)
        host = self._window.hosts.get(name)
        if host is not None and 0 < len(host.waiting) <= self._limits.host_window_urls:
            entries = self._frontier.take(name, urls)
            self._window.feed_first(host, reversed(entries))
            self.backlog.taken(host, len(entries), is_all=False)

    def only_requisites(self) -> None:
        """From now on, ask for nothing but what the stored pages need."""
        self.put_back()
        self._hosts_on_disk, self._is_last = False, True
        for name in self._needs:
            self._window.arrived(name)

    def end_last(self) -> None:
        """Ask for nothing more of that, either."""
        if self._is_last:
            self.put_back()
            self._is_last = False

    @property
    def has_last(self) -> bool:
        """Whether `only_requisites` has left something to do."""
        return self._is_last and bool(self._window.waiting or self._window.hungry)

    @property
    def wants_last(self) -> bool:
        """Whether a turn is wanted for that at once."""
        return self._is_last and bool(self._window.hungry)

    def put_back(self) -> None:
        """The plan has changed: return everything in the window that is not in flight to the frontier."""
        self._frontier.put_back(entry.url for entry in self._window.clear())
        self._hosts_on_disk, self._cursor = True, ""

    def put_back_hosts(self, names: Iterable[str]) -> None:
        """Return what waits of these hosts in the window to the frontier, where its order may change."""
        for name in names:
            if (host := self._window.hosts.get(name)) is not None and host.waiting:
                self._frontier.put_back(entry.url for entry in self._window.withdraw(host))
                self._offer(name)

    def share_hosts(self, sharing: Mapping[str, Sharing], now: float) -> None:
        """Other gatherers ask these hosts too."""
        self.put_back()
        for name in sharing:
            self._window.host(name)  # the window must know hosts that are closed now when they are opened
        self._window.share(sharing, now)

    def host_states(self, now: float) -> list[HostState]:
        """The delays of the hosts, and their robots.txt, for the gatherer that asks them next."""
        robots = self._robots.export(self._window.hosts)
        return [
            HostState(
                host_key(host.name),
                crawl_delay_s=host.pace.crawl_delay_s,
                adaptive_s=host.pace.adaptive_s,
                robots=robots.get(host.name),
                wait_s=max(host.pace.next_at - now, politeness.delay_of(host.pace, self._window.rules)),
            )
            for host in self._window.hosts.values()
        ]

    def delays(self) -> tuple[float, list[tuple[bytes, float]]]:
        """The seconds that every host is owed, and the hosts in the window that are owed more."""
        rules = self._window.rules
        delays = ((host.name, politeness.delay_of(host.pace, rules)) for host in self._window.hosts.values())
        return rules.delay_s, [(host_key(name), delay_s) for name, delay_s in delays if delay_s > rules.delay_s]

    def free_in(self, host: str, now: float) -> float:
        """For how many seconds politeness lets nobody ask this host; 0 if no delay is known."""
        known = self._window.hosts.get(host)
        return max(known.pace.next_at - now, 0.0) if known else 0.0

    def take_over(self, states: Iterable[HostState], now: float) -> None:
        """Keep to the delays of a range's last owner.

        Hosts that are not among `states` begin with a pause: they may have been asked just now, if the owner died.
        """
        self._window.begin_anew(now)
        for state in states:
            pace = self._window.host(host_name(state.host)).pace
            pace.crawl_delay_s = max(pace.crawl_delay_s, state.crawl_delay_s)
            pace.adaptive_s = max(pace.adaptive_s, state.adaptive_s)
            politeness.wait(pace, self._window.rules, state.wait_s, now)
            if state.robots:
                self._robots.take_over(state.robots)

    def rest(self, urls: Iterable[str], until: float) -> None:
        """Leave the hosts of these URLs alone until then: a helper may be fetching them."""
        for host in {host_of_url(url) for url in urls}:
            pace = self._window.host(host).pace
            pace.next_at = max(pace.next_at, until)

    def take_note(self, note: RobotsNote | BusyNote, now: float) -> None:
        """Take in the note of another owner of a shared host: its robots.txt, or that the host is overloaded."""
        if isinstance(note, BusyNote):
            politeness.wait(self._window.host(note.host).pace, self._window.rules, note.wait_s, now)
        elif self._robots.rules(note.origin, now) is None:
            self._robots.answered(note.origin, note.status, note.body, now)

    def fill(self, now: float, room: int) -> float | None:
        """Feed hosts from the frontier, so that `room` requests can start; returns when the next retry is due."""
        hosts, due_at = self._frontier.requeue_due(now)
        for name in hosts:
            self._offer(name)
            self.backlog.added(name)
        if self._hosts_on_disk and not self._is_last and self._window.waiting < self._limits.window_urls // 2:
            self._next_hosts(now)
        batch = self._limits.host_window_urls
        # only when there is room: better entries may arrive before that
        for host in list(self._window.hungry.values()) if room > 0 else ():
            entries = self._frontier.take(host.name, batch)
            if self._is_last and (others := [entry.url for entry in entries if not level_of(entry.depth)]):
                self._frontier.put_back(others)
                entries = [entry for entry in entries if level_of(entry.depth)]
            self._window.feed(host, entries, more=len(entries) == batch)
            self.backlog.taken(host, len(entries), is_all=len(entries) < batch)
        if self._frontier.is_pooled and not self._is_last:
            self._draw(now, room)
        return due_at

    def dispatch(self, now: float, room: int) -> list[tuple[QueuedUrl, str]]:
        """Start up to `room` requests. Returns entries to give up, for want of a robots.txt, each with the reason."""
        closed: list[tuple[QueuedUrl, str]] = []
        for host, entry in self._window.release(now, room):
            if self._is_left_out(entry):
                self._refuse(entry)
                continue
            origin = origin_of_url(entry.url)
            robots = self._robots.rules(origin, now)
            if robots is None:
                self._window.give_back(host, entry)
                host.held = True
                url, hops = self._robots_hops.pop(origin, (f"{origin}/robots.txt", 0))
                self.asked_origins.add(origin)
                self._request(host, Request(url, tag=RobotsVisit(host, origin, hops), once=True), now)
            elif robots.allows(entry.url):
                if host.pace.crawl_delay_s != (robots.crawl_delay_s or 0.0):  # the window released it by an older delay
                    politeness.asked_for(host.pace, self._window.rules, robots.crawl_delay_s or 0.0)
                    self._window.give_back(host, entry)
                    continue
                usage = robots.usage_of(entry.url)
                if self._purpose and not preferences(usage).get(self._purpose, True):
                    self._counters.denied_by_robots += 1
                    self._refuse(entry)
                    continue
                tag = PageVisit(host, entry, usage=tuple(usage))
                self.open.add(entry.url)
                once = politeness.delay_of(host.pace, self._window.rules) > 0
                headers = self._headers_of(entry.url) if self._headers_of else ()
                request = Request(entry.url, entry.etag or None, entry.last_modified or None, tag, once, headers)
                self._request(host, request, now)
            elif robots.provisional:
                closed.append((entry, self._robots.why_closed(origin)))
            else:
                self._counters.denied_by_robots += 1
                self._refuse(entry)
        return closed

    def _refuse(self, entry: QueuedUrl) -> None:
        self._frontier.finish(entry.url, Mark.REFUSED)
        self._on_refused(entry.url)

    def page_ended(self, visit: PageVisit, result: Result, now: float) -> float:
        """A page's request has ended; returns the seconds that the server asks to wait, or 0."""
        if visit.doubted:  # an untrusted helper is no evidence of a host
            self._window.ended(visit.host, now)
            return 0.0
        retry_after_s = _retry_after_s(result)
        self._ended(visit.host, result, retry_after_s, now)
        return retry_after_s

    def _ended(self, host: Host[QueuedUrl], result: Result, retry_after_s: float, now: float) -> None:
        """A request has ended, whatever was asked for."""
        if type(result) is not Response:
            self._window.ended(host, now)
            return
        self._window.ended(host, now, result.ip, result.status, retry_after_s)
        if result.status in politeness.OVERLOADED:
            self._on_busy(host.name, host.pace.next_at - now)

    def queue_again(self, entry: QueuedUrl) -> None:
        """Request the page once more, when its host's delay is over."""
        self.open.discard(entry.url)
        self._frontier.put_back((entry.url,))
        self._offer(host_of_url(entry.url))
        self.backlog.added(host_of_url(entry.url))

    def robots_answered(self, visit: RobotsVisit, result: Result, target: str | None, now: float) -> Robots | None:
        """Take in the result of a robots.txt request; `target` is set for a redirect. Returns the rules once known.

        The host was held for this request. It is free again, after its delay or after the pause before the next try.
        """
        host, robots = visit.host, None
        host.held = False
        self.asked_origins.discard(visit.origin)
        retry_after_s = _retry_after_s(result)
        if type(result) is Response and result.truncated not in ("", TOO_LONG):  # a rule may be in what is missing
            result = Failure(result.request, FailureKind.PROTOCOL, "", result.started_at, result.elapsed_s)
        if type(result) is Response and target and visit.hops < MAX_HOPS:
            self._robots_hops[visit.origin] = target, visit.hops + 1  # asked for when the delay is over
        elif type(result) is Response and result.status < 500 and result.status not in politeness.OVERLOADED:
            robots = self._robots.answered(visit.origin, result.status, result.content, now)
            host.pace.crawl_delay_s = robots.crawl_delay_s or 0.0
        else:
            kind = result.kind if type(result) is Failure else None
            why = str(kind) if kind in OF_THE_HOST else "robots-unreachable"
            again_at = self._robots.unreachable(visit.origin, why, now, retry_after_s, final=kind in FINAL)
            host.pace.next_at = max(host.pace.next_at, again_at or 0.0)
        self._ended(host, result, retry_after_s, now)
        return robots

    def close_origin(self, origin: str, now: float) -> None:
        """Give up the URLs of an origin whose robots.txt holds whoever reads it."""
        self._robots.close(origin, now)

    def _request(self, host: Host[QueuedUrl], request: Request, now: float) -> None:
        self._window.begin(host, now)
        self._fetcher.start(request)

    def _offer(self, name: str) -> None:
        """The frontier has URLs of this host: let the host into the window, if there is room for another one."""
        if name in self._window.hosts or self._window.waiting < self._limits.window_urls:
            self._window.arrived(name)
        else:
            self._hosts_on_disk = True

    def _draw(self, now: float, room: int) -> None:
        """Extract the best URLs of all hosts, R at a time, until politeness lets `room` requests start.

        Each host has a share of the window, so that a host with a long delay does not fill it: its further URLs go
        to its host queue, and the next best URLs of other hosts are drawn.
        """
        window, limits, drawn = self._window, self._limits, 0
        self.is_drawing = False
        while window.startable(now) < room and self._frontier.pooled():
            if drawn >= DRAWN_PER_TURN:
                self.is_drawing = True
                return
            granted: dict[str, int] = {}

            def fits(name: str, granted: dict[str, int] = granted) -> bool:
                known = window.hosts.get(name)
                share = granted[name] = granted.get(name, len(known.waiting) if known else 0) + 1
                return share <= limits.host_window_urls and window.waiting < limits.window_urls

            entries, put_off = self._frontier.extract(self._draw_urls, fits)
            for entry in entries:
                name = host_of_url(entry.url)
                has_more = name in window.hosts and window.hosts[name].more
                window.feed(window.host(name), (entry,), has_more)
            for name in put_off:
                self._offer(name)
            drawn += self._draw_urls

    def _next_hosts(self, now: float) -> None:
        """Offer the next hosts in key order; after a round from the first host to the last, none is left on disk."""
        self._window.forget_idle(now)
        names = self._frontier.hosts(self._cursor, HOSTS_PER_FILL)
        for name in names:
            self._window.arrived(name)
        at_end = len(names) < HOSTS_PER_FILL
        self._hosts_on_disk = not at_end or bool(self._cursor)
        self._cursor = "" if at_end else names[-1]


def _retry_after_s(result: Result) -> float:
    """The seconds for which an overloaded server asks to be left alone, or 0."""
    if type(result) is not Response or result.status not in politeness.OVERLOADED:
        return 0.0
    return politeness.retry_after_s(result.header("retry-after") or "", result.header("date") or "")
