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
from gcs.app.crawl_input import FLAGS, CrawlRequest, compose_crawl, read_seeds
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
#: options that are one value or a list
_LISTS = ("include", "exclude")
#: flags of `gcs crawl` that a program cannot give, and what to do instead
_NO_OPTIONS = {
    **dict.fromkeys(
        ("gatherers", "space", "run", "browser", "station", "listen", "coordination", "mode", "plan"),
        "a crawl in Python has one gatherer and no helpers: run gcs crawl with this flag, and read with gcs.open",
    ),
    "report": "crawl.report() gives it, and DIRECTORY/report.json",
    "index": "run gcs index DIRECTORY, with --follow beside the program",
    "set": "give settings by settings={'section.key': value}",
    **dict.fromkeys(("log", "log_json", "log_file"), "use Python's logging"),
}
#: the crawls of this program that run, by their directory
_RUNNING: weakref.WeakValueDictionary[Path, "Crawl"] = weakref.WeakValueDictionary()


class CrawlOptions(TypedDict, total=False):
    """The flags of `gcs crawl`, under the same names (`gcs crawl --help` explains them), and more.

    What may be given several times is one value or a list. Flags of teams, of the station and of messages are missing.

    seeds: a file with more seeds, one URL a line.
    config: a file of settings, as `gcs settings` prints it.
    next: begin the next session: ask again for every page, and tell what has changed.
    sink: where the pages go besides: a target as of --sink, or a function, class or object; see `gcs.ports.sinks`.
    plugins: your own code, as a name (module:object) or as it is: a function, class or object.
    on_page, keep_link, on_request: functions that are plug-ins by themselves; see `gcs.ports.plugins`.
    everything: deliver URLs that ended without a page, too (failures, redirects, sitemaps).
    ahead: records that may be stored before the loop has taken them; 1,000 unless told.
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
    include: str | Sequence[str]
    exclude: str | Sequence[str]
    delay: float
    summary: Literal["links", "fast", "full"]
    allow_private: bool
    proxy: str
    connections: int
    warc: bool
    requisites: bool
    anchors: bool
    store: str
    seeds: str | Path
    config: str | Path
    next: bool
    sink: object
    plugins: object
    on_page: Callable[[ReadPage], Mapping[str, object] | None]
    keep_link: Callable[[str, ReadPage], bool]
    on_request: Callable[[str], Mapping[str, str] | None]
    everything: bool
    ahead: int


class Crawl:
    """One run of a crawl. Iterate over it, once: `for` or `async for`."""

    def __init__(
        self,
        *urls: str,
        output: str | Path | None = None,
        settings: Mapping[str, object] = {},
        **options: Unpack[CrawlOptions],
    ) -> None:
        """What to crawl, and how; nothing starts yet.

        `output`: directory of the crawl; on an existing one, the crawl goes on. None: a temporary one, which lives as
        long as this object or one of its pages.
        `settings`: any setting by its dotted key, such as {"politeness.retry_s": 2}.
        """
        ahead = options.pop("ahead", _AHEAD)
        self._everything = options.pop("everything", False)
        given = _several(options.pop("sink", ()))
        sinks = [named_sink(each) if isinstance(each, str) else Sink.of(each) for each in given]
        names, plugins = _take_plugins(options)
        asked = CrawlRequest(urls, options.pop("seeds", None), options.pop("config", None), options.pop("next", False))
        flags = {**settings, **_flags(options), **names}
        self._scratch = _Scratch() if output is None else None
        self.directory = self._scratch.path if self._scratch else Path(output or ".")
        self._run = compose_crawl(self.directory, asked, flags, is_kept=output is not None)
        _refuse_team(self.directory)
        self._thread = CrawlThread(self._run, ahead, plugins)
        self._sinks = SinkThreads(self.directory, sinks, self._scratch)
        self._is_started = self._is_taken = False
        #: the thread whose loop has a page at this moment; 0 if none has
        self._page_is_with = 0

    # -- control ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the crawl, if it has not started; a loop over the crawl does so."""
        if not self._is_started:
            self._is_started = True
            self._thread.start()
            _RUNNING[self.directory.resolve()] = self
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
                self._page_is_with = threading.get_ident()
                yield self._page(stored)
                self._page_is_with = 0
            delivery.delivered(stored)

    def __iter__(self) -> Iterator[Page]:
        news = threading.Event()
        if last := self._left_behind():
            last._end()
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

        if last := self._left_behind():
            await asyncio.to_thread(last._end)
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

    def _left_behind(self) -> "Crawl | None":
        """The crawl of this directory whose loop this thread has left a moment ago.

        Python ends a loop that was left late: an `async for` in a task of its own, and one that an error has ended in a
        notebook not before the error is forgotten.
        """
        last = _RUNNING.get(self.directory.resolve())
        return last if last and last is not self and last._page_is_with == threading.get_ident() else None

    def _claim(self) -> None:
        if self._is_taken:
            raise UsageError("the pages of a crawl are delivered once: make another Crawl on its directory to go on")
        self._is_taken = True

    def _end(self) -> None:
        """End the crawl, and let the sinks have the rest. Raises StoreError if one of them cannot take it."""
        self._thread.stop()
        self._thread.join()
        if _RUNNING.get(place := self.directory.resolve()) is self:
            del _RUNNING[place]
        if self._is_started and (problems := self._sinks.finish()):
            raise StoreError(f"{'; '.join(problems)}; they wait in {self.directory} for the next run with this sink")

    def _is_wanted(self, record: PageRecord) -> bool:
        """Pages, and what became of pages that were known."""
        return self._everything or record.is_page or (bool(record.change) and not record.source)

    def _page(self, stored: Stored) -> Page:
        return Page(stored.record, self.directory, self._scratch)


def crawl(
    *urls: str,
    output: str | Path | None = None,
    settings: Mapping[str, object] = {},
    **options: Unpack[CrawlOptions],
) -> Crawl:
    """A crawl from these seeds, to be looped over: see `Crawl` for the parameters."""
    return Crawl(*urls, output=output, settings=settings, **options)


def _take_plugins(options: CrawlOptions) -> tuple[dict[str, object], list[Plugin]]:
    """Take the plug-ins out of the options: those given by name, as a setting, and the others."""
    given = _several(options.pop("plugins", ()))
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
            if keyword in _NO_OPTIONS:
                raise UsageError(f"there is no option {keyword!r}: {_NO_OPTIONS[keyword]}")
            near = difflib.get_close_matches(keyword, CrawlOptions.__annotations__, 1)
            advice = f"did you mean {near[0]!r}?" if near else "give settings by settings={'section.key': value}"
            raise UsageError(f"there is no option {keyword!r}: {advice}")
        flags[key] = tuple(_several(value)) if keyword in _LISTS else value
    return flags


def _several(value: object) -> list[object]:
    """The values of an option that is one value or a list."""
    return list(value) if isinstance(value, list | tuple) else [value]


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
