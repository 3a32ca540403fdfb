"""One gatherer's life: startup → step* → shutdown.

A step is one turn: take in what has arrived (answers, texts), queue the links it brought, fill the window from the
frontier, start what politeness lets go, write out, and once in a while make everything durable. It is a plain
function that the event loop calls whenever something happened; it never waits.

Invariant: a checkpoint syncs the log before it commits the frontier, so the frontier never knows more than the log;
what the log knows more is replayed at the next startup.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gcs.core.admission import Admission
from gcs.core.page import PageRecord, Response, Result
from gcs.core.report import Share
from gcs.core.window import Window
from gcs.events import Events
from gcs.ports.fetch import Fetcher
from gcs.ports.frontier import Entry, Frontier
from gcs.ports.records.log import Position
from gcs.ports.records.store import Store
from gcs.roles.gatherer.dispatcher import Dispatcher, PageVisit, RobotsVisit
from gcs.roles.gatherer.meter import Meter
from gcs.roles.gatherer.reader import Reader, Reading
from gcs.roles.gatherer.recorder import Recorder
from gcs.roles.gatherer.revisits import revisits
from gcs.roles.gatherer.robots import RobotsDesk
from gcs.settings import Settings

if TYPE_CHECKING:  # a gatherer alone does without it, and it is slow to load
    from gcs.roles.gatherer.team import Team

events = Events("gatherer")

#: answers taken in per turn, so that sockets are served in between
RESULTS_PER_STEP = 64


#: seconds between checkpoints while blocks wait to leave or to be acked: with work in the window, and without
BUSY_CHECKPOINT_S, IDLE_CHECKPOINT_S = 1.0, 0.2


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
    #: membership in a team; None for a gatherer alone
    team: "Team | None" = None


class Gatherer:
    """Crawls until nothing is left, a limit is reached, or `stop` is called."""

    def __init__(self, name: str, settings: Settings, parts: Parts, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.state = State.RUNNING
        self._settings = settings
        self._frontier, self._store = parts.frontier, parts.store
        self._admission, self._reader, self._texts = parts.admission, parts.reader, parts.reader.texts
        self._clock = clock
        self._fetcher = parts.make_fetcher(self._arrive)
        self._meter = Meter(name, self._frontier, clock())
        self.tally = self._meter.tally
        self._resumes = self._frontier.known() > 0
        rules = settings.politeness
        self._recorder = Recorder(
            name,
            rules,
            settings.crawl.max_redirects,
            self._frontier,
            self._store,
            self._reader,
            self._admission,
            self.tally,
        )
        self._desk = desk = RobotsDesk(rules, settings.fetch.robots_token, self._frontier.note, self._frontier.set_note)
        window: Window[Entry] = Window(rules, clock() if self._resumes else 0.0)
        self._dispatcher = Dispatcher(self._frontier, settings.frontier, window, desk, self._fetcher, self.tally)
        self._recorder.on_done = self._dispatcher.open.discard
        self._recorder.on_record = self._recorded
        #: where the records of the crawl are, if every page is to be asked for again
        self.recrawl: Path | None = None
        self.team = parts.team
        if self.team:
            self.team.wake = self._wake
            self.team.is_quiet = self._is_quiet
            self.team.figures = self._figures
            self.team.look_back.admit = self._admission.wanted
            self.team.look_back.seeds = lambda: self._admission.seeds
        self._results: deque[Result] = deque()  # filled by the fetch engine; emptied by step
        self._texts_read: deque[tuple[Entry, Response, Reading]] = deque()  # filled by the text pool; emptied by step
        self._in_texts = 0
        self._paused = False
        self._ending: State | None = None
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._watch: asyncio.Task[None] | None = None
        self._checkpoint_at = clock()

    # -- life ------------------------------------------------------------------------------------------

    async def run(self, seeds: list[str]) -> State:
        """Crawl. Raises what ends it against its will, after everything stored is safe."""
        try:
            await self.startup(seeds)
            self.state = await self._finished
        finally:
            await self.shutdown()
        return self.state

    async def startup(self, seeds: list[str]) -> None:
        """Go on from the last checkpoint and the record log, queue the seeds, open the engine."""
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[State] = self._loop.create_future()
        if self.team:
            await self.team.startup(self.tally.traffic)
            self._dispatcher.share_hosts(self.team.turns)
            self._watch = self._loop.create_task(self._see_to_leaving(self.team))
            self._watch.add_done_callback(self._watch_ended)
        self._replay()
        if self.recrawl:
            self._begin_again(self.recrawl)
        if seeds:
            self._queue([Entry(url) for url in self._admission.admit(seeds, 0)])
        await self._fetcher.open()
        if self._resumes:
            events.info("resumed", pages=self.tally.pages, queued=self._frontier.queued())
        self._wake()

    async def shutdown(self) -> None:
        """Close everything in order; what is in flight stays queued for the next run."""
        if self._timer:
            self._timer.cancel()
        await self._fetcher.close()
        if self._texts:
            await self._texts.close()
        if self._watch:
            self._watch.cancel()
        try:
            if self._finished.done() and not self._finished.cancelled() and not self._finished.exception():
                self._checkpoint(self._clock())
                self._store.finish()
                self.final_share = self.share()
        finally:
            self._store.close()
            self._frontier.close()
            if self.team:
                await self.team.shutdown()

    def leave(self) -> None:
        """Hand everything over to the others, then end."""
        assert self.team
        self.team.leaving = True
        self._wake()

    def stop(self, state: State = State.STOPPED) -> None:
        """Start nothing more; end when what is in flight has been stored."""
        self._ending = self._ending or state
        self._wake()

    def pause(self, paused: bool) -> None:
        """Start nothing more until told to go on."""
        self._paused = paused
        self._wake()

    def share(self) -> Share:
        """This gatherer's part of the report."""
        team = self.team
        return self._meter.share(self._clock(), team.superpages if team else 1, team.epoch if team else 0)

    # -- the turn --------------------------------------------------------------------------------------

    def step(self) -> None:
        """One turn. See the module docstring."""
        self._scheduled = False
        if self._finished.done():
            return
        try:
            self._turn(self._clock())
        except Exception as error:  # whatever it is, it ends the crawl here and is raised by `run`
            self.state = State.FAILED
            self._finished.set_exception(error)

    def _turn(self, now: float) -> None:
        self._meter.turn(now, bool(self._fetcher.in_flight or self._in_texts or self._results))
        if self.team:
            self._meet_team(self.team, now)
        for _ in range(min(len(self._results), RESULTS_PER_STEP)):
            self._receive(self._results.popleft(), now)
        while self._texts_read:
            self._in_texts -= 1
            self._recorder.page(*self._texts_read.popleft())
        self._queue_links()
        self._check_limits(now)
        due_at = self._dispatcher.fill(now)
        # at a shared host milliseconds count: a turn may have taken some
        for entry, why in self._dispatcher.dispatch(self._clock(), self._room()):
            self._recorder.give_up(entry, why, now)
        self._store.flush()
        if now >= self._checkpoint_at + self._checkpoint_s or self._frontier.wants_commit:
            self._checkpoint(now)
        if self._is_over():
            self._finished.set_result(self._ending or State.DONE)
        elif self._results:
            self._wake()
        else:
            self._sleep(now, due_at)

    def _meet_team(self, team: "Team", now: float) -> None:
        """Take in what the others sent, and obey the control tuple."""
        epoch = team.epoch
        entries = team.begin(
            self._dispatcher.open, self._dispatcher.put_back, lambda: self._dispatcher.host_states(now)
        )
        if team.epoch != epoch:
            self._dispatcher.share_hosts(team.turns)
        while team.received_hosts:
            self._dispatcher.take_over(team.received_hosts.pop())
        while team.observer.robots:
            note = team.observer.robots.popleft()
            if self._desk.rules(note.origin, now) is None:
                self._desk.answered(note.origin, note.status, note.body, note.fetched_at)
        if entries:
            self._insert(entries)
        if team.observer.charter is not None:
            self._admission.widen(tuple(team.observer.charter.seeds))
        control = team.observer.control
        if control is not None:
            self._paused = control.state == "paused"
            if control.state == "stopping":
                self._ending = self._ending or State(control.reason or State.STOPPED)
            elif control.state == "done":
                self._ending = self._ending or State.DONE

    async def _see_to_leaving(self, team: "Team") -> None:
        """Ends a leaver when nobody counts on it any more."""
        while True:
            await asyncio.sleep(self._settings.team.beat_s)
            if team.leaving and await team.may_end():
                self.stop(State.STOPPED)
                return

    def _watch_ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) and not self._finished.done():
            self._finished.set_exception(error)

    def _receive(self, result: Result, now: float) -> None:
        tag = result.request.tag
        if type(tag) is PageVisit:
            retry_after_s = self._dispatcher.page_ended(tag, result, now)
            if type(result) is Response and 200 <= result.status < 300:
                self._read(tag.entry, result)
            else:
                self._recorder.without_page(tag.entry, result, now, retry_after_s)
        elif type(tag) is RobotsVisit:
            target = None
            if type(result) is Response:
                self._store.fetched(result)
                target = self._reader.redirect_target(result) if 300 <= result.status < 400 else None
            robots = self._dispatcher.robots_answered(tag, result, target, now)
            if robots and self.team and type(result) is Response:
                self.team.tell_robots(tag.host.name, tag.origin, result.status, result.content, now)
            if robots and self._settings.crawl.sitemaps:
                urls = self._reader.join(f"{tag.origin}/", robots.sitemaps)
                self._recorder.links += [Entry(url) for url in self._admission.admit(urls, 0)]

    def _read(self, entry: Entry, response: Response) -> None:
        reading = self._reader.read(response)
        if self._texts is None or reading.document.source:
            self._recorder.page(entry, response, reading)
            return
        self._in_texts += 1
        task = self._loop.create_task(self._reader.read_text(response, reading))
        task.add_done_callback(lambda done: self._text_arrives(entry, response, done))

    def _text_arrives(self, entry: Entry, response: Response, done: "asyncio.Task[Reading]") -> None:
        if not done.cancelled():
            self._texts_read.append((entry, response, done.result()))
            self._wake()

    def _recorded(self, record: PageRecord, elapsed_s: float) -> None:
        """A URL is dealt with: evidence for the explored fraction, and statistics for the team."""
        self._meter.explored.page(self._admission.in_scope(record.outlinks))
        if self.team:
            self.team.recorded(record, elapsed_s)

    def _is_over(self) -> bool:
        if self._fetcher.in_flight or self._results or self._in_texts or self._recorder.links:
            return False
        return self._ending is not None or (self.team is None and self._is_quiet())

    def _is_quiet(self) -> bool:
        """Nothing is queued, in flight or being read."""
        if self._fetcher.in_flight or self._results or self._in_texts or self._recorder.links:
            return False
        return not self._dispatcher.has_waiting and not self._frontier.queued()

    def _figures(self) -> dict[str, float]:
        """What the others may know of us, with each heartbeat."""
        return self._meter.figures(self._clock(), self.share(), self._fetcher.in_flight + self._in_texts)

    def _check_limits(self, now: float) -> None:
        crawl = self._settings.crawl
        over_time = crawl.max_seconds and self._meter.running_s(now) >= crawl.max_seconds
        over_pages = crawl.max_pages and self.tally.pages >= crawl.max_pages
        if (over_time or over_pages) and self._ending is None:
            self._ending = State.LIMIT

    def _room(self) -> int:
        """How many requests may be started now."""
        if self._ending or self._paused or (self.team and not self.team.may_fetch()):
            return 0
        room = self._settings.fetch.connections - self._fetcher.in_flight
        if self._texts:
            room = min(room, self._texts.free - self._fetcher.in_flight)
        if limit := self._settings.crawl.max_pages:
            room = min(room, limit - self.tally.pages - self._fetcher.in_flight - self._in_texts)
        return room

    def _queue_links(self) -> None:
        links, self._recorder.links = self._recorder.links, []
        if links:
            self._queue(links)

    def _queue(self, entries: list[Entry]) -> None:
        """Links that were admitted: ours into the frontier, the others' on their way."""
        self._insert(self.team.route(entries) if self.team else entries)

    def _insert(self, entries: list[Entry]) -> None:
        new = self._frontier.insert(entries, self._settings.politeness.host_pages)
        self.tally.new_links += len(new)
        self._meter.explored.known(len(new))
        self._dispatcher.queued(new)
        if self.team:
            self.team.queued(new)

    # -- durability ------------------------------------------------------------------------------------

    def _checkpoint(self, now: float) -> None:
        """Make the log durable, then the frontier that follows from it."""
        self._checkpoint_at = now
        self._queue_links()
        position = self._store.sync()
        self._frontier.set_note("position", msgspec.msgpack.encode(position))
        self._meter.note(self.share())
        if self.team:
            self.team.before_commit()
        self._frontier.commit()
        if self.team:
            self.team.after_commit()

    def _replay(self) -> None:
        """Apply the records that the log holds beyond the last checkpoint."""
        packed = self._frontier.note("position")
        position = msgspec.msgpack.decode(packed, type=Position) if packed else Position()
        replayed = 0
        for record in self._store.tail(position):
            self._recorder.replay(record)
            self._queue_links()
            replayed += 1
        if replayed:
            events.info("replayed", records=replayed)

    def _begin_again(self, directory: Path) -> None:
        """Queue all that was ever recorded, and count from nothing; in one commit, so that it happens once."""
        self._meter.begin_again()
        queued = self._frontier.requeue(revisits(directory))
        self._meter.explored.known(queued)
        events.info("recrawl", queued=queued)
        self._checkpoint(self._clock())

    # -- when to turn ----------------------------------------------------------------------------------

    def _arrive(self, result: Result) -> None:
        """The fetch engine's sink."""
        self._results.append(result)
        self._wake()

    def _wake(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self.step)

    def _sleep(self, now: float, due_at: float | None) -> None:
        """Until the next host or retry is due, or the next checkpoint."""
        at = self._checkpoint_at + self._checkpoint_s
        for other in (due_at, self._dispatcher.next_at):
            if other is not None and other < at:
                at = other
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_later(max(at - now, 0.0), self._wake)

    @property
    def _checkpoint_s(self) -> float:
        """Seconds between checkpoints: shorter while others wait for what a commit lets go."""
        seconds = self._settings.frontier.checkpoint_s
        if self.team and self.team.has_uncommitted:
            busy = self._dispatcher.has_plenty
            seconds = min(seconds, BUSY_CHECKPOINT_S if busy else IDLE_CHECKPOINT_S)
        return seconds
