"""The progress line of a crawl: pages, pages/s, queue, explored fraction, time left."""

import time
from types import TracebackType

from gcs.core.report import Share


class Progress:
    """A live line on stderr."""

    def __enter__(self) -> "Progress":
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self._bars = Bars(
            TextColumn("[bold]{task.fields[pages]:,}[/] pages  {task.fields[rate]:,.0f}/s"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:.0f} % explored  {task.fields[queued]:,} queued  {task.fields[left]}"),
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,  # it would be a thread that redraws ten times a second
        )
        self._bars.start()
        self._task = self._bars.add_task("crawl", total=1.0, pages=0, rate=0.0, queued=0, left="")
        self._samples = [(time.monotonic(), 0)]
        self._first = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the line away, and give the terminal back as it was."""
        self._bars.stop()

    def update(self, share: Share) -> None:
        """Show how it stands; the rate is that of the last seconds."""
        pages = share.tally.pages
        if self._first:
            self._samples, self._first = [(time.monotonic(), pages)], False
        self._samples = [*self._samples[-40:], (time.monotonic(), pages)]
        (then, before), (now, _) = self._samples[0], self._samples[-1]
        rate = (pages - before) / (now - then) if now > then else 0.0
        fraction = share.explored_fraction
        left = f"~{_span(pages * (1 - fraction) / fraction / rate)} left" if rate and fraction > 0.01 else ""
        self._bars.update(
            self._task, completed=fraction, pages=pages, rate=rate, queued=share.queued, left=left, refresh=True
        )


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
