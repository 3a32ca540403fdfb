"""One helper's life: take an errand, fetch, read, put the summary; until it is stopped or nothing is allowed any more.

It keeps nothing: no file, no queue. It takes no more errands than it can start at once, so that little waits for a
lease to end when it vanishes.

Invariant: a request starts and ends within the lease of its errand, counted from before the errand was asked for. So
when somebody else can have the errand, we are no longer at its host.
"""

import asyncio
import math
import time
from collections.abc import Callable

from gcs.core.helpers.loan import Allowance, LoanLimits
from gcs.core.messages.tuples import HelperBeat, SummaryTS, UrlTS
from gcs.core.page.values import Failure, FailureKind, Request, Response, Result
from gcs.events import Events
from gcs.ports.errands import ErrandPort
from gcs.ports.fetch import Fetcher
from gcs.ports.process import family_cpu_s
from gcs.ports.reader import Reader
from gcs.ports.records.warc import payload_digest
from gcs.ports.space.clock import lease_time
from gcs.ports.tasks import end

# -- The summary of an errand: what a helper says of an answer.


#: failures that are the page's, from wherever it is fetched
OF_THE_PAGE = frozenset({FailureKind.TOO_LARGE, FailureKind.ENCODING})


def unfetched(errand: UrlTS, helper: str, why: str = "") -> SummaryTS:
    """Fetch it yourself."""
    return SummaryTS(errand.gatherer, errand.run, errand.number, errand.url, helper, message=why)


def summary_of(errand: UrlTS, helper: str, result: Result, reader: Reader) -> SummaryTS:
    """What became of an errand."""
    if isinstance(result, Failure):
        if result.kind not in OF_THE_PAGE:
            return unfetched(errand, helper, f"{result.kind}: {result.message}")
        return SummaryTS(
            *(errand.gatherer, errand.run, errand.number, errand.url, helper),
            failure=str(result.kind),
            message=result.message,
            started_at=result.started_at,
            elapsed_s=result.elapsed_s,
        )
    reading = reader.read(result) if 200 <= result.status < 300 else None
    document = reading.document if reading else None
    return SummaryTS(
        *(errand.gatherer, errand.run, errand.number, errand.url, helper),
        status=result.status,
        reason=result.reason,
        http_version=result.http_version,
        headers=list(result.headers),
        ip=result.ip,
        started_at=result.started_at,
        elapsed_s=result.elapsed_s,
        size_bytes=len(result.body),
        digest=payload_digest(result.body),
        final_url=reading.final_url if reading else errand.url,
        title=document.title if document else "",
        description=document.description if document else "",
        language=document.language if document else "",
        text=document.text if document else "",
        simhash=document.simhash if document else 0,
        outlinks=reading.outlinks if reading else [],
        noindex=bool(reading and reading.noindex),
        source=bool(document and document.source),
        shell=bool(reading and reading.shell),
        request_head=result.request_head if errand.payload else b"",
        body=result.body if errand.payload else b"",
    )


events = Events("helper")

#: seconds between two heartbeats
BEAT_S = 1.0
#: longest wait for errands in one go: how late we see that we are to stop
TAKE_S = 0.5
#: shares of the lease: an errand that took longer to get is not begun; what waiting, and what a request, may take
LATE, WAIT, FETCH = 0.2, 0.1, 0.75
#: seconds before the allowance is asked again
REST_S = 0.05
#: seconds that what is under way gets to end when we are stopped
GRACE_S = 3.0
#: requests in a row without an answer after which we doubt our own network, and the seconds that we rest then
MISSES, MISSES_REST_S = 8, 15.0


class Helper:
    """Works at one desk."""

    def __init__(
        self,
        desk: ErrandPort,
        reader: Reader,
        limits: LoanLimits,
        make_fetcher: Callable[[Callable[[Result], None]], Fetcher],
        clock: Callable[[], float] = lease_time,
    ) -> None:
        self._desk, self._reader, self._limits, self._clock = desk, reader, limits, clock
        self._fetcher = make_fetcher(self._arrived)
        self._allowance = Allowance(limits, clock(), family_cpu_s())
        self._doing: dict[str, UrlTS] = {}  # filled by step; emptied when the summary is put
        self._reports: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._failed: BaseException | None = None
        self._misses = 0
        self.stopping = False
        #: the crawl has ended
        self.is_over = False
        self.pages = 0
        self.bytes = 0

    def stop(self) -> None:
        """Take nothing more; what is under way ends or is given back within seconds."""
        self.stopping = True
        self._changed.set()

    async def run(self) -> None:
        """Help until stopped, or until the allowance is spent. Raises what the desk raises."""
        await self._fetcher.open()
        beats = asyncio.create_task(self._beat())
        beats.add_done_callback(self._ended)
        try:
            while not (self.stopping or self._failed or self._allowance.is_spent):
                await self._step()
            await self._finish()
        finally:
            await end([beats, *self._reports])
            await self._fetcher.close()
            await self._desk.close()
        if self._failed:
            raise self._failed

    async def _step(self) -> None:
        """Take what may be started now, and start it."""
        if self._misses >= MISSES:
            events.warning("no-answers", helper=self._desk.helper, requests=self._misses, rest_s=MISSES_REST_S)
            again_at = self._clock() + MISSES_REST_S
            while not (self.stopping or self._failed) and self._clock() < again_at:
                await self._rest(again_at - self._clock())  # what was under way ends meanwhile
            self._misses = MISSES // 2
        at_once, fetching = self._limits.connections, self._fetcher.in_flight
        spent_s = family_cpu_s() if self._limits.cpu else 0.0
        free = self._allowance.starts(self._clock(), spent_s, fetching)
        free = min(free, 2 * at_once - len(self._doing))  # as many again may be on their way back
        if free <= 0:
            await self._rest(None if fetching >= at_once or len(self._doing) >= 2 * at_once else REST_S)
            return
        asked_at, lease_s = self._clock(), self._desk.terms.lease_s
        errands = await self._desk.take(free, min(TAKE_S, WAIT * lease_s))
        if self.stopping or self._clock() - asked_at > LATE * lease_s:
            await self._desk.give_back(errands)
            return
        self._allowance.started(asked_at, len(errands))
        for errand in errands:
            self._doing[errand.id] = errand
            etag, last_modified = errand.etag or None, errand.last_modified or None
            self._fetcher.start(Request(errand.url, etag, last_modified, errand, errand.once))

    async def _rest(self, seconds: float | None) -> None:
        """Until something has changed, or so many seconds."""
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    def _arrived(self, result: Result) -> None:
        """The fetch engine's sink."""
        errand = result.request.tag
        assert isinstance(errand, UrlTS)
        self._misses = 0 if type(result) is Response else self._misses + 1
        report = asyncio.ensure_future(self._report(errand, result))
        self._reports.add(report)
        self._changed.set()
        report.add_done_callback(self._reports.discard)
        report.add_done_callback(self._ended)

    async def _report(self, errand: UrlTS, result: Result) -> None:
        """Read, and put the summary."""
        try:
            summary = summary_of(errand, self._desk.helper, result, self._reader)
        except Exception as error:  # a page that we cannot read must not end all help: its gatherer shall see
            events.error("unreadable", url=errand.url, error=repr(error))
            summary = unfetched(errand, self._desk.helper, repr(error))
        size_bytes = len(result.body) if type(result) is Response else 0
        self._allowance.fetched(size_bytes)
        await self._put(errand, summary)
        if summary.status:
            self.pages, self.bytes = self.pages + 1, self.bytes + size_bytes
        self._doing.pop(errand.id, None)
        self._changed.set()

    async def _put(self, errand: UrlTS, summary: SummaryTS) -> None:
        """The summary, however long that takes: the errand stays ours meanwhile."""
        put = asyncio.ensure_future(self._desk.put(summary))
        try:
            while not (await asyncio.wait([put], timeout=self._desk.terms.lease_s / 4))[0]:
                await self._desk.extend([errand])
        finally:
            put.cancel()
        await put

    async def _finish(self) -> None:
        """Let what is under way end; what takes too long goes back to its gatherer, which owes its host a delay."""
        if self._failed:
            return
        try:
            async with asyncio.timeout(GRACE_S):
                while self._doing and not self._failed:
                    await self._rest(None)
        except TimeoutError:
            await self._fetcher.close()
            await end(self._reports)
            for errand in list(self._doing.values()):
                await self._desk.put(unfetched(errand, self._desk.helper, "stopped"))

    async def _beat(self) -> None:
        since, pages, at = time.time(), 0, self._clock()
        connections = self._limits.connections
        if self._limits.rate:
            connections = min(connections, math.ceil(self._limits.rate))
        while True:
            now = self._clock()
            rate = (self.pages - pages) / (now - at) if now > at else 0.0
            pages, at = self.pages, now
            desk = self._desk
            able = 0 if self.stopping or self._misses >= MISSES else connections
            beat = HelperBeat(desk.helper, desk.place, desk.means, able, self.pages, self.bytes, round(rate, 2), since)
            if not await desk.beat(beat):
                self.is_over = True
                self.stop()
            await asyncio.sleep(BEAT_S)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed = self._failed or error
            self._changed.set()
