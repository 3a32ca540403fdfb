"""Responses: from the fetch engine, through the reader (and the text pool), to the recorder.

    fetch engine ─► results ─► robots.txt ─► dispatcher
                          ├──► not tried by a helper, or an empty shell ─► dispatcher: queued again, or later
                          ├──► page ─► read ─► (texts) ─► recorder
                          ├──► no page, or read by a trusted helper ─► recorder
                          └──► read by an untrusted helper ─► spot_check ─► recorder, or fetched again

Invariant: every result is counted in `under_way` from its arrival until the recorder has it, so that a gatherer whose
pages are being read does not count as idle.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from gcs.core.page.robots import Robots
from gcs.core.page.values import TOO_LONG, Failure, FailureKind, PageFacts, Response, Result
from gcs.core.url.queued_url import QueuedUrl, level_of
from gcs.ports.fetch.http_message import folded, unfolded
from gcs.ports.reader import Glance, Reader
from gcs.ports.records.record_store import Store
from gcs.ports.summarise import ParsedPage
from gcs.ports.system.watchdog import Watchdog
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher, PageVisit, RobotsVisit
from gcs.roles.gatherer.helpers.lending import Lending
from gcs.roles.gatherer.helpers.spot_check import HeldPage, SpotCheck
from gcs.roles.gatherer.record.recorder import Recorder

#: how the watchdog's note on a robots.txt begins; the origin follows
OF_ROBOTS = "robots "
#: results taken in per turn, so that sockets are served in between
RESULTS_PER_STEP = 64


class ResultInbox:
    """The results of fetch engines and helpers."""

    def __init__(self, request_turn: Callable[[], None]) -> None:
        self.request_turn = request_turn
        self.results: deque[Result] = deque()  # filled by arrive; emptied by Responses.take_in

    def arrive(self, result: Result) -> None:
        """The sink of a fetch engine."""
        self.results.append(result)
        self.request_turn()


@dataclass(frozen=True, slots=True)
class ResponsesParts:
    """The parts that Responses works with."""

    inbox: ResultInbox
    reader: Reader
    store: Store
    recorder: Recorder
    dispatcher: Dispatcher
    spot_check: SpotCheck
    lending: Lending | None
    watchdog: Watchdog
    #: of a page, without its content coding
    max_content_bytes: int
    #: called with every robots.txt that was fetched
    on_robots: Callable[[RobotsVisit, Response, Robots], None]


class Responses:
    """The responses of one gatherer that have no record yet."""

    def __init__(self, parts: ResponsesParts) -> None:
        self._inbox, self._results = parts.inbox, parts.inbox.results
        self._reader, self._store = parts.reader, parts.store
        self._recorder, self._dispatcher, self._on_robots = parts.recorder, parts.dispatcher, parts.on_robots
        self._lending, self._spot_check, self._watchdog = parts.lending, parts.spot_check, parts.watchdog
        self._max_content_bytes = parts.max_content_bytes
        #: filled by the text pool; emptied by take_in
        self._read: deque[tuple[QueuedUrl, Response, asyncio.Future[PageFacts]]] = deque()
        #: pages whose text is being read elsewhere
        self.in_texts = 0

    @property
    def waiting(self) -> int:
        """Results that have not been taken in."""
        return len(self._results)

    @property
    def under_way(self) -> int:
        """Results that have no record yet: not taken in, in the text pool, or held for a spot check."""
        return len(self._results) + self.in_texts + len(self._spot_check)

    def take_in(self, now: float) -> None:
        """Read and record some of the results that have arrived."""
        if self._results:
            try:
                for _ in range(min(len(self._results), RESULTS_PER_STEP)):
                    self._take(self._results.popleft(), now)
            finally:
                self._watchdog.end()
        while self._read:
            entry, response, done = self._read.popleft()
            self.in_texts -= 1
            self._watchdog.begin(entry.url)  # plug-ins read it
            try:
                whole = unfolded(response, self._max_content_bytes)
                self._record(entry, whole, done.result())  # an error of the pool ends the turn, and the crawl
            finally:
                self._watchdog.end()

    def _take(self, result: Result, now: float) -> None:
        tag = result.request.tag
        if type(tag) is PageVisit:
            self._watchdog.begin(tag.entry.url)
            retry_after_s = self._dispatcher.page_ended(tag, result, now)
            if type(result) is Failure and result.kind is FailureKind.NOT_TRIED:
                self._dispatcher.queue_again(tag.entry)
            elif type(result) is Response and 200 <= result.status < 300:
                if not self._recorder.asks_again(tag.entry, result, now):
                    self._page(tag, result, now)
            else:
                if self._spot_check.is_awaited(tag.entry.url):
                    self._spot_check.no_page(tag.entry, result)
                self._recorder.without_page(tag.entry, result, now, retry_after_s)
        elif type(tag) is RobotsVisit:
            self._watchdog.begin(OF_ROBOTS + tag.origin)
            self._robots(tag, result, now)

    def _robots(self, visit: RobotsVisit, result: Result, now: float) -> None:
        target = None
        if type(result) is Response:
            self._store.fetched(result)
            target = self._reader.redirect_target(result) if 300 <= result.status < 400 else None
            if (
                result.truncated == TOO_LONG
            ):  # read up to the limit, in whole lines: half of "Disallow: /a" closes a site
                result = msgspec.structs.replace(result, content=result.content[: result.content.rfind(b"\n") + 1])
        robots = self._dispatcher.robots_answered(visit, result, target, now)
        if robots and type(result) is Response:
            self._on_robots(visit, result, robots)

    def _page(self, visit: PageVisit, response: Response, now: float) -> None:
        if level_of(visit.entry.depth):  # what a page needs says nothing of its own
            self._recorder.record_page(visit.entry, response, PageFacts(visit.entry.url))
            return
        parsed = ParsedPage() if self._recorder.wants_trees else None
        glance = Glance(visit.facts) if visit.facts else self._reader.look(response, parsed)
        entry, facts = visit.entry, glance.facts
        if visit.doubted:
            self._spot_check.hold(HeldPage(entry, response, facts), now)
            return
        if self._lending and facts.shell and self._lending.reserve_for_browser(entry.url):
            self._store.fetched(response)
            self._dispatcher.queue_again(entry)
            return
        if self._lending and not visit.is_rendered and (until := self._lending.wait_until(entry.url, facts.shell)):
            self._store.fetched(response)
            self._recorder.put_aside(entry, until)
            return
        if not glance.left:
            self._record(entry, response, facts, parsed)
            return
        self.in_texts += 1
        response = folded(response)  # a hundred of them may wait
        whole = partial(unfolded, response, self._max_content_bytes)
        task = asyncio.ensure_future(self._reader.finish(response, glance, whole))
        task.add_done_callback(lambda done: self._text_arrives(entry, response, done))

    def _record(self, entry: QueuedUrl, response: Response, facts: PageFacts, parsed: ParsedPage | None = None) -> None:
        """Record the page, unless strangers are judged by it and it has to be looked at twice."""
        if not self._spot_check.is_awaited(entry.url) or self._spot_check.looked(entry, response, facts):
            self._recorder.record_page(entry, response, facts, parsed)

    def _text_arrives(self, entry: QueuedUrl, response: Response, done: "asyncio.Future[PageFacts]") -> None:
        if not done.cancelled():
            self._read.append((entry, response, done))
            self._inbox.request_turn()
