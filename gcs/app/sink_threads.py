"""The sinks of a crawl, each in a thread of its own beside it: one that is slow or away delays no other.

Invariant: when `finish` returns nothing, each sink has taken all that is stored.
"""

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path

from gcs.events import Events
from gcs.ports.sinks import Sink
from gcs.ports.sinks.sink_delivery import SinkDelivery

events = Events("sink")
#: seconds between two looks at the record logs
_LOOK_S = 0.2
#: tries of the last batches, when the crawl has ended
_LAST_TRIES = 4


class SinkThreads:
    """Delivers from one crawl directory."""

    def __init__(self, directory: Path, sinks: Sequence[Sink], keeper: object = None) -> None:
        """`keeper`: whatever must live as long as the pages."""
        self._lanes = [_Lane(directory, sink, keeper) for sink in sinks]

    def start(self) -> None:
        for lane in self._lanes:
            lane.thread.start()

    def finish(self) -> list[str]:
        """Deliver the rest; the sinks that have not taken all, and why."""
        for lane in self._lanes:
            lane.ending.set()
        for lane in self._lanes:
            lane.thread.join()
        return [lane.problem for lane in self._lanes if lane.problem]


class _Lane:
    def __init__(self, directory: Path, sink: Sink, keeper: object) -> None:
        self._directory, self._sink, self._keeper = directory, sink, keeper
        self.thread = threading.Thread(target=self._main, name=f"gcs-sink {sink.name}", daemon=True)
        self.ending = threading.Event()
        self.problem = ""

    def _main(self) -> None:
        delivery = SinkDelivery(self._directory, self._sink, self._keeper)
        try:
            while not self.ending.is_set():
                if not delivery.step():
                    self.ending.wait(_LOOK_S)
            while delivery.failures < _LAST_TRIES and (delivery.step(hurry=True) or delivery.failures):
                if delivery.failures:
                    threading.Event().wait(0.25 * 2**delivery.failures)
            if delivery.failures:
                self.problem = delivery.problem
        except Exception as error:  # the crawl has not failed: what was stored can be delivered later
            self.problem = f"{type(error).__name__}: {error}"
            events.warning("ended", sink=self._sink.name, cause=error)
        finally:
            with contextlib.suppress(Exception):  # nothing was promised of what close does
                delivery.close()
        if self.problem:
            self.problem = f"sink {self._sink.name} has not taken all pages ({self.problem})"
