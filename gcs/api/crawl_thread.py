"""The thread in which a crawl runs beside the program that takes its pages.

The gatherer stores a page, and the program reads it from the record log, at its own pace: so what was not taken when
the process died is taken by the next run. `Room` is what the two share: how far the crawl is ahead.

Invariants
- The gatherer lives in its thread. Others reach it by `_call` and `_ask`, never directly.
- The thread sets no signal handler and changes nothing of the process, but for the garbage collector while it runs.
"""

import asyncio
import contextlib
import functools
import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from gcs.app import crawl_dir, solo_control
from gcs.app.assembly import gatherer
from gcs.app.crawl_input import CrawlRun
from gcs.app.terminal import save_report
from gcs.core.report import report
from gcs.core.report.report import Report
from gcs.errors import GcsError, UsageError
from gcs.ports.plugins import Plugin
from gcs.ports.records.record_log import Position
from gcs.ports.system.control_socket import answering
from gcs.roles.gatherer import Gatherer, GathererState

#: of the gatherer of a program: the same as that of `gcs crawl` with one gatherer, so that either goes on with the
#: other's directory
NAME = "g0"
_T = TypeVar("_T")
#: how often the collector looked before each of the crawls that run now
_usual: list[tuple[int, int, int]] = []
_LOCK = threading.Lock()


class Room:
    """How far the crawl is ahead of the program. The outlet of the gatherer."""

    def __init__(self, ahead: int) -> None:
        self._ahead = max(ahead, 1)
        self._stored = self._taken = 0  # each written by one thread only
        self._told = 0
        self._on_news: Callable[[], object] = lambda: None

    def listen(self, on_news: Callable[[], object]) -> None:
        """`on_news` is called in the crawl's thread when there is something to read, or the crawl has ended."""
        self._on_news = on_news

    def tell(self) -> None:
        self._on_news()

    def open(self) -> None:
        """Nobody takes the records: the crawl may be ahead as far as it likes."""
        self._ahead = 1 << 62

    def room(self) -> int:
        return self._ahead - (self._stored - self._taken)

    def stored(self) -> None:
        self._stored += 1

    def flushed(self) -> None:
        if self._stored != self._told:
            self._told = self._stored
            self.tell()

    def take(self) -> bool:
        """The program has dealt with a record; whether the crawl should be told, because it may be waiting."""
        self._taken += 1
        return self._taken % max(self._ahead // 4, 1) == 0 or self._taken == self._stored


class CrawlThread:
    """Runs one gatherer."""

    def __init__(self, run: CrawlRun, ahead: int, plugins: Sequence[Plugin] = ()) -> None:
        self._run, self.room, self._plugins = run, Room(ahead), plugins
        self._thread = threading.Thread(target=self._main, name="gcs-crawl", daemon=True)
        self._started = threading.Event()
        self._gatherer: Gatherer
        self._loop: asyncio.AbstractEventLoop
        self._report: Report | None = None
        self._error: BaseException | None = None
        #: the end of what earlier runs have stored
        self.begins_at = Position()
        self.has_ended = False
        #: the gatherer has closed its files: it can tell nothing any more
        self._is_closed = False

    def start(self) -> None:
        """Start, and wait until the crawl runs. Raises what hinders it."""
        self._thread.start()
        self._started.wait()
        self.raise_error()

    def raise_error(self) -> None:
        """Raise what ended the crawl, if that was an error."""
        if self._error:
            raise self._error

    def stop(self) -> None:
        """Start no more requests."""
        self._call(lambda: self._gatherer.stop())

    def pause(self, paused: bool) -> None:
        self._call(lambda: self._gatherer.pause(paused))

    def wake(self) -> None:
        self._call(lambda: self._gatherer.wake())

    def add_seeds(self, seeds: list[str]) -> None:
        if self.has_ended:
            raise UsageError("the crawl has ended: start another one on its directory with these seeds")

        self._ask(lambda: solo_control.add_seeds(self._run, self._gatherer, seeds))

    def report(self) -> Report:
        """The report so far, or of the whole crawl when it has ended."""
        if self._report is None and not self.has_ended:
            with contextlib.suppress(_EndedError):
                return self._ask(self._live_report)
            self.join()  # it is about to write its report
        if self._report is None:
            self.raise_error()
            raise GcsError("the crawl ended without a report; see its messages")
        return self._report

    def join(self) -> None:
        """Wait for the end."""
        self._thread.join()

    def _main(self) -> None:
        import uvloop

        try:
            with _few_collections(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._crawl())
        except BaseException as error:  # whatever it is, the program that waits must be told
            self._error = error
        finally:
            self.has_ended = True
            self._started.set()
            self.room.tell()

    async def _crawl(self) -> None:
        run = self._run
        self._loop = asyncio.get_running_loop()
        self._gatherer = gatherer(run.directory, NAME, run.settings, run.seeds, outlet=self.room, plugins=self._plugins)
        self.begins_at = self._gatherer.stored_to
        run.begin()  # not before: now the directory is locked
        self._started.set()
        async with answering(run.directory, functools.partial(solo_control.obey, run, self._gatherer)):
            try:
                state = await self._gatherer.run(run.seeds, run.session)
            finally:
                self._is_closed = True
        self._report = report.build(run.settings.crawl.name, state, [self._gatherer.final_share])
        if expected := run.settings.crawl.expected:
            self._report = crawl_dir.by_list(self._report, run.directory, expected, run.settings.urls)
        save_report(self._report, crawl_dir.report_file(run.directory, run.session))
        save_report(self._report, run.directory / "report.json")

    def _live_report(self) -> Report:
        return report.build(self._run.settings.crawl.name, GathererState.RUNNING, [self._gatherer.share()])

    def _call(self, what: Callable[[], None]) -> None:
        if not self.has_ended:
            with contextlib.suppress(RuntimeError):  # the loop has closed meanwhile
                self._loop.call_soon_threadsafe(what)

    def _ask(self, what: Callable[[], _T]) -> _T:
        """Have this done in the crawl's thread, and wait for the result."""
        answered = threading.Event()
        results: list[_T] = []
        errors: list[BaseException] = []

        def answer() -> None:
            try:
                if self._is_closed:
                    raise _EndedError("the crawl has ended")
                results.append(what())
            except BaseException as error:  # it belongs to whoever asked
                errors.append(error)
            answered.set()

        self._call(answer)
        while not answered.wait(0.05):
            if self.has_ended and not answered.is_set():
                raise _EndedError("the crawl has ended")
        if errors:
            raise errors[0]
        return results[0]


class _EndedError(GcsError):
    """The crawl ended before it could answer."""


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """A page makes thousands of objects and no cycles: to look for cycles as often as usual costs a tenth."""
    with _LOCK:
        _usual.append(gc.get_threshold())
        usual = _usual[0]
        gc.set_threshold(max(usual[0], 50_000), max(usual[1], 20), max(usual[2], 20))
    try:
        yield
    finally:
        with _LOCK:
            _usual.pop()
            if not _usual:  # of several crawls, the last one
                gc.set_threshold(*usual)


def cursor_file(directory: Path) -> Path:
    """Where the position is kept up to which the program has taken the records."""
    return directory / "state" / NAME / "delivered"
