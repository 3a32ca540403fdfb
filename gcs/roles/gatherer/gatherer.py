"""One gatherer's life: startup → step* → shutdown.

A step is one turn: take in the responses and texts that have arrived, queue the links found in them, fill the window
from the frontier, start the requests that politeness allows, write to the store, and from time to time make a
checkpoint. A step is a plain function that the scheduler calls whenever something happened; it never waits.

Invariant: an exception in a turn ends the crawl; the last checkpoint and the record log stay safe.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial

import msgspec

from gcs.core.messages.tuples import Bulletin, CrawlState
from gcs.core.page.robots import Robots
from gcs.core.page.values import FailureKind, PageRecord, Response
from gcs.core.plan.keyspace import Keyspace
from gcs.core.polite.window import Window
from gcs.core.report.estimate import CPU, NOTHING, deciding_hosts, limit_of
from gcs.core.report.report import Share
from gcs.core.report.workload import Workload
from gcs.core.url.queued_url import QueuedUrl
from gcs.events import Events
from gcs.ports.frontier.url_rows import key_of
from gcs.ports.records.record_log import BEGINNING, Position
from gcs.ports.system.steady_clock import SteadyClock
from gcs.roles.gatherer.dependencies import Dependencies, GathererState
from gcs.roles.gatherer.fetch.backlog import SlowHosts
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher, DispatcherParts, RobotsVisit
from gcs.roles.gatherer.fetch.fetch_router import FetchRouter
from gcs.roles.gatherer.fetch.responses import OF_ROBOTS, Responses, ResponsesParts, ResultInbox
from gcs.roles.gatherer.fetch.robots_cache import RobotsCache
from gcs.roles.gatherer.helpers.lending import LendingPort
from gcs.roles.gatherer.helpers.spot_check import HeldPage, SpotCheck
from gcs.roles.gatherer.membership import GathererPort, Membership
from gcs.roles.gatherer.record.checkpoints import Checkpoints, last_checkpoint_at
from gcs.roles.gatherer.record.dated_pages import DatedPages
from gcs.roles.gatherer.record.intake import Intake
from gcs.roles.gatherer.record.meter import Meter
from gcs.roles.gatherer.record.recorder import Recorder
from gcs.roles.gatherer.team.bulletin import BulletinSource, BulletinWriter
from gcs.settings import Settings

events = Events("gatherer")

#: seconds between two looks for the slowest hosts
LOOK_S = 1.0


class Gatherer:
    """Crawls until nothing is left, a limit is reached, or `stop` is called."""

    def __init__(
        self, name: str, settings: Settings, dependencies: Dependencies, clock: Callable[[], float] | None = None
    ) -> None:
        """`clock`: a `SteadyClock`, or one that a test moves by hand."""
        self.name, self.state = name, GathererState.RUNNING
        frontier, store, rules = dependencies.frontier, dependencies.store, settings.politeness
        clock = clock or SteadyClock(last_checkpoint_at(frontier))
        self._settings, self._clock = settings, clock
        self._frontier, self._store, self._recrawl = frontier, store, dependencies.recrawl
        self._admission, self._reader = dependencies.admission, dependencies.reader
        self._watchdog, self._outlet = dependencies.watchdog, dependencies.outlet
        self._resumes = frontier.known() > 0 or store.position > BEGINNING
        self._scheduler = Scheduler(self.step)
        self._meter = Meter(name, frontier, clock())
        self.counters = self._meter.counters
        request_turn = self._scheduler.request_turn
        results = ResultInbox(request_turn)
        make_lending, make_team = dependencies.make_lending, dependencies.make_team
        port = LendingPort(results.arrive, request_turn, lambda helpers: self._spot_check.forget(helpers), clock)
        self._lending = lending = make_lending(port) if make_lending else None
        self._fetcher = FetchRouter(dependencies.make_fetcher(results.arrive), lending, dependencies.sign)
        self._dispatcher = Dispatcher(
            DispatcherParts(
                frontier=frontier,
                limits=settings.frontier,
                window=Window(rules, clock() if self._resumes else 0.0),
                robots=RobotsCache(rules, settings.fetch.robots_token, frontier.note, frontier.set_note),
                fetcher=self._fetcher,
                counters=self.counters,
                draw_urls=settings.fetch.connections,
                is_left_out=self._admission.is_left_out,
                headers_of=dependencies.plugins.headers if dependencies.plugins else None,
                on_busy=self._tell_busy,
                on_refused=lambda url: self._meter.explored.count_dealt_with(url, is_page=False),
                purpose=settings.crawl.purpose,
            )
        )
        open_urls = self._dispatcher.open
        self._dated = DatedPages(frontier, self._recrawl.trusts, self._dispatcher.put_back_hosts)
        self._recorder = Recorder(name, settings, dependencies, self.counters, open_urls, self._recorded)
        cut_off = lending.cut_off if lending else lambda _helper, _reason: None
        self._spot_check = SpotCheck(settings.trust, self._record_held, self._fetch_with_own_engine, cut_off)
        self._responses = Responses(
            ResponsesParts(
                inbox=results,
                reader=self._reader,
                store=store,
                recorder=self._recorder,
                dispatcher=self._dispatcher,
                spot_check=self._spot_check,
                lending=lending,
                watchdog=dependencies.watchdog,
                max_content_bytes=settings.fetch.max_content_bytes,
                on_robots=self._robots_known,
            )
        )
        self.team = make_team(self._port()) if make_team else None
        self._intake = Intake(frontier, self.team, self._recorder, self._dispatcher, self._meter, rules.host_pages)
        every_s = settings.frontier.checkpoint_s
        self._checkpoints = Checkpoints(dependencies, self.team, self._intake, self._meter, self.share, every_s)
        self._slow, self._looked_at = SlowHosts(), 0.0
        self._bulletins = BulletinWriter(name)  # a team's member writes its own
        self._paused = False
        self._share_of_connections = 0
        self._upload_s: float | None = None
        self._ending: GathererState | None = None
        self._leaving: asyncio.Task[None] | None = None

    # -- life ------------------------------------------------------------------------------------------

    async def run(self, seeds: list[str], session: int = 1) -> GathererState:
        """Crawl. Raises the exception that ended a turn, after everything is closed."""
        try:
            await self.startup(seeds, session)
            self.state = await self._finished
        finally:
            await self.shutdown()
        return self.state

    async def startup(self, seeds: list[str], session: int = 1) -> None:
        """Continue from the last checkpoint and the record log, or begin the session; queue the seeds, open the engine.

        In a team, the plan says which session it is; `session` counts only if the frontier has to be made anew.
        """
        self._finished: asyncio.Future[GathererState] = asyncio.get_running_loop().create_future()
        if self.team:
            await self.team.startup()
            self._leaving = asyncio.create_task(self.team.relieved())
            self._leaving.add_done_callback(self._on_left)
        self._checkpoints.replay(self._clock(), session)
        if not self.team and session > self._recrawl.session:
            self._intake.insert(self._checkpoints.begin_session(session, self._clock()))
        self._seeds = seeds
        if self._recrawl.is_done:
            self._queue_seeds()
        if held := self._watchdog.held():
            self._give_up_held(held)
            self._checkpoints.hasten()  # the next such page must not undo this
        await self._fetcher.open()
        if self._lending:
            lent = await self._lending.open()
            self._dispatcher.rest(lent, self._clock() + self._settings.helpers.lease_s)
        if self._resumes:
            events.info("resumed", pages=self.counters.pages, queued=self._frontier.queued())
        self._scheduler.start()  # last: a turn needs everything that was opened above
        self._scheduler.request_turn()

    def _give_up_held(self, name: str) -> None:
        """The last run died while it read this page or robots.txt: the same would happen again, here or elsewhere."""
        events.warning("held", name=name)
        if name.startswith(OF_ROBOTS):
            self._dispatcher.close_origin(name.removeprefix(OF_ROBOTS), self._clock())
            return
        key = key_of(name)
        held_back = self._frontier.team_tables.release(key, key + b"\0", 1, Keyspace.TREE)  # its range is closed
        for entry in [*self._frontier.entries(key, key + b"\0"), *held_back]:
            self._recorder.give_up(entry, str(FailureKind.HELD))

    def _port(self) -> GathererPort:
        return GathererPort(
            dispatcher=self._dispatcher,
            admission=self._admission,
            traffic=self.counters.traffic,
            phases=self.counters.phases,
            recrawl=self._recrawl,
            request_turn=self._scheduler.request_turn,
            clock=self._clock,
            is_quiet=self.is_quiet,
            share=self.share,
            figures=self.figures,
            begin_session=lambda session, epoch: self._checkpoints.begin_session(session, self._clock(), epoch),
        )

    async def shutdown(self) -> None:
        """Close everything in order; URLs that are in flight stay queued for the next run."""
        self._scheduler.stop()
        await self._fetcher.close()
        if self._reader.texts:
            await self._reader.texts.close()
        if self._leaving:
            self._leaving.cancel()
        share: Share | None = None
        try:
            if self._finished.done() and not self._finished.cancelled() and not self._finished.exception():
                self._checkpoints.make(self._clock())
                self._store.finish(self._upload_s)
                share = self.final_share = self.share()
        finally:
            self._store.close()
            self._frontier.close()
            self._watchdog.close()
            if self.team:
                await self.team.shutdown(share)

    def leave(self) -> None:
        """Hand everything over to the other gatherers, then end."""
        assert self.team
        self.team.leave()
        self._scheduler.request_turn()

    def stop(self, state: GathererState = GathererState.STOPPED) -> None:
        """Start no more requests; end when the results of those in flight are stored."""
        self._dispatcher.end_last()
        self._ending = self._ending or state
        self._scheduler.request_turn()

    def hurry(self, upload_s: float) -> None:
        """Take no longer than this for uploads at the end; what is left stays on the disk, for the next run."""
        self._upload_s = upload_s

    def pause(self, paused: bool = True) -> None:
        """Start no more requests until `pause(False)`. For a gatherer alone: a team is paused at its whiteboard."""
        self._paused = paused
        self._scheduler.request_turn()

    def limit_connections(self, connections: int) -> None:
        """Open no more than these, because other crawls run on this machine, too; 0 for no such limit."""
        self._share_of_connections = connections
        self._scheduler.request_turn()

    def add_seeds(self, seeds: list[str]) -> None:
        """Crawl from these seeds, too, and widen the scope by them. For a gatherer alone."""
        self._seeds = [*self._seeds, *seeds]
        self._admission.widen(tuple(self._seeds))
        if self._recrawl.is_done:  # otherwise all seeds are queued when it is
            self._queue_seeds()
        self._scheduler.request_turn()

    def wake(self) -> None:
        """The outlet has room again."""
        self._scheduler.request_turn()

    # -- what others read ------------------------------------------------------------------------------

    @property
    def stored_to(self) -> Position:
        """The end of the records that are durable."""
        return self._store.position

    def share(self) -> Share:
        """This gatherer's part of the report."""
        team = self.team
        superpages, epoch = (team.superpages, team.epoch) if team else (1, 0)
        share = self._meter.share(self._clock(), superpages, epoch, self._recrawl.session, self._conditions())
        share = msgspec.structs.replace(share, rebalances=team.rebalances if team else 0)
        if self._lending:
            limit = limit_of(share.work)
            # to read links only costs less than to lend a page
            limit = NOTHING if limit == CPU and self._settings.summary.depth == "links" else limit
            self._lending.limits(limit, deciding_hosts(share.work))
        return share

    def bulletin(self) -> Bulletin | None:
        """What a gatherer alone shows of its work to people; None if it was shown a moment ago."""
        hosts = partial(self._dispatcher.backlog.paces, self._clock())
        return self._bulletins.bulletin(time.monotonic(), BulletinSource(0, self.share, {}, lambda _: [], hosts))

    def figures(self, share: Share) -> dict[str, float]:
        """The figures that each heartbeat tells the team."""
        figures = self._meter.figures(share, self._fetcher.in_flight + self._responses.in_texts)
        return figures | (self._lending.figures() if self._lending else {})

    def _conditions(self) -> Workload:
        """What the meter does not measure: URLs on their way to others, the slowest hosts, the limits of the crawl."""
        known, queued = self.team.moving if self.team else (0, 0)
        now, crawl = self._clock(), self._settings.crawl
        if now >= self._looked_at + LOOK_S:
            self._looked_at, self._slow = now, self._dispatcher.backlog.slow_hosts(now)
        return Workload(
            known=known,
            queued=queued,
            in_flight=self._fetcher.in_flight,
            slow=self._slow.named,
            slow_hosts=self._slow.count,
            counted=self._slow.urls,
            max_pages=crawl.max_pages,
            max_seconds=crawl.max_seconds,
            seconds_left=crawl.max_seconds - self._meter.running_s(now) if crawl.max_seconds else None,
            holds=self._holds(),
            lends=self._lending is not None,
        )

    def _holds(self) -> str:
        """Why no request may start, for people; "" if requests may start."""
        if not self._paused and self._dispatcher.has_last:
            return "fetching what the stored pages need"
        if self._paused or self._ending:
            return "paused" if self._paused else "ending"
        if self._outlet and self._outlet.room() <= 0:
            return "waiting for the program that takes the pages"
        if not self._recrawl.is_done:
            return "queueing the pages of the last session"
        return "waiting for the plan of the team" if self.team and not self.team.may_fetch() else ""

    def is_quiet(self) -> bool:
        """Whether nothing is queued, in flight, being read or still to be queued again from the last session."""
        return self._recrawl.is_done and not (self._is_busy or self._dispatcher.has_waiting or self._frontier.queued())

    # -- the turn --------------------------------------------------------------------------------------

    def step(self) -> None:
        """One turn. See the module docstring."""
        if self._finished.done():
            return
        try:
            self._turn(self._clock())
        except Exception as error:  # any exception ends the crawl here and is raised by `run`
            self.state = GathererState.FAILED
            self._finished.set_exception(error)

    def _turn(self, now: float) -> None:
        self._measure(now)
        if self.team:
            self._take_in_team(self.team, now)
        elif not self._recrawl.is_done:
            self._intake.insert(self._recrawl.step())
            if self._recrawl.is_done:
                self._queue_seeds()
                self._checkpoints.make(now)  # before any record of the session: so a restart does not begin it again
        self._responses.take_in(now)
        self._intake.links()
        self._dated.step()
        self._check_limits(now)
        if self._lending:
            epoch, is_wanted_back = self.team.epoch if self.team else 0, not self._may_start
            self._lending.turn(epoch, is_wanted_back)
            if woken := self._lending.woken():
                self._frontier.hasten(woken)
            self._spot_check.turn(now, epoch, is_wanted_back)
        due_at = self._dispatcher.fill(now, self._room())
        self._store.flush()
        if self._outlet:
            self._outlet.flushed()
        if now >= self._checkpoints.due_at(self._dispatcher.has_plenty) or self._frontier.wants_commit:
            self._checkpoints.make(now)
        # last, and with a fresh time: at a shared host milliseconds count, and requests leave when the turn is over
        for entry, why in self._dispatcher.dispatch(self._clock(), self._room()):
            self._recorder.give_up(entry, why)
        if self.team:
            self.team.turn_ended(self.counters.pages, self._fetcher.in_flight + self._responses.under_way)
        is_over = self._ending and not self._dispatcher.has_last
        if not self._is_busy and (is_over or (not self.team and self.is_quiet())):
            self._finished.set_result(self._ending or GathererState.DONE)
        elif self._has_more_to_do:
            self._scheduler.request_turn()
        else:
            checkpoint_at = self._checkpoints.due_at(self._dispatcher.has_plenty)
            moments = (due_at, self._dispatcher.next_at, checkpoint_at, self._spot_check.next_at())
            self._scheduler.sleep(min(at for at in moments if at is not None) - self._clock())

    @property
    def _has_more_to_do(self) -> bool:
        """Whether another turn is wanted at once."""
        return bool(
            self._responses.waiting
            or self._dispatcher.is_drawing
            or self._dated.is_at_work
            or not (self.team or self._recrawl.is_done)
            or (self._dispatcher.wants_last and self._room() > 0)
        )

    def _measure(self, now: float) -> None:
        """Tell the meter what was waited for since the last turn."""
        texts, in_flight = self._reader.texts, self._fetcher.in_flight
        delayed, ready = (self._dispatcher.delayed, self._dispatcher.ready) if self._may_start else (0, 0)
        self._meter.turn(
            now,
            busy=bool(in_flight or self._responses.under_way),
            asked=in_flight + self._responses.waiting,
            delayed=0 if ready else delayed,  # where hosts are ready and wait for room, delays do not matter
            is_reading=texts is not None and texts.free <= 0,
        )

    def _queue_seeds(self) -> None:
        """Queue the seeds that are not queued yet: a seed of the last session keeps its validators."""
        self._intake.seeds(self._admission.admit(self._seeds, 0))

    def _take_in_team(self, team: Membership, now: float) -> None:
        """Take in the URLs that other gatherers sent, and obey the control tuple."""
        if entries := team.begin(now):
            self._intake.insert(entries)
        if team.whiteboard.charter is not None:
            self._admission.widen(tuple(team.whiteboard.charter.seeds))
        control = team.whiteboard.control
        if control is not None:
            self._paused = control.state is CrawlState.PAUSED
            if control.state is CrawlState.STOPPING:
                known = control.reason in list(GathererState)
                self._ending = self._ending or GathererState(control.reason if known else GathererState.STOPPED)
            elif control.state is CrawlState.DONE:
                self._ending = self._ending or GathererState.DONE

    def _on_left(self, task: "asyncio.Task[None]") -> None:
        """The team no longer needs this gatherer, or the whiteboard failed while the gatherer asked."""
        if task.cancelled() or self._finished.done():
            return
        if error := task.exception():
            self._finished.set_exception(error)
        else:
            self.stop(GathererState.STOPPED)

    def _recorded(self, entry: QueuedUrl, record: PageRecord, elapsed_s: float) -> None:
        """A URL has its record: evidence for the explored fraction, and statistics for the team."""
        if self._recrawl.session > 1:
            self._dated.proved(entry, record)
            if record.dates:
                self._dated.heed(record)
        self._meter.explored.count_page(record.outlinks, self._admission.covers)
        self._meter.explored.count_dealt_with(record.url, is_page=record.is_page or record.status == 304)
        if self._outlet:
            self._outlet.stored()
        if self.team:
            self.team.recorded(record, elapsed_s)
        else:
            self._bulletins.recorded(record, elapsed_s)

    def _record_held(self, held: HeldPage) -> None:
        self._recorder.record_page(held.entry, held.response, held.facts)

    def _fetch_with_own_engine(self, entry: QueuedUrl) -> None:
        assert self._lending
        self._lending.keep(entry.url)
        self._dispatcher.queue_again(entry)

    def _tell_busy(self, host: str, wait_s: float) -> None:
        if self.team:
            self.team.tell_busy(host, wait_s)

    def _robots_known(self, visit: RobotsVisit, response: Response, robots: Robots) -> None:
        if self.team:
            self.team.tell_robots(visit.host.name, visit.origin, response.status, response.content)
        crawl = self._settings.crawl
        named = [*(robots.sitemaps if crawl.sitemaps else ()), *(["/llms.txt"] if crawl.llms_txt else ())]
        urls = self._reader.join(f"{visit.origin}/", named)
        self._recorder.links += [QueuedUrl(url) for url in self._admission.admit(urls, 0)]

    @property
    def _is_busy(self) -> bool:
        """Whether a page is in flight or being read, or links have still to be queued."""
        recorder = self._recorder
        return bool(self._fetcher.in_flight or self._responses.under_way or recorder.links or recorder.gifts)

    def _check_limits(self, now: float) -> None:
        crawl = self._settings.crawl
        over_time = crawl.max_seconds and self._meter.running_s(now) >= crawl.max_seconds
        over_pages = crawl.max_pages and self.counters.pages >= crawl.max_pages
        if over_time:
            self._dispatcher.end_last()
        if (over_time or over_pages) and self._ending is None:
            self._ending = GathererState.LIMIT
            if not over_time and not self.team and crawl.requisites:
                self._dispatcher.only_requisites()

    @property
    def _may_start(self) -> bool:
        waits = not self._recrawl.is_done or (self.team and not self.team.may_fetch())
        return not ((self._ending and not self._dispatcher.has_last) or self._paused or waits)

    def _room(self) -> int:
        """How many requests may be started now."""
        if not self._may_start:
            return 0
        # answers that wait to be read count, too: a fast server must not fill the memory
        own = self._fetcher.own_in_flight + self._responses.waiting
        connections = self._settings.fetch.connections
        for limit in (self.team.connections if self.team else 0, self._share_of_connections):
            connections = min(connections, limit) if limit else connections
        room = connections - own
        if self._reader.all_in_pool and self._reader.texts:
            room = min(room, self._reader.texts.free - own)
        elif self._reader.texts and not self._reader.texts.free:  # documents that wait for a worker wait in memory
            room = 0
        room = self._fetcher.allot(room)
        asked = self._fetcher.in_flight + self._responses.under_way
        if self._outlet:
            room = min(room, self._outlet.room() - asked)
        if self.team:
            room = int(min(room, self.team.room(asked)))
        cap = self.team.page_cap if self.team else None
        limit = self._settings.crawl.max_pages if cap is None else cap
        if (limit or cap is not None) and not self._ending:
            room = min(room, limit - self.counters.pages - asked)
        return room


class Scheduler:
    """Calls the turn: soon after `request_turn`, however often that is called, or when `sleep` is over."""

    def __init__(self, turn: Callable[[], None]) -> None:
        self._turn = turn
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to schedule turns, on the running event loop; `request_turn` has no effect before."""
        self._loop = asyncio.get_running_loop()

    def request_turn(self) -> None:
        """Ask for a turn, because something has happened."""
        if not self._scheduled and self._loop:
            self._scheduled = True
            self._loop.call_soon(self._call)

    def sleep(self, seconds: float) -> None:
        """Ask for a turn in so many seconds; `request_turn` may bring it sooner."""
        assert self._loop
        self._cancel()
        self._timer = self._loop.call_later(max(seconds, 0.0), self.request_turn)

    def stop(self) -> None:
        """Call no more turns: what a turn needs is being closed."""
        self._loop = None
        self._cancel()

    def _cancel(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _call(self) -> None:
        self._scheduled = False
        if self._loop:
            self._turn()
