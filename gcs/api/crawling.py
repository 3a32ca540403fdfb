"""`gcs.crawl` and `gcs.Crawl`: a crawl as a loop over its pages.

    for page in gcs.crawl("https://example.org/", contact="you@example.org"):      # or: async for
        ...

The crawl runs in a thread of its own, so both loops work everywhere, in a notebook too. A slow loop slows the crawl:
the crawl stores at most `ahead` records that the loop has not taken.

Delivery is *at least once*. A page counts as delivered when the loop asks for the next one, and that is noted in the
crawl directory. Who is killed (kill -9) and crawls on in the same directory gets the page again whose body was under
way, and no other; after a power cut, also pages of the last seconds. None is missed. Leaving the loop ends the crawl,
and another one on the directory goes on, beginning with the page at which the loop was left.
"""

import asyncio
import contextlib
import difflib
import shutil
import tempfile
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from gcs.api.crawl_thread import NAME, CrawlThread, cursor_file
from gcs.app.crawl_input import FLAGS, compose_crawl, read_seeds
from gcs.app.sink_threads import SinkThreads
from gcs.core.page.values import PageRecord
from gcs.core.report.report import Report
from gcs.errors import StoreError, UsageError
from gcs.ports.plugins import Plugin, ReadPage
from gcs.ports.records.follower import Cursor, RecordFollower, Stored
from gcs.ports.records.page import Page
from gcs.ports.sinks import Sink
from gcs.ports.sinks.sink_names import named_sink

#: records read from the log at a time
_BATCH = 64
#: records that may be stored before the loop has taken them
_AHEAD = 1_000


class CrawlOptions(TypedDict, total=False):
    """The settings that `gcs crawl` has flags for, under the same names (`gcs settings` explains them), and more.

    again: begin the next session: ask again for every page, and tell what has changed.
    everything: deliver URLs that ended without a page, too (failures, redirects, sitemaps).
    ahead: records that may be stored before the loop has taken them; 1,000 unless told.
    sinks: where the pages go besides: targets as of --sink, or functions, classes, objects; see `gcs.ports.sinks`.
    plugins: your own code, as names (module:object) or as it is: functions, classes, objects.
    on_page, keep_link, on_request: functions that are plug-ins by themselves; see `gcs.ports.plugins`.
    """

    name: str
    contact: str
    max_pages: int
    max_seconds: float
    scope: Literal["prefix", "host", "domain", "any"]
    depth: int
    purpose: Literal["", "search", "ai-input", "ai-train"]
    order: str
    queue: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    delay: float
    summary: Literal["links", "fast", "full"]
    allow_private: bool
    proxy: str
    connections: int
    warc: bool
    store: str
    again: bool
    everything: bool
    ahead: int
    sinks: Sequence[object]
    plugins: Sequence[object]
    on_page: Callable[[ReadPage], Mapping[str, object] | None]
    keep_link: Callable[[str, ReadPage], bool]
    on_request: Callable[[str], Mapping[str, str] | None]


class Crawl:
    """One run of a crawl. Iterate over it, once: `for` or `async for`."""

    def __init__(
        self,
        *seeds: str,
        output: str | Path | None = None,
        settings: Mapping[str, object] = {},
        **options: Unpack[CrawlOptions],
    ) -> None:
        """What to crawl, and how; nothing starts yet.

        `output`: directory of the crawl; on an existing one, the crawl goes on. None: a temporary one, which lives as
        long as this object or one of its pages.
        `settings`: any setting by its dotted key, such as {"politeness.retry_s": 2}.
        """
        again, ahead = options.pop("again", False), options.pop("ahead", _AHEAD)
        self._everything = options.pop("everything", False)
        sinks = [named_sink(each) if isinstance(each, str) else Sink.of(each) for each in options.pop("sinks", ())]
        names, plugins = _take_plugins(options)
        flags = {**settings, **_flags(options), **names}
        self._scratch = _Scratch() if output is None else None
        self.directory = self._scratch.path if self._scratch else Path(output or ".")
        self._run = compose_crawl(self.directory, seeds, flags, again, is_kept=output is not None)
        _refuse_team(self.directory)
        self._thread = CrawlThread(self._run, ahead, plugins)
        self._sinks = SinkThreads(self.directory, sinks, self._scratch)
        self._is_started = self._is_taken = False

    # -- control ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the crawl, if it has not started; a loop over the crawl does so."""
        if not self._is_started:
            self._is_started = True
            self._thread.start()
            self._sinks.start()

    def run(self) -> Report:
        """Crawl to the end without a loop: the pages are in the directory, and in the sinks if there are any."""
        self._claim()
        self._thread.room.open()
        try:
            self.start()
            self._thread.join()
        finally:
            self._end()
        self._thread.raise_error()
        return self.report()

    def pause(self) -> None:
        """Start no more requests until `resume`."""
        self._started_thread().pause(True)

    def resume(self) -> None:
        """Go on after `pause`."""
        self._started_thread().pause(False)

    def add_seeds(self, *urls: str) -> None:
        """Crawl from these, too: they widen the scope, and are seeds of later runs in the directory."""
        self._started_thread().add_seeds(read_seeds(urls, None, self._run.settings.urls))

    def report(self) -> Report:
        """The figures of the crawl so far; those of the whole crawl when it has ended."""
        return self._started_thread().report()

    def stop(self) -> None:
        """Start no more requests. The loop goes on with the pages that are stored, and ends."""
        self._started_thread().stop()

    def _started_thread(self) -> CrawlThread:
        if not self._is_started:
            raise UsageError("the crawl has not started: call start(), or loop over it")
        return self._thread

    # -- pages -----------------------------------------------------------------------------------------

    def _ready(self, delivery: "_Delivery") -> Iterator[Page]:
        """The pages that wait; each is delivered when the loop asks for the next one."""
        for stored in delivery.ready():
            if self._is_wanted(stored.record):
                yield self._page(stored)
            delivery.delivered(stored)

    def __iter__(self) -> Iterator[Page]:
        news = threading.Event()
        delivery = self._begin(news.set)
        try:
            while True:
                news.clear()
                yield from self._ready(delivery)
                if delivery.is_over:
                    break
                news.wait()
            self._thread.raise_error()
        finally:
            self._end()
            delivery.close()

    async def __aiter__(self) -> AsyncIterator[Page]:
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the program's loop has closed: nobody waits any more
                loop.call_soon_threadsafe(news.set)

        delivery = self._begin(tell)
        try:
            while True:
                news.clear()
                for page in self._ready(delivery):
                    yield page
                if delivery.is_over:
                    break
                await news.wait()
            self._thread.raise_error()
        finally:
            await asyncio.to_thread(self._end)
            delivery.close()

    def _begin(self, on_news: Callable[[], object]) -> "_Delivery":
        self._claim()
        self.start()
        return _Delivery(self._thread, self.directory, on_news)

    def _claim(self) -> None:
        if self._is_taken:
            raise UsageError("the pages of a crawl are delivered once: make another Crawl on its directory to go on")
        self._is_taken = True

    def _end(self) -> None:
        """End the crawl, and let the sinks have the rest. Raises StoreError if one of them cannot take it."""
        self._thread.stop()
        self._thread.join()
        if self._is_started and (problems := self._sinks.finish()):
            raise StoreError(f"{'; '.join(problems)}; they wait in {self.directory} for the next run with this sink")

    def _is_wanted(self, record: PageRecord) -> bool:
        """Pages, and what became of pages that were known."""
        return self._everything or record.is_page or (bool(record.change) and not record.source)

    def _page(self, stored: Stored) -> Page:
        return Page(stored.record, self.directory, self._scratch)


def crawl(
    *seeds: str,
    output: str | Path | None = None,
    settings: Mapping[str, object] = {},
    **options: Unpack[CrawlOptions],
) -> Crawl:
    """A crawl from these seeds, to be looped over: see `Crawl` for the parameters."""
    return Crawl(*seeds, output=output, settings=settings, **options)


def _take_plugins(options: CrawlOptions) -> tuple[dict[str, object], list[Plugin]]:
    """Take the plug-ins out of the options: those given by name, as a setting, and the others."""
    given = options.pop("plugins", ())
    plugins = [Plugin.of(each) for each in given if not isinstance(each, str)]
    if "on_page" in options:
        plugins.append(Plugin("on_page", on_page=options.pop("on_page")))
    if "keep_link" in options:
        plugins.append(Plugin("keep_link", keep_link=options.pop("keep_link")))
    if "on_request" in options:
        plugins.append(Plugin("on_request", on_request=options.pop("on_request")))
    names = tuple(each for each in given if isinstance(each, str))
    return {"crawl.plugins": names} if names else {}, plugins


def _flags(options: Mapping[str, object]) -> dict[str, object]:
    """The dotted keys of the options."""
    flags = {}
    for keyword, value in options.items():
        key = FLAGS.get(f"--{keyword.replace('_', '-')}")
        if key is None or keyword not in CrawlOptions.__annotations__:
            near = difflib.get_close_matches(keyword, CrawlOptions.__annotations__, 1)
            advice = f"did you mean {near[0]!r}?" if near else "give settings by settings={'section.key': value}"
            raise UsageError(f"there is no option {keyword!r}: {advice}")
        flags[key] = value
    return flags


class _Delivery:
    """Hands the records to one loop, and notes which it has dealt with."""

    def __init__(self, thread: CrawlThread, directory: Path, on_news: Callable[[], object]) -> None:
        self._thread = thread
        thread.room.listen(on_news)  # before the first look: nothing is missed
        self._cursor = Cursor(cursor_file(directory))
        # a power cut may have taken records that were delivered: what comes in their place is new
        self._follower = RecordFollower(directory, NAME, min(self._cursor.position, thread.begins_at))
        #: everything was handed out when `ready` came to its end
        self.is_over = False

    def ready(self) -> Iterator[Stored]:
        """The records that can be read now."""
        has_ended = self._thread.has_ended  # looked at first: what is read after that is all there is
        while batch := self._follower.read(_BATCH):
            yield from batch
        self.is_over = has_ended

    def delivered(self, stored: Stored) -> None:
        """The loop has asked for the next one."""
        self._cursor.keep(stored.position)
        if stored.position > self._thread.begins_at and self._thread.room.take():
            self._thread.wake()

    def close(self) -> None:
        self._follower.close()
        self._cursor.close()


class _Scratch:
    """A temporary directory that is deleted when nobody holds this object any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="gcs-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _refuse_team(directory: Path) -> None:
    others = [path.parent.name for path in directory.glob("state/*/frontier") if path.parent.name != NAME]
    if others:
        raise UsageError(
            f"{directory}: a team has crawled here ({', '.join(sorted(others))}): go on with gcs crawl -o {directory}, "
            "and read what it stores with gcs.open"
        )
