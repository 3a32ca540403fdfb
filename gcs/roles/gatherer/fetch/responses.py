"""Answers: from the fetch engine, through the reader (and the text pool), to the recorder.

    fetch engine ─► results ─► robots.txt ─► dispatcher
                          ├──► untried, or an empty shell ─► dispatcher: queued again, or later
                          └──► page ─► read ─► (texts) ─► recorder
                          └──► no page, or read by a helper ► recorder
                          └──► read by a stranger ─► scrutiny ─► recorder, or fetched by ourselves

Invariant: every answer is counted in `under_way` from its arrival until the recorder has it, so that nobody takes a
gatherer for idle whose pages are being read.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from gcs.core.page.robots import Robots
from gcs.core.page.values import Failure, FailureKind, Response, Result
from gcs.ports.frontier import Entry
from gcs.ports.reader import PageReading, Reader
from gcs.ports.records.record_store import Store
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher, PageVisit, RobotsVisit
from gcs.roles.gatherer.helpers.spot_check import HeldPage, SpotCheck
from gcs.roles.gatherer.record.recorder import Recorder

#: answers taken in per turn, so that sockets are served in between
RESULTS_PER_STEP = 64


class Responses:
    """The answers of one gatherer that have no record yet."""

    def __init__(self, reader: Reader, recorder: Recorder, store: Store, wake: Callable[[], None]) -> None:
        self._reader, self._texts = reader, reader.texts
        self._recorder, self._store, self._wake = recorder, store, wake
        self._results: deque[Result] = deque()  # filled by the fetch engine; emptied by take_in
        #: filled by the text pool; emptied by take_in
        self._read: deque[tuple[Entry, Response, asyncio.Future[PageReading]]] = deque()
        #: pages whose text is being read elsewhere
        self.in_texts = 0
        #: asked of every empty shell, whether somebody with a browser will fetch it
        self.is_rendered: Callable[[str], bool] = lambda _: False
        #: asked of every page, with whether it is an empty shell: until when it waits for somebody with a browser
        self.waits_until: Callable[[str, bool], float | None] = lambda _, __: None
        #: where strangers' pages wait; None where there are no helpers
        self.scrutiny: SpotCheck | None = None
        #: told of every robots.txt that was had
        self.on_robots: Callable[[RobotsVisit, Response, Robots, float], None] = lambda *_: None

    @property
    def waiting(self) -> int:
        """Answers that nobody has looked at."""
        return len(self._results)

    @property
    def under_way(self) -> int:
        """Answers that have no record yet: not looked at, being read elsewhere, or held until they are believed."""
        return len(self._results) + self.in_texts + (0 if self.scrutiny is None else len(self.scrutiny))

    def arrive(self, result: Result) -> None:
        """The fetch engine's sink."""
        self._results.append(result)
        self._wake()

    def take_in(self, dispatcher: Dispatcher, now: float) -> None:
        """Read and record some of what has arrived."""
        for _ in range(min(len(self._results), RESULTS_PER_STEP)):
            result = self._results.popleft()
            tag = result.request.tag
            if type(tag) is PageVisit:
                retry_after_s = dispatcher.page_ended(tag, result, now)
                if type(result) is Failure and result.kind is FailureKind.NOT_TRIED:
                    dispatcher.queue_again(tag.entry)
                elif type(result) is Response and 200 <= result.status < 300:
                    self._page(tag, result, dispatcher, now)
                else:
                    if self.scrutiny is not None and self.scrutiny.is_awaited(tag.entry.url):
                        self.scrutiny.no_page(tag.entry, result)
                    self._recorder.without_page(tag.entry, result, now, retry_after_s)
            elif type(tag) is RobotsVisit:
                self._robots(tag, result, dispatcher, now)
        while self._read:
            entry, response, done = self._read.popleft()
            self.in_texts -= 1
            self._record(entry, response, done.result())  # an error of the pool ends the turn, and the crawl

    def _robots(self, visit: RobotsVisit, result: Result, dispatcher: Dispatcher, now: float) -> None:
        target = None
        if type(result) is Response:
            self._store.fetched(result)
            target = self._reader.redirect_target(result) if 300 <= result.status < 400 else None
        robots = dispatcher.robots_answered(visit, result, target, now)
        if robots and type(result) is Response:
            self.on_robots(visit, result, robots, now)

    def _page(self, visit: PageVisit, response: Response, dispatcher: Dispatcher, now: float) -> None:
        entry, reading = visit.entry, visit.reading or self._reader.read(response)
        if visit.doubted and self.scrutiny is not None:
            self.scrutiny.hold(HeldPage(entry, response, reading), now)
            return
        if reading.shell and self.is_rendered(entry.url):
            self._store.fetched(response)
            dispatcher.queue_again(entry)
            return
        if not visit.is_rendered and (until := self.waits_until(entry.url, reading.shell)):
            self._store.fetched(response)
            self._recorder.put_aside(entry, until)
            return
        if visit.reading or self._texts is None or reading.document.source:
            self._record(entry, response, reading)
            return
        self.in_texts += 1
        task = asyncio.ensure_future(self._reader.read_text(response, reading))
        task.add_done_callback(lambda done: self._text_arrives(entry, response, done))

    def _record(self, entry: Entry, response: Response, reading: PageReading) -> None:
        """Unless it is a page that strangers are judged by, and it has to be looked at twice."""
        scrutiny = self.scrutiny
        if scrutiny is None or not scrutiny.is_awaited(entry.url) or scrutiny.looked(entry, response, reading):
            self._recorder.page(entry, response, reading)

    def _text_arrives(self, entry: Entry, response: Response, done: "asyncio.Future[PageReading]") -> None:
        if not done.cancelled():
            self._read.append((entry, response, done))
            self._wake()
