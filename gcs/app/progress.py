"""The progress of a crawl while it runs: two live lines at a terminal, elsewhere a line every 30 seconds.

    120 pages  14/s ━━━━━━━━━━╸              42 % explored  310 queued  1 min 9 s left
    limited by 1 host at 1 page/s (--delay 1)

Invariants
- Every other line that goes to stderr meanwhile, from this process or from a child, passes `write_above`, which takes
  the live lines away first: lines never run into one another.
- No live line is wider than the terminal: what does not fit is left out, the least important part first.
"""

import os
import shutil
import sys
import time
from collections.abc import Sequence
from typing import IO

from gcs.core.report.estimate import estimate, pace
from gcs.core.report.workload import Workload
from gcs.events import tame

#: seconds between two lines where stderr is no terminal
EVERY_S = 30.0
#: characters of the bar
BAR = 24
_HIDE, _SHOW, _CLEAR, _UP = "\x1b[?25l", "\x1b[?25h", "\x1b[K", "\x1b[1A\r"
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Progress:
    """Shows the progress during its `with` block. sys.stderr is led through it meanwhile, if it is a terminal."""

    def __init__(self, stream: IO[str] | None = None, now: float | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_live = self._stream.isatty()
        self._shown: tuple[str, str] | None = None
        self._said_at = time.monotonic() if now is None else now
        self._above: _Above | None = None

    def __enter__(self) -> "Progress":
        if self._is_live:
            self._stream.write(_HIDE)
            if self._stream is sys.stderr:
                self._above = _Above(self)
                sys.stderr = self._above
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_live(self) -> bool:
        """Whether there are live lines, which other lines must not run into."""
        return self._is_live

    def stop(self) -> None:
        """Remove the lines, and leave the terminal as it was."""
        if not self._is_live:
            return
        self._is_live = False
        if self._above:
            self._above.end()
            sys.stderr = self._stream
        self._erase()
        self._stream.write(_SHOW)
        self._stream.flush()

    def update(self, works: Sequence[Workload], state: str, now: float | None = None) -> None:
        """Show the estimate from the workloads of the gatherers; `state` is that of the crawl."""
        now = time.monotonic() if now is None else now
        if not self._is_live and now < self._said_at + EVERY_S:
            return
        outlook = estimate(works, state)
        counts = f"{outlook.pages:,} pages"
        rate = f"{pace(sum(work.pages_per_s for work in works))}/s"
        left = outlook.done, f"{outlook.queued:,} queued", outlook.left
        if not self._is_live:
            self._said_at = now
            parts = [counts, rate, *left, outlook.why]
            self._stream.write(tame(", ".join(filter(None, parts))) + "\n")
            self._stream.flush()
            return
        width = shutil.get_terminal_size().columns - 1
        self._erase()
        self._shown = _first_line(width, counts, rate, outlook.progress, left), _cut(outlook.why, width)
        self._draw()

    def write_above(self, text: str) -> None:
        """Write whole lines above the live ones."""
        self._erase()
        self._stream.write(text)
        self._draw()

    def _draw(self) -> None:
        if self._shown and self._is_live:
            first, second = self._shown
            self._stream.write(f"{_CLEAR}{first}\n{_CLEAR}{_DIM}{second}{_PLAIN}{_UP}")
        self._stream.flush()

    def _erase(self) -> None:
        if self._shown:
            self._stream.write(f"\r{_CLEAR}\n{_CLEAR}{_UP}")


class _Above:
    """Stands in the place of sys.stderr: gathers what is written into lines, and puts them above the live ones."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._rest = progress, ""

    def write(self, text: str) -> int:
        lines, newline, self._rest = (self._rest + text).rpartition("\n")
        if newline:
            self._progress.write_above(lines + newline)
        return len(text)

    def end(self) -> None:
        if self._rest:
            self.write("\n")

    def __getattr__(self, name: str) -> object:
        return getattr(self._progress._stream, name)


def _first_line(width: int, counts: str, rate: str, share: float, left: Sequence[str]) -> str:
    """The parts that fit, the most important first; in the order of the line."""
    done, queued, rest = left
    parts = {"counts": counts, "rate": rate, "bar": "━" * BAR, "done": done, "queued": queued, "rest": rest}
    kept: list[str] = []
    room = width
    for name in ("counts", "done", "rest", "queued", "rate", "bar"):
        if parts[name] and len(parts[name]) + 2 <= room + 2 * (not kept):
            kept.append(name)
            room -= len(parts[name]) + 2 * (len(kept) > 1)
    filled = round(BAR * min(max(share, 0.0), 1.0))
    parts["bar"] = f"{'━' * filled}{_DIM}{'━' * (BAR - filled)}{_PLAIN}"
    parts["counts"] = f"{_BOLD}{parts['counts']}{_PLAIN}"
    return "  ".join(parts[name] for name in parts if name in kept)


def _cut(text: str, width: int) -> str:
    text = tame(text)
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


# -- lines of children


class ChildLines:
    """A pipe in the place of the children's stderr, so that their lines do not run into the live ones."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._rest = progress, b""
        self.read_end, self.write_end = os.pipe()
        os.set_inheritable(self.write_end, True)
        os.set_blocking(self.read_end, False)

    def forward(self) -> None:
        """Show the whole lines that have come."""
        try:
            while data := os.read(self.read_end, 1 << 16):
                self._rest += data
        except BlockingIOError:
            pass
        lines, newline, self._rest = self._rest.rpartition(b"\n")
        if newline:
            self._progress.write_above((lines + newline).decode("utf-8", "replace"))

    def close(self) -> None:
        self.forward()
        if self._rest:
            self._progress.write_above(self._rest.decode("utf-8", "replace") + "\n")
        os.close(self.read_end)
        os.close(self.write_end)
