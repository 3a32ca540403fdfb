"""The helper: a machine that its owner lends. It takes errands, fetches, reads and puts summaries, until it is stopped
or its allowance is spent.

It knows nothing of the crawl but the terms of its errand port, keeps no file and no queue, and may vanish at any time.
It takes no more errands than it can start at once, so that few of them wait for a lease to end when it vanishes.

Invariant: a request starts and ends within the lease of its errand, counted from before the errand was asked for. So
when another helper can get the errand, this one no longer asks its host.
"""

import asyncio
import math
import time
from collections.abc import Callable

from gcs.core.helpers.loan import Allowance, LoanLimits
from gcs.core.helpers.pools import BEAT_S
from gcs.core.messages.tuples import HelperBeat, SummaryTS, UrlTS
from gcs.core.page.values import BROKEN_OFF, Failure, FailureKind, PageFacts, Request, Response, Result
from gcs.events import Events
from gcs.ports.errands import ErrandPort
from gcs.ports.fetch import Fetcher
from gcs.ports.reader import Reader
from gcs.ports.records.warc import payload_digest
from gcs.ports.space.clock import lease_time
from gcs.ports.system.process import family_cpu_s
from gcs.ports.system.tasks import end
from gcs.ports.system.watchdog import cpu_limit

events = Events("helper")

#: longest wait for errands: a helper that is stopped notices it after so many seconds
TAKE_S = 0.5
#: shares of the lease: an errand that took longer to get is not begun; longest wait for errands; longest request
LATE, WAIT, FETCH = 0.2, 0.1, 0.75
#: seconds of rest when the allowance lets nothing start
REST_S = 0.05
#: seconds that requests under way get when the helper is stopped
GRACE_S = 3.0
#: bytes of a rendered page that plug-ins are given
_MOST_RENDERED = 16 << 20
#: seconds without an errand after which the helper says why
IDLE_S = 3.0
#: requests in a row without an answer that put the helper's own network in doubt, and the seconds of rest then
MISSES, MISSES_REST_S = 8, 15.0
#: failures that are the page's, wherever it is fetched from
OF_THE_PAGE = frozenset({FailureKind.TOO_LARGE, FailureKind.ENCODING})


class Helper:
    """Works at one errand port."""

    def __init__(
        self,
        port: ErrandPort,
        reader: Reader,
        limits: LoanLimits,
        make_fetcher: Callable[[Callable[[Result], None]], Fetcher],
        clock: Callable[[], float] = lease_time,
    ) -> None:
        self._port, self._reader, self._limits, self._clock = port, reader, limits, clock
        self._fetcher = make_fetcher(self._arrived)
        self._allowance = Allowance(limits, clock(), family_cpu_s())
        self._doing: dict[str, UrlTS] = {}  # filled by step; emptied when the summary is put
        self._reports: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._failed: BaseException | None = None
        self._misses = 0
        self._worked_at, self._said = clock(), ""
        self.stopping = False
        #: the crawl has ended
        self.is_over = False
        self.pages = 0
        self.bytes = 0

    def stop(self) -> None:
        """Take nothing more. Requests under way end, or are given back, within seconds."""
        self.stopping = True
        self._changed.set()

    async def run(self) -> None:
        """Help until stopped, or until the allowance is spent. Raises the errors of the errand port."""
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
            await self._port.close()
        if self._failed:
            raise self._failed

    async def _step(self) -> None:
        """Take the errands that may start now, and start them."""
        if self._misses >= MISSES:
            events.warning("no-answers", helper=self._port.helper, requests=self._misses, rest_s=MISSES_REST_S)
            again_at = self._clock() + MISSES_REST_S
            while not (self.stopping or self._failed) and self._clock() < again_at:
                await self._rest(again_at - self._clock())  # requests under way end meanwhile
            self._misses = MISSES // 2
        at_once, fetching = self._limits.connections, self._fetcher.in_flight
        spent_s = family_cpu_s() if self._limits.cpu else 0.0
        free = self._allowance.starts(self._clock(), spent_s, fetching)
        free = min(free, 2 * at_once - len(self._doing))  # as many summaries may wait to be put
        if free <= 0:
            await self._rest(None if fetching >= at_once or len(self._doing) >= 2 * at_once else REST_S)
            return
        asked_at, lease_s = self._clock(), self._port.terms.lease_s
        errands = await self._port.take(free, min(TAKE_S, WAIT * lease_s))
        if self.stopping or self._clock() - asked_at > LATE * lease_s:
            await self._port.give_back(errands)
            return
        self._allowance.started(asked_at, len(errands))
        if errands:
            self._worked_at, self._said = self._clock(), ""
        for errand in errands:
            self._doing[errand.id] = errand
            etag, last_modified = errand.etag or None, errand.last_modified or None
            self._fetcher.start(Request(errand.url, etag, last_modified, errand, errand.once))

    async def _rest(self, seconds: float | None) -> None:
        """Wait until something has changed, or for so many seconds."""
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    def _arrived(self, result: Result) -> None:
        errand = result.request.tag
        assert isinstance(errand, UrlTS)
        self._misses = 0 if type(result) is Response else self._misses + 1
        report = asyncio.ensure_future(self._report(errand, result))
        self._reports.add(report)
        self._changed.set()
        report.add_done_callback(self._reports.discard)
        report.add_done_callback(self._ended)

    async def _report(self, errand: UrlTS, result: Result) -> None:
        try:
            with cpu_limit():  # the errand goes back to its gatherer when the lease ends
                summary = _summary(errand, self._port.helper, result, self._reader)
        except Exception as error:  # one unreadable page must not end the helper: its gatherer fetches it
            events.error("unreadable", url=errand.url, error=repr(error))
            summary = _unfetched(errand, self._port.helper, repr(error))
        size_bytes = len(result.body) if type(result) is Response else 0
        self._allowance.fetched(size_bytes)
        await self._put(errand, summary)
        if summary.status:
            self.pages, self.bytes = self.pages + 1, self.bytes + size_bytes
        self._doing.pop(errand.id, None)
        self._changed.set()

    async def _put(self, errand: UrlTS, summary: SummaryTS) -> None:
        """Put the summary, however long that takes: the lease of the errand is extended meanwhile."""
        put = asyncio.ensure_future(self._port.put(summary))
        try:
            while not (await asyncio.wait([put], timeout=self._port.terms.lease_s / 4))[0]:
                await self._port.extend([errand])
        finally:
            put.cancel()
        await put

    async def _finish(self) -> None:
        """Let requests under way end. Slow ones go back to their gatherers, which owe the hosts a delay."""
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
                await self._port.put(_unfetched(errand, self._port.helper, "stopped"))

    async def _beat(self) -> None:
        since, pages, at = time.time(), 0, self._clock()
        connections = self._limits.connections
        if self._limits.rate:
            connections = min(connections, math.ceil(self._limits.rate))
        while True:
            now = self._clock()
            rate = (self.pages - pages) / (now - at) if now > at else 0.0
            pages, at = self.pages, now
            port = self._port
            able = 0 if self.stopping or self._misses >= MISSES else connections
            beat = HelperBeat(port.helper, port.place, port.means, able, self.pages, self.bytes, round(rate, 2), since)
            if not await port.beat(beat):
                self.is_over = True
                self.stop()
            self._say_why_idle()
            await asyncio.sleep(BEAT_S)

    def _say_why_idle(self) -> None:
        """Say why there is nothing to do, once for each reason."""
        why = self._port.why_idle
        if why not in ("", self._said) and not self._doing and self._clock() - self._worked_at >= IDLE_S:
            self._said = why
            events.info("idle", helper=self._port.helper, reason=why)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed = self._failed or error
            self._changed.set()


def _summary(errand: UrlTS, helper: str, result: Result, reader: Reader) -> SummaryTS:
    """The summary of a fetch. A failure that may be the helper's own network's leaves the fetch to the gatherer."""
    if isinstance(result, Failure):
        if result.kind not in OF_THE_PAGE:
            return _unfetched(errand, helper, f"{result.kind}: {result.message}")
        return SummaryTS(
            *(errand.gatherer, errand.run, errand.number, errand.url, helper),
            failure=str(result.kind),
            message=result.message,
            started_at=result.started_at,
            elapsed_s=result.elapsed_s,
        )
    if result.truncated in BROKEN_OFF:
        return _unfetched(errand, helper, f"the answer broke off: {result.truncated}")
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
        page=reader.read(result) if 200 <= result.status < 300 else PageFacts(),
        request_head=result.request_head if errand.payload else b"",
        body=result.body if errand.payload else b"",
        truncated=result.truncated,
        rendered=result.content[:_MOST_RENDERED] if errand.rendered else b"",
    )


def _unfetched(errand: UrlTS, helper: str, why: str) -> SummaryTS:
    """A summary that asks the gatherer to fetch the page itself."""
    return SummaryTS(errand.gatherer, errand.run, errand.number, errand.url, helper, message=why)
