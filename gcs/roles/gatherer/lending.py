"""Lending: errands for helpers, and what comes of them. To the gatherer it is one more fetch engine.

A request that is lent is under way like any other: its host is held, its URL is open, and in the end there is one
result for it. That is what a helper brought, or NOT_TRIED: nobody has fetched it, or will. The gatherer
then asks the host by itself, when its delay is over.

    ship      errands into the pool of our place                             filled by start
    listen    summaries of our inbox                                         → sink
    tend      counts the helpers; calls errands back; gives up on old ones   → sink

Invariant: NOT_TRIED is said only when nobody can be at the host any more. Called back: nobody held it (a lease that has
ended counts: who holds an errand ends within its lease). Given up: it had expired, and one lease more has passed.
Helpers that come and go change nothing here but `room`; a summary that is late, double or of an earlier run has
no errand and is dropped.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable

import msgspec

from gcs.core import helpers
from gcs.core.helpers import HelperSettings, pool
from gcs.core.page import Document, Failure, FailureKind, Request, Response, Result
from gcs.core.politeness import Politeness, delay_of
from gcs.core.template import template
from gcs.core.tuples import HelperBeat, Means, Member, SummaryTS, UrlTS
from gcs.events import Events
from gcs.ports.reader import Reading
from gcs.ports.space.port import Space
from gcs.ports.tasks import end
from gcs.roles.gatherer.dispatcher import PageVisit

events = Events("lending")

#: errands shipped, and summaries taken, at a time
BATCH = 32
#: seconds between two looks at the helpers
LOOK_S = 0.5
#: seconds added before an errand is given up
SLACK_S = 1.0


class Lending:
    """The helpers' side of one gatherer."""

    def __init__(
        self,
        space: Space,
        me: str,
        place: str,
        settings: HelperSettings,
        rules: Politeness,
        payload: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._rules = rules
        self._space, self._me, self._place, self._settings, self._clock = space, me, place, settings, clock
        self._payload = payload and settings.payload
        self._run = f"{random.SystemRandom().getrandbits(48):012x}"
        self._numbers = 0
        self._out: dict[str, tuple[Request, float]] = {}  # errand → request, when it was lent; emptied with its result
        self._untried: set[str] = set()  # URLs that were brought back; left when we fetch them
        self._to_ship: deque[UrlTS] = deque()
        self._ship_now = asyncio.Event()
        self._call_back = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._room = 0
        self._epoch = 0
        self._failed: BaseException | None = None
        self._sink: Callable[[Result], None]
        self._wake: Callable[[], None]
        self._helpers = 0  # of our place, as of the last look

    # -- life ------------------------------------------------------------------------------------------

    async def open(self, sink: Callable[[Result], None], wake: Callable[[], None]) -> list[str]:
        """Begin; results go to the sink. Returns URLs that an earlier run of us has lent: someone may be at them."""
        self._sink, self._wake = sink, wake
        mine, at = template(UrlTS, gatherer=self._me), pool(self._place, Means.PLAIN)
        left = [errand.url for errand in await self._space.scan(mine, at=at)]
        if left:
            await self._space.remove(mine, at=at)
        self._tasks = [asyncio.ensure_future(job) for job in (self._ship(), self._listen(), self._tend())]
        for task in self._tasks:
            task.add_done_callback(self._ended)
        return left

    async def close(self) -> None:
        """End; what is lent is nobody's business any more."""
        await end(self._tasks)

    # -- what the turn does ----------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """Requests that are lent and have no result."""
        return len(self._out)

    @property
    def room(self) -> int:
        """How many requests may be lent now."""
        return 0 if self._call_back.is_set() else max(self._room - len(self._out), 0)

    def takes(self, visit: PageVisit) -> bool:
        """Whether this page can be lent now.

        Not what was brought back: that is ours. Not where the host is owed more than half a lease: after somebody who
        vanished, the next one comes when the lease ends. Nor where other gatherers ask it too, each in its turn: a
        helper begins when it can.
        """
        url = visit.entry.url
        if url in self._untried:
            self._untried.discard(url)
            return False
        pace = visit.host.pace
        delay_s = delay_of(pace, self._rules)
        return self.room > 0 and delay_s <= self._settings.lease_s / 2 and (not delay_s or pace.turn.count == 1)

    def start(self, request: Request) -> None:
        """Lend a request; its result comes to the sink."""
        self._numbers += 1
        errand = UrlTS(
            *(self._me, self._run, self._numbers, request.url, self._settings.lease_s),
            epoch=self._epoch,
            place=self._place,
            etag=request.etag or "",
            last_modified=request.last_modified or "",
            once=request.once,
            payload=self._payload,
        )
        self._out[errand.id] = request, self._clock()
        self._to_ship.append(errand)
        self._ship_now.set()

    def turn(self, epoch: int, is_wanted_back: bool) -> None:
        """A turn of the gatherer. What is lent is wanted back at once where it is to end, to pause or to hand over."""
        if self._failed:
            raise self._failed
        self._epoch = epoch
        if is_wanted_back:
            self._call_back.set()
        else:
            self._call_back.clear()

    def figures(self) -> dict[str, float]:
        """What the others may know."""
        return {"helpers": self._helpers, "lent": len(self._out)}

    # -- tasks -----------------------------------------------------------------------------------------

    async def _ship(self) -> None:
        at = pool(self._place, Means.PLAIN)
        while True:
            await self._ship_now.wait()
            self._ship_now.clear()
            while self._to_ship:
                batch = [self._to_ship.popleft() for _ in range(min(len(self._to_ship), BATCH))]
                receipt = await self._space.out_many(UrlTS, batch, to=at, ttl_s=self._settings.offer_s)
                for errand in batch[: receipt.accepted]:
                    if errand.id in self._out:  # its time begins when it can be taken
                        self._out[errand.id] = self._out[errand.id][0], self._clock()
                for errand in batch[receipt.accepted :]:
                    self._not_tried(errand.id, "the pool is full")

    async def _listen(self) -> None:
        while True:
            taken = await self._space.take_many([template(SummaryTS)], at=self._me, limit=BATCH, timeout_s=5.0)
            for each in taken:
                self._bring(each.item)
            await self._space.ack(taken)

    async def _tend(self) -> None:
        while True:
            beats = await self._space.scan(template(HelperBeat))
            members = await self._space.scan(template(Member))
            lenders = sum(member.place == self._place and member.state == "running" for member in members)
            before = self.room
            self._room = helpers.share(beats, self._place, Means.PLAIN, lenders, self._settings.ahead)
            self._helpers = sum(beat.place == self._place for beat in beats)
            if self.room > before:
                self._wake()
            if self._out and (self._call_back.is_set() or not self._helpers):
                await self._fetch_back()
            self._give_up_old()
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._call_back.wait()
                    await asyncio.sleep(LOOK_S)
            except TimeoutError:
                pass

    async def _fetch_back(self) -> None:
        """Take our own errands, if nobody holds them."""
        mine, at = template(UrlTS, gatherer=self._me, run=self._run), pool(self._place, Means.PLAIN)
        while True:
            taken = await self._space.take_many(
                [mine], at=at, limit=BATCH, timeout_s=0.0, lease_s=self._settings.lease_s
            )
            await self._space.ack(taken)
            for each in taken:
                self._not_tried(each.item.id, "called back")
            if len(taken) < BATCH:
                return

    def _give_up_old(self) -> None:
        """Those that have expired, and one lease ago."""
        before = self._clock() - self._settings.offer_s - self._settings.lease_s - SLACK_S
        for old in [errand for errand, (_, lent_at) in self._out.items() if lent_at < before]:
            self._not_tried(old, "no helper has answered in time")

    # -- results ---------------------------------------------------------------------------------------

    def _bring(self, summary: SummaryTS) -> None:
        request, lent_at = self._out.get(summary.id, (None, 0.0))
        if request is None or request.url != summary.url:
            events.debug("late", url=summary.url, helper=summary.helper)
            return
        if not summary.status and not summary.failure:
            self._not_tried(summary.id, f"{summary.helper}: {summary.message}")
            return
        del self._out[summary.id]
        self._sink(result_of(summary, request, lent_at, self._clock()))

    def _not_tried(self, errand: str, why: str) -> None:
        request, lent_at = self._out.pop(errand, (None, 0.0))
        if request is not None:
            events.debug("not-tried", url=request.url, why=why)
            self._untried.add(request.url)
            self._sink(Failure(request, FailureKind.NOT_TRIED, why, lent_at, 0.0))

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed = self._failed or error
            self._wake()


def result_of(summary: SummaryTS, request: Request, lent_at: float, now: float) -> Result:
    """What a helper brought, as if we had fetched it; a 2xx carries what was read, in its request's tag."""
    started_at = min(max(summary.started_at, lent_at), now)  # the helper's clock is its own
    if not summary.status:
        kind = FailureKind(summary.failure) if summary.failure in set(FailureKind) else FailureKind.PROTOCOL
        return Failure(request, kind, summary.message, started_at, summary.elapsed_s)
    if 200 <= summary.status < 300:
        assert isinstance(request.tag, PageVisit)
        visit = msgspec.structs.replace(request.tag, reading=reading_of(summary))
        request = msgspec.structs.replace(request, tag=visit)
    return Response(
        request,
        summary.status,
        summary.reason,
        summary.http_version,
        tuple(summary.headers),
        summary.body,
        b"",  # what it says has been read
        summary.request_head,
        summary.ip,
        started_at,
        summary.elapsed_s,
        summary.helper,
        None if summary.request_head else (summary.size_bytes, summary.digest),
    )


def reading_of(summary: SummaryTS) -> Reading:
    """What the helper read."""
    document = Document(
        hrefs=[],
        title=summary.title,
        description=summary.description,
        language=summary.language,
        text=summary.text,
        simhash=summary.simhash,
        source=summary.source,
    )
    return Reading(document, summary.outlinks, summary.final_url or summary.url, summary.noindex)
