"""The gatherer: takes URLs from its frontier, fetches them politely, reads them, stores them, queues their links.

    startup → step* → shutdown

A step is one turn: take in what has arrived (answers, texts), queue the links it brought, fill the window from the
frontier, start what politeness lets go, write out, and once in a while make everything durable. It is a plain
function called by the event loop whenever something happened; it never waits.

Invariants
- A URL is finished only by `_store`, in the same turn in which its record is appended to the record log.
- A checkpoint syncs the log before it commits the frontier, so the frontier never knows more than the log;
  what the log knows more is replayed at the next startup.
"""

import asyncio
import os
import resource
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from gcs.core import politeness
from gcs.core.admission import Admission
from gcs.core.page import Failure, PageRecord, Request, Response, Result
from gcs.core.report import Share
from gcs.core.robots import Robots
from gcs.core.tally import Tally
from gcs.core.urls import host as host_of
from gcs.core.urls import origin as origin_of
from gcs.core.window import Host, Window
from gcs.errors import GcsError
from gcs.events import Events
from gcs.ports.fetch import Fetcher
from gcs.ports.frontier import Entry, Frontier, Mark
from gcs.ports.records import Position, Store
from gcs.ports.summarise import TextPool
from gcs.roles.gatherer.reader import Reader, Reading
from gcs.roles.gatherer.robots import MAX_HOPS, RobotsDesk
from gcs.settings import Settings

events = Events("gatherer")

#: answers taken in per turn, so that sockets are served in between
RESULTS_PER_STEP = 64
#: hosts looked up on disk at a time when the window has room
HOSTS_PER_FILL = 256


class State(StrEnum):
    """How a crawl stands or ended, as the report says it."""

    RUNNING = "running"
    DONE = "done"
    LIMIT = "limit"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Parts:
    """The concrete parts that a gatherer works with. Made by the CLI, closed by the gatherer."""

    frontier: Frontier
    store: Store
    admission: Admission
    reader: Reader
    make_fetcher: Callable[[Callable[[Result], None]], Fetcher]
    texts: TextPool | None


class PageVisit(msgspec.Struct, frozen=True):
    """Tag of a request for a page."""

    host: Host[Entry]
    entry: Entry


class RobotsVisit(msgspec.Struct, frozen=True):
    """Tag of a request for a robots.txt."""

    host: Host[Entry]
    origin: str
    hops: int


class Gatherer:
    """One gatherer. `await run()` crawls until nothing is left, a limit is reached or `stop` is called."""

    def __init__(self, name: str, settings: Settings, parts: Parts, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self._settings = settings
        self._rules = settings.politeness
        self._frontier = parts.frontier
        self._store = parts.store
        self._admission = parts.admission
        self._reader = parts.reader
        self._texts = parts.texts
        self._clock = clock
        self._fetcher = parts.make_fetcher(self._arrive)
        self._results: deque[Result] = deque()  # filled by the fetch engine; emptied by step
        self._read: deque[tuple[PageVisit, Response, Reading]] = deque()  # filled by the text pool; emptied by step
        self._links: list[Entry] = []  # filled by _store, robots; emptied by step
        self._in_texts = 0
        self._paused = False
        self._ending: State | None = None
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self.state = State.RUNNING

    # -- life ------------------------------------------------------------------------------------------

    async def run(self, seeds: list[str]) -> State:
        """Crawl. Raises what ends it against its will, after everything stored is safe."""
        await self.startup(seeds)
        try:
            self.state = await self._finished
        finally:
            await self.shutdown()
        return self.state

    async def startup(self, seeds: list[str]) -> None:
        """Open the engine, go on from the last checkpoint and the record log, queue the seeds."""
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[State] = self._loop.create_future()
        now = self._clock()
        self._started_at, self._cpu_at_start = now, _cpu_s()
        self._checkpoint_at = now
        self.tally = Tally.decode(self._frontier.note("tally"))
        self._before = (self.tally.seconds, self.tally.cpu_s)
        self.desk = RobotsDesk(self._rules, self._settings.fetch.robots_token, self._frontier.note, self._frontier.set_note)
        resumed = self._frontier.known() > 0
        self.window: Window[Entry] = Window(self._rules, now if resumed else 0.0)
        self._resume()
        self._queue([Entry(url) for url in self._admission.admit(seeds, 0)])
        self._cursor = ""
        self._disk_hosts = True
        await self._fetcher.open()
        if resumed:
            events.info("resumed", pages=self.tally.pages, queued=self._frontier.queued())
        self._wake()

    async def shutdown(self) -> None:
        """Close everything in order; what is in flight stays queued for the next run."""
        if self._timer:
            self._timer.cancel()
        await self._fetcher.close()
        if self._texts:
            await self._texts.close()
        try:
            self._checkpoint(self._clock())
            if self.state is State.DONE or self.state is State.LIMIT or self.state is State.STOPPED:
                self._store.finish()
        finally:
            self._store.close()
            self._frontier.close()

    def stop(self, state: State = State.STOPPED) -> None:
        """Start nothing more; end when what is in flight has been stored."""
        self._ending = self._ending or state
        self._wake()

    def pause(self, paused: bool) -> None:
        """Start nothing more until told to go on."""
        self._paused = paused
        self._wake()

    def add_seeds(self, urls: list[str]) -> int:
        """Queue more URLs while the crawl runs; returns how many were new."""
        before = self._frontier.known()
        self._queue([Entry(url) for url in self._admission.admit(urls, 0)])
        self._wake()
        return self._frontier.known() - before

    def share(self) -> Share:
        """This gatherer's part of the report."""
        self._measure(self._clock())
        known, queued = self._frontier.known(), self._frontier.queued()
        fraction = (known - queued) / known if known else 0.0
        return Share(self.name, self.tally, known, queued, self.tally.pages, fraction)

    @property
    def in_flight(self) -> int:
        """Requests and texts under way."""
        return self._fetcher.in_flight + self._in_texts

    # -- the turn --------------------------------------------------------------------------------------

    def step(self) -> None:
        """One turn. See the module docstring."""
        self._scheduled = False
        if self._finished.done():
            return
        try:
            self._turn(self._clock())
        except GcsError as error:
            self.state = State.FAILED
            self._finished.set_exception(error)

    def _turn(self, now: float) -> None:
        for _ in range(min(len(self._results), RESULTS_PER_STEP)):
            self._receive(self._results.popleft(), now)
        while self._read:
            self._in_texts -= 1
            self._page(*self._read.popleft())
        if self._links:
            links, self._links = self._links, []
            self._queue(links)
        self._check_limits(now)
        due_at = self._fill(now)
        self._dispatch(now)
        self._store.flush()
        if now >= self._checkpoint_at + self._settings.frontier.checkpoint_s:
            self._checkpoint(now)
        if self._is_over():
            self._finished.set_result(self._ending or State.DONE)
        elif self._results:
            self._wake()
        else:
            self._arm(now, due_at)

    def _is_over(self) -> bool:
        if self._fetcher.in_flight or self._results or self._in_texts or self._links:
            return False
        return self._ending is not None or (not self.window.waiting and not self._frontier.queued())

    def _check_limits(self, now: float) -> None:
        crawl = self._settings.crawl
        over_time = crawl.max_seconds and now - self._started_at >= crawl.max_seconds
        over_pages = crawl.max_pages and self.tally.pages >= crawl.max_pages
        if (over_time or over_pages) and self._ending is None:
            self._ending = State.LIMIT

    def _room(self) -> int:
        """How many requests may be started now."""
        if self._ending or self._paused:
            return 0
        room = self._settings.fetch.connections - self._fetcher.in_flight
        if self._texts:
            room = min(room, self._texts.free - self._in_texts)
        if limit := self._settings.crawl.max_pages:
            room = min(room, limit - self.tally.pages - self._fetcher.in_flight - self._in_texts)
        return room

    # -- frontier to fetch engine ----------------------------------------------------------------------

    def _queue(self, entries: list[Entry]) -> None:
        new = self._frontier.insert(entries, self._rules.host_pages)
        self.tally.new_links += len(new)
        for host in {host_of(entry.url) for entry in new}:
            self._offer(host)

    def _offer(self, host: str) -> None:
        """The frontier has something of this host: let it into the window, if there is room for another host."""
        if host in self.window.hosts or self.window.waiting < self._settings.frontier.window_urls:
            self.window.arrived(host)
        else:
            self._disk_hosts = True

    def _fill(self, now: float) -> float | None:
        """Feed hungry hosts from the frontier; returns when the next retry is due."""
        woken, due_at = self._frontier.wake(now)
        for host in woken:
            self._offer(host)
        limits = self._settings.frontier
        if self._disk_hosts and self.window.waiting < limits.window_urls // 2:
            self.window.forget_idle(now)
            names = self._frontier.hosts(self._cursor, HOSTS_PER_FILL)
            for name in names:
                self.window.arrived(name)
            wrapped = len(names) < HOSTS_PER_FILL
            self._disk_hosts = not wrapped or bool(self._cursor)
            self._cursor = "" if wrapped else names[-1]
        for host in list(self.window.hungry.values()):
            entries = self._frontier.take(host.name, limits.host_window_urls)
            self.window.feed(host, entries, len(entries) == limits.host_window_urls)
        return due_at

    def _dispatch(self, now: float) -> None:
        for host, entry in self.window.release(now, self._room()):
            origin = origin_of(entry.url)
            robots = self.desk.rules(origin, now)
            if robots is None:
                self.window.give_back(host, entry)
                host.held = True
                self.window.begin(host, now)
                self._fetcher.start(Request(f"{origin}/robots.txt", tag=RobotsVisit(host, origin, 0)))
            elif robots.allows(entry.url):
                host.pace.crawl_delay_s = robots.crawl_delay_s
                self.window.begin(host, now)
                self._fetcher.start(
                    Request(entry.url, entry.etag or None, entry.last_modified or None, PageVisit(host, entry))
                )
            elif self.desk.is_closed(robots):
                self._give_up(entry, "robots-unreachable", now)
            else:
                self.tally.denied_by_robots += 1
                self._frontier.finish(entry.url, Mark.REFUSED)

    # -- fetch engine to frontier ----------------------------------------------------------------------

    def _arrive(self, result: Result) -> None:
        """The fetch engine's sink."""
        self._results.append(result)
        self._wake()

    def _receive(self, result: Result, now: float) -> None:
        tag = result.request.tag
        status, retry_after_s, ip = 0, 0.0, ""
        if type(result) is Response:
            status, ip = result.status, result.ip
            if status in (429, 503):
                retry_after_s = _retry_after_s(result, now)
        if type(tag) is RobotsVisit:
            self._robots(tag, result, now)
            self.window.ended(tag.host, now, ip, status, retry_after_s)
            return
        assert type(tag) is PageVisit
        self.window.ended(tag.host, now, ip, status, retry_after_s)
        if type(result) is Failure:
            self._try_again(tag.entry, str(result.kind), now, retry_after_s, None)
            return
        assert type(result) is Response
        if 200 <= status < 300:
            self._summarise(tag, result)
        elif status == 304:
            self.tally.revisits += 1
            self._store_record(tag.entry, result, NOTHING_READ, "")
        elif 300 <= status < 400:
            self._redirect(tag.entry, result, now)
        elif status in politeness.RETRY_STATUSES:
            self._try_again(tag.entry, f"http-{status}", now, retry_after_s, result)
        else:
            self._give_up(tag.entry, f"http-{status}", now, result)

    def _robots(self, visit: RobotsVisit, result: Result, now: float) -> None:
        """An answer for a robots.txt. The host stays held until its rules are known or its pause begins."""
        self.tally.robots_fetched += 1
        host = visit.host
        if type(result) is Response:
            self._store.fetched(result)
            target = self._reader.redirect_target(result) if 300 <= result.status < 400 else None
            if target and visit.hops < MAX_HOPS:
                self.window.begin(host, now)
                self._fetcher.start(Request(target, tag=RobotsVisit(host, visit.origin, visit.hops + 1)))
                return
            if result.status < 500 and result.status != 429:
                robots = self.desk.answered(visit.origin, result.status, result.content, now)
                host.held = False
                host.pace.crawl_delay_s = robots.crawl_delay_s
                self._add_sitemaps(robots)
                return
        host.held = False
        again_at = self.desk.unreachable(visit.origin, now)
        if again_at is not None:
            host.pace.next_at = max(host.pace.next_at, again_at)

    def _add_sitemaps(self, robots: Robots) -> None:
        if self._settings.crawl.sitemaps:
            urls = filter(None, map(self._reader.canonical, robots.sitemaps))
            self._links += [Entry(url) for url in self._admission.admit(urls, 0)]

    def _summarise(self, visit: PageVisit, response: Response) -> None:
        reading = self._reader.read(response)
        if self._texts is None:
            self._page(visit, response, reading)
            return
        self._in_texts += 1

        def done(reading: Reading) -> None:
            self._read.append((visit, response, reading))
            self._wake()

        self._reader.read_text(self._texts, response, reading, done)

    def _page(self, visit: PageVisit, response: Response, reading: Reading) -> None:
        self.tally.pages += 1
        self.tally.bytes += len(response.body)
        self._store_record(visit.entry, response, reading, "")

    def _redirect(self, entry: Entry, response: Response, now: float) -> None:
        target = self._reader.redirect_target(response)
        if target is None or entry.hops >= self._settings.crawl.max_redirects:
            self._give_up(entry, "redirects" if target else f"http-{response.status}", now, response)
            return
        self.tally.redirects += 1
        self._store_record(entry, response, Reading(NOTHING_READ.document, [target], target, False), "")

    def _try_again(self, entry: Entry, kind: str, now: float, retry_after_s: float, response: Response | None) -> None:
        tries = entry.tries + 1
        due_at = politeness.retry_at(tries, self._rules, now, retry_after_s)
        if due_at is None or kind in FINAL_FAILURES:
            self._give_up(entry, kind, now, response)
        else:
            self.tally.retries += 1
            self._frontier.retry(msgspec.structs.replace(entry, tries=tries), due_at)

    def _give_up(self, entry: Entry, kind: str, now: float, response: Response | None = None) -> None:
        self.tally.fail(kind)
        self._store_record(entry, response, NOTHING_READ, kind, now)

    def _store_record(
        self, entry: Entry, response: Response | None, reading: Reading, failure: str, now: float = 0.0
    ) -> None:
        """A URL is dealt with: its record goes to the log, its links to the frontier, its mark beside them."""
        record = make_record(entry, response, reading, failure, self.name, now)
        self._store.page(response, record)
        self._apply(record, entry.hops)

    def _apply(self, record: PageRecord, hops: int) -> None:
        """What a record means for the frontier: the same when it is made and when it is replayed."""
        self._frontier.finish(record.url, Mark.FAILED if record.failure else Mark.DONE)
        links = record.outlinks
        if not links:
            return
        redirect = 300 <= record.status < 400
        depth = record.depth if redirect else record.depth + 1
        hops = hops + 1 if redirect else 0
        self.tally.links += len(links)
        self._links += [
            Entry(url, record.url, depth, depth, 0, hops) for url in self._admission.admit(links, depth)
        ]

    # -- durability ------------------------------------------------------------------------------------

    def _checkpoint(self, now: float) -> None:
        """Make the log durable, then the frontier that follows from it."""
        self._checkpoint_at = now
        if self._links:
            links, self._links = self._links, []
            self._queue(links)
        position = self._store.sync()
        self._measure(now)
        self._frontier.set_note("position", msgspec.msgpack.encode(position))
        self._frontier.set_note("tally", self.tally.encode())
        self._frontier.commit()

    def _resume(self) -> None:
        """Replay the records that the log holds beyond the last checkpoint."""
        packed = self._frontier.note("position")
        position = msgspec.msgpack.decode(packed, type=Position) if packed else Position()
        replayed = 0
        for record in self._store.tail(position):
            self._recount(record)
            self._apply(record, 0)
            links, self._links = self._links, []
            self._frontier.insert(links, self._rules.host_pages)
            replayed += 1
        if replayed:
            events.info("replayed", records=replayed)

    def _recount(self, record: PageRecord) -> None:
        if record.failure:
            self.tally.fail(record.failure)
        elif record.status == 304:
            self.tally.revisits += 1
        elif 300 <= record.status < 400:
            self.tally.redirects += 1
        else:
            self.tally.pages += 1
            self.tally.bytes += record.bytes

    def _measure(self, now: float) -> None:
        self.tally.seconds = self._before[0] + now - self._started_at
        self.tally.cpu_s = self._before[1] + _cpu_s() - self._cpu_at_start
        self.tally.peak_rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    # -- when to turn ----------------------------------------------------------------------------------

    def _wake(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self.step)

    def _arm(self, now: float, due_at: float | None) -> None:
        """Sleep until the next host or retry is due, or the next checkpoint."""
        at = self._checkpoint_at + self._settings.frontier.checkpoint_s
        for other in (due_at, self.window.next_at()):
            if other is not None and other < at:
                at = other
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_later(max(at - now, 0.0), self._wake)


FINAL_FAILURES = frozenset({"too-large", "forbidden-address", "encoding"})
NOTHING_READ = Reading.nothing()


def make_record(
    entry: Entry, response: Response | None, reading: Reading, failure: str, gatherer: str, now: float
) -> PageRecord:
    """The record of a URL that is dealt with. The store fills in where its WARC record lies."""
    document = reading.document
    noindex = reading.noindex
    return PageRecord(
        url=entry.url,
        final_url=reading.final_url or entry.url,
        parent=entry.parent,
        depth=entry.depth,
        status=response.status if response else 0,
        fetched_at=response.started_at if response else now,
        content_type=(response.header("content-type") or "") if response else "",
        bytes=len(response.body) if response else 0,
        digest="",
        language=document.language,
        title="" if noindex else document.title,
        summary="" if noindex else document.description,
        text="" if noindex else document.text,
        outlinks=reading.outlinks,
        gatherer=gatherer,
        helper="",
        simhash=document.simhash,
        etag=(response.header("etag") or "") if response else "",
        last_modified=(response.header("last-modified") or "") if response else "",
        warc_file="",
        warc_offset=0,
        warc_bytes=0,
        noindex=noindex,
        failure=failure,
    )


def _retry_after_s(response: Response, now: float) -> float:
    """Seconds that a Retry-After header asks for, as a number or a date; 0 without one."""
    value = response.header("retry-after")
    if value is None:
        return 0.0
    if value.strip().isdigit():
        return float(value)
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(value).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return 0.0


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
