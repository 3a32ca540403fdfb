"""Lending: requests become errands for helpers, and summaries become results. To the gatherer, one more fetch engine.

A request that is lent is under way like any other: its host is held, its URL is open, and in the end there is one
result for it. That is the page that a helper delivered, or NOT_TRIED: no helper has fetched the page, or will. The
gatherer's own engine then fetches it, when the delay of its host is over.

    ship      errands into the pool of the gatherer's place                  filled by start
    listen    summaries from the gatherer's inbox                            → sink
    tend      counts the helpers; takes errands back; gives up old errands   → sink

Invariant: a result is NOT_TRIED only when no helper can be at the host any more. Either the errand was taken back while
no helper had a valid lease on it (a helper ends its errand within the lease); or the errand had expired, and one lease
more has passed. Helpers that come and go change only `room`. A summary that is late, repeated or of an earlier run has
no errand and is dropped.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gcs.core.helpers import pools
from gcs.core.helpers.access import token_id
from gcs.core.helpers.pools import HelperSettings, pool
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Access, CutOff, HelperBeat, Means, Member, MemberState, SummaryTS, UrlTS
from gcs.core.page.values import Failure, FailureKind, Request, Response, Result
from gcs.core.polite.politeness import Politeness, Sharing, delay_of
from gcs.core.report.estimate import CPU, NOTHING, POLITENESS
from gcs.events import Events
from gcs.ports.space.port import Space
from gcs.ports.system.process import new_run
from gcs.ports.system.tasks import BackgroundTasks
from gcs.roles.gatherer.fetch.dispatcher import PageVisit
from gcs.roles.gatherer.helpers.rendering import Rendering

events = Events("lending")
_FAILURES = frozenset(FailureKind)

#: errands shipped, and summaries taken, at a time
BATCH = 32
#: seconds between two counts of the helpers
LOOK_S = 0.5
#: pages that wait for a browser, for each page that it renders at once: it renders about twenty in a second
BROWSER_AHEAD = 15.0
#: seconds added before an errand is given up
SLACK_S = 1.0


@dataclass(slots=True)
class _Lent:
    """A request that is lent."""

    request: Request
    means: Means
    at: float


@dataclass(frozen=True, slots=True)
class LendingContext:
    """Which gatherer lends, and by which rules."""

    #: the whiteboard, in the gatherer's name
    space: Space
    name: str
    #: only helpers of this place are lent to
    place: str
    settings: HelperSettings
    rules: Politeness
    #: whether bodies are wanted: for the archive, for plug-ins, for what pages say of their use
    payload: bool
    #: whether plug-ins read pages: of a browser they want what was rendered
    rendered: bool


@dataclass(frozen=True, slots=True)
class LendingPort:
    """What lending needs of its gatherer."""

    #: takes the results
    sink: Callable[[Result], None]
    #: ask for a turn
    request_turn: Callable[[], None]
    #: called with the helpers that were cut off, by this gatherer or by others
    on_cut_off: Callable[[list[str]], None]
    #: the gatherer's clock
    clock: Callable[[], float]


class Lending:
    """The pages that one gatherer lends to helpers."""

    def __init__(self, context: LendingContext, port: LendingPort) -> None:
        self._space, self._me, self._place, self._clock = context.space, context.name, context.place, port.clock
        self._settings, self._rules = context.settings, context.rules
        self._payload, self._rendered = context.payload, context.rendered
        self._sink, self._request_turn, self._on_cut_off = port.sink, port.request_turn, port.on_cut_off
        place, settings = context.place, context.settings
        self._pools = {means: pool(place, means) for means in Means}
        self._run = new_run()
        self._numbers = 0
        self._lent: dict[str, _Lent] = {}  # by errand; filled by start, emptied with the result
        self._kept: set[str] = set()  # URLs that are not lent; filled by _not_tried and keep, emptied by means_for
        self._rendering = Rendering(settings)
        self._to_ship: deque[UrlTS] = deque()
        self._ship_now = asyncio.Event()
        self._is_wanted_back = False  # lent pages are to be taken back, and no more are lent
        self._tasks = BackgroundTasks(port.request_turn)
        self._shares = dict.fromkeys(Means, 0)  # how many pages may be lent
        self._epoch = 0
        self._limited_by, self._slow_hosts = NOTHING, frozenset[str]()
        self._helpers = 0  # of this place, as last counted
        self._to_cut: list[CutOff] = []

    # -- life ------------------------------------------------------------------------------------------

    async def open(self) -> list[str]:
        """Start. Returns URLs that an earlier run of this gatherer has lent: a helper may be fetching them."""
        mine, left = template(UrlTS, gatherer=self._me), list[str]()
        for at in self._pools.values():
            if stale := await self._space.scan(mine, at=at):
                left += [errand.url for errand in stale]
                await self._space.remove(mine, at=at)
        self._tasks.start(self._ship(), self._listen(), self._tend())
        return left

    async def close(self) -> None:
        """Stop. Summaries for pages that are still lent will be dropped."""
        await self._tasks.close()

    # -- the turn --------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        return len(self._lent)

    @property
    def room(self) -> int:
        """How many plain requests may be lent now."""
        return self._room_of(Means.PLAIN)

    def means_for(self, visit: PageVisit, own_room: bool) -> Means | None:
        """To which kind of helper this page is to be lent now; None if it is for the own engine, which has `own_room`.

        Helpers make a crawl faster that waits for answers or for the CPU. Where delays limit it they cannot, and a page
        that is lent holds its host for longer: nothing is lent then, nor ever from the hosts that decide when the crawl
        ends. A browser gets its pages all the same.

        Also not lent are pages that were returned untried; pages of hosts with a delay of more than half a lease, since
        the next helper may come as soon as the lease of one that vanished ends; and pages of hosts that several
        gatherers share, since the baton of a host is for this gatherer, not for a helper.
        """
        url = visit.entry.url
        if url in self._kept:
            self._kept.discard(url)
            return None
        if not any(self._shares.values()):  # there are no helpers
            return None
        pace = visit.host.pace
        delay_s = delay_of(pace, self._rules)
        if delay_s > self._settings.lease_s / 2 or (delay_s and pace.sharing is not Sharing.ALONE):
            return None
        if self._room_of(Means.BROWSER) and self._rendering.wants(url):
            return Means.BROWSER
        if self._limited_by == POLITENESS or visit.host.name in self._slow_hosts:
            return None
        return Means.PLAIN if self.room and (self._limited_by == CPU or not own_room) else None

    def reserve_for_browser(self, url: str) -> bool:
        """Keep this empty shell for a helper with a browser; False if there is none, or none took it before."""
        return self._room_of(Means.BROWSER) > 0 and self._rendering.reserve(url)

    def wait_until(self, url: str, is_shell: bool) -> float | None:
        """Let this page, fetched plainly, wait for the first browser; returns until when. None: it is not to wait."""
        return None if self._shares[Means.BROWSER] else self._rendering.wait_until(url, is_shell, self._clock())

    def woken(self) -> set[str]:
        """The pages that have waited for a browser, once one is there."""
        return self._rendering.woken() if self._shares[Means.BROWSER] else set()

    def start(self, request: Request, means: Means = Means.PLAIN) -> None:
        """Lend a request; its result comes to the sink."""
        self._numbers += 1
        self._rendering.begun(request.url)
        errand = UrlTS(
            *(self._me, self._run, self._numbers, request.url, self._settings.lease_s),
            epoch=self._epoch,
            place=self._place,
            means=means,
            etag=request.etag or "",
            last_modified=request.last_modified or "",
            once=request.once,
            payload=self._payload,
            rendered=self._rendered and means is Means.BROWSER,
        )
        self._lent[errand.id] = _Lent(request, means, self._clock())
        self._to_ship.append(errand)
        self._ship_now.set()

    def turn(self, epoch: int, is_wanted_back: bool) -> None:
        """A turn of the gatherer. `is_wanted_back`: take lent pages back, for it ends, pauses or hands over."""
        self._tasks.check()
        self._epoch, self._is_wanted_back = epoch, is_wanted_back

    def limits(self, limited_by: str, slow_hosts: frozenset[str]) -> None:
        """What limits the gatherer (see `core.report.estimate`), and the hosts whose delays decide when it is done."""
        self._limited_by, self._slow_hosts = limited_by, slow_hosts

    def keep(self, url: str) -> None:
        """Do not lend this URL: the own engine is to fetch it."""
        self._kept.add(url)

    def cut_off(self, helper: str, reason: str) -> None:
        """Let no gatherer accept anything from this helper any more."""
        events.error("cut-off", helper=helper, reason=reason)
        self._to_cut.append(CutOff(helper, reason, self._me, time.time()))

    def figures(self) -> dict[str, float]:
        """What each heartbeat tells of lending."""
        return {"helpers": self._helpers, "lent": len(self._lent)}

    # -- tasks -----------------------------------------------------------------------------------------

    async def _ship(self) -> None:
        while True:
            await self._ship_now.wait()
            self._ship_now.clear()
            while self._to_ship:
                batch = [self._to_ship.popleft() for _ in range(min(len(self._to_ship), BATCH))]
                for means, at in self._pools.items():
                    if errands := [errand for errand in batch if errand.means is means]:
                        await self._offer(errands, at)

    async def _offer(self, errands: list[UrlTS], at: str) -> None:
        receipt = await self._space.out_many(UrlTS, errands, to=at, ttl_s=self._settings.offer_s)
        for errand in errands[: receipt.accepted]:
            if lent := self._lent.get(errand.id):
                lent.at = self._clock()  # the time counts from when helpers can take it
        for errand in errands[receipt.accepted :]:
            self._not_tried(errand.id, "the pool is full")

    async def _listen(self) -> None:
        while True:
            taken = await self._space.take_many([template(SummaryTS)], at=self._me, limit=BATCH, timeout_s=5.0)
            for each in taken:
                self._take_in(each.item)
            await self._space.ack(taken)

    async def _tend(self) -> None:
        await self._space.read(template(HelperBeat), timeout_s=None)  # nothing is lent before the first helper comes
        while True:
            beats = await self._space.scan(template(HelperBeat))
            members = await self._space.scan(template(Member))
            lenders = sum(member.place == self._place and member.state == MemberState.RUNNING for member in members)
            before = self.room
            for means, ahead in ((Means.PLAIN, self._settings.ahead), (Means.BROWSER, BROWSER_AHEAD)):
                self._shares[means] = pools.share(beats, self._place, means, lenders, ahead)
            self._helpers = sum(beat.place == self._place for beat in beats)
            if self.room > before:
                self._request_turn()
            for means in {lent.means for lent in self._lent.values()}:
                if self._is_wanted_back or not self._shares[means]:
                    await self._take_back(self._pools[means])
            self._give_up_old()
            await self._cut_off()
            await asyncio.sleep(LOOK_S)

    async def _take_back(self, at: str) -> None:
        """Take this gatherer's own errands that no helper holds."""
        mine = template(UrlTS, gatherer=self._me, run=self._run)
        while True:
            lease_s = self._settings.lease_s
            taken = await self._space.take_many([mine], at=at, limit=BATCH, timeout_s=0.0, lease_s=lease_s)
            await self._space.ack(taken)
            for each in taken:
                self._not_tried(each.item.id, "taken back")
            if len(taken) < BATCH:
                return

    async def _cut_off(self) -> None:
        """Post the helpers that this gatherer cuts off, and remove their tokens; read those that others cut off."""
        while self._to_cut:
            note = self._to_cut.pop()
            await self._space.out(note)
            await self._space.remove(template(Access, id=token_id(note.helper)))
        if notes := await self._space.scan(template(CutOff)):
            self._on_cut_off([note.helper for note in notes])

    def _give_up_old(self) -> None:
        """Give up errands that expired more than one lease ago."""
        before = self._clock() - self._settings.offer_s - self._settings.lease_s - SLACK_S
        for old in [errand for errand, lent in self._lent.items() if lent.at < before]:
            self._not_tried(old, "no helper has answered in time")

    # -- results ---------------------------------------------------------------------------------------

    def _take_in(self, summary: SummaryTS) -> None:
        lent = self._lent.get(summary.id)
        if lent is None or lent.request.url != summary.url:
            events.debug("late", url=summary.url, helper=summary.helper)
            return
        if not summary.status and not summary.failure:
            self._not_tried(summary.id, f"{summary.helper}: {summary.message}")
            return
        if not summary.trusted and not 200 <= summary.status < 300:
            self._not_tried(summary.id, f"{summary.helper} found no page, and is not trusted")
            return
        del self._lent[summary.id]
        self._sink(result_of(summary, lent.request, lent.means, self._clock() - lent.at, time.time()))

    def _not_tried(self, errand: str, why: str) -> None:
        lent = self._lent.pop(errand, None)
        if lent is not None:
            url = lent.request.url
            events.debug("not-tried", url=url, why=why)
            self._kept.add(url)
            if lent.means is Means.BROWSER:
                self._rendering.missed(url)
            self._sink(Failure(lent.request, FailureKind.NOT_TRIED, why, time.time(), 0.0))

    def _room_of(self, means: Means) -> int:
        share = self._shares[means]
        if not share or self._is_wanted_back:
            return 0
        return max(share - sum(lent.means is means for lent in self._lent.values()), 0)


def result_of(summary: SummaryTS, request: Request, means: Means, lent_s: float, now: float) -> Result:
    """The summary as if the gatherer had fetched the page; a 2xx carries the page's facts in the request's tag.

    The page has been lent for `lent_s` seconds; `now` is a date.
    """
    started_at = min(max(summary.started_at, now - lent_s), now)  # the helper's clock is its own
    elapsed_s = min(summary.elapsed_s, lent_s)
    if not summary.status:
        kind = FailureKind(summary.failure) if summary.failure in _FAILURES else FailureKind.PROTOCOL
        return Failure(request, kind, summary.message, started_at, elapsed_s)
    if 200 <= summary.status < 300:
        assert isinstance(request.tag, PageVisit)
        is_rendered = means is Means.BROWSER
        final_url = summary.page.final_url or summary.url
        # a browser has seen all there is to see
        facts = msgspec.structs.replace(summary.page, final_url=final_url, shell=summary.page.shell and not is_rendered)
        visit = msgspec.structs.replace(request.tag, facts=facts, doubted=not summary.trusted, is_rendered=is_rendered)
        request = msgspec.structs.replace(request, tag=visit)
    return Response(
        request,
        summary.status,
        summary.reason,
        summary.http_version,
        tuple(summary.headers),
        summary.body,
        summary.rendered,  # else nothing: what it says has been read
        summary.request_head,
        summary.ip,
        started_at,
        elapsed_s,
        summary.helper,
        None if summary.request_head else (summary.size_bytes, summary.digest),
        summary.truncated,
    )
