"""The watchdog: ends a process that an answer holds for too long, and tells the next run which answer that was.

What is being read is noted in a small file that is mapped into memory, so that a note costs no system call and outlives
the process. A timer of CPU time ends the process, whatever it is doing: a parser stuck in C code cannot be interrupted.
Before that, the stack is written to another file: it proves that the timer did it.

The next run gives the answer up. If the process was killed by something else while it read (kill -9, out of memory),
that may have been chance: the answer gets a second chance, and is given up if a process dies with it again. In a
user's program, which runs without the timer, that is stopped and killed more often, and reads more slowly, a chance
counts for less: the answer is given up when MOST_DEATHS processes in a row have died with it.

Invariant: time in which the process sleeps, is stopped, or waits for a disk does not count.
"""

import contextlib
import faulthandler
import mmap
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from gcs.ports.records.layout import store_error
from gcs.ports.system.own_file import open_own, own_stream

#: CPU seconds that one answer may take: 20 times as much as the worst that the readers' own bounds allow
LIMIT_S = 10.0
#: processes that may die in a row while they read the same answer: with a timer, and without
_DEATHS, MOST_DEATHS = 2, 5
#: bytes of a note, which holds any URL that is crawled; of two notes the file consists
_NOTE_BYTES = 1 << 16
_LENGTH_BYTES = 2


class Watchdog:
    """The notes of one gatherer, and the timer of its process while it reads."""

    def __init__(self, folder: Path, limit_s: float | None = LIMIT_S) -> None:
        """`limit_s`: None for notes without a timer, in a process that does more than to crawl."""
        folder.mkdir(parents=True, exist_ok=True)
        self._stack, self._limit_s = folder / "held.stack", limit_s
        file = folder / "reading"
        try:
            with own_stream(file, "ab") as notes:
                notes.truncate(2 * _NOTE_BYTES)
            with own_stream(file, "r+b") as notes:
                self._notes = mmap.mmap(notes.fileno(), 2 * _NOTE_BYTES)
        except OSError as error:
            raise store_error("write", file, error) from None
        self._is_armed = False

    def held(self) -> str | None:
        """What the last run was reading when it ended, if that is to be given up."""
        last = self._note(0)
        deaths, _, suspect = self._note(_NOTE_BYTES).partition(" ")
        died = 1 + (int(deaths) if last == suspect and deaths.isdecimal() else 0)
        is_sure = self._stack.exists() and self._stack.stat().st_size > 0
        self._stack.unlink(missing_ok=True)
        self._put(0, "")
        if not last or is_sure or died >= (MOST_DEATHS if self._limit_s is None else _DEATHS):
            self._put(_NOTE_BYTES, "")
            return last or None
        self._put(_NOTE_BYTES, f"{died} {last}")
        return None

    def begin(self, name: str) -> None:
        """Note that this answer is read now."""
        self._put(0, name)
        if self._limit_s is not None:
            if not self._is_armed:
                self._arm()
            signal.setitimer(signal.ITIMER_PROF, self._limit_s)

    def end(self) -> None:
        """Note that no answer is being read."""
        if self._is_armed:
            signal.setitimer(signal.ITIMER_PROF, 0)
        self._notes[:_LENGTH_BYTES] = b"\0\0"

    def close(self) -> None:
        if self._is_armed:
            self.end()
            faulthandler.unregister(signal.SIGPROF)
            os.close(self._stack_file)
        self._notes.close()

    def _arm(self) -> None:
        self._is_armed = True
        self._stack_file = open_own(self._stack, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        # the signal's default, which ends the process, follows the stack
        faulthandler.register(signal.SIGPROF, self._stack_file, all_threads=False, chain=True)

    def _note(self, at: int) -> str:
        start = at + _LENGTH_BYTES
        return self._notes[start : start + int.from_bytes(self._notes[at:start], "big")].decode("utf-8", "replace")

    def _put(self, at: int, name: str) -> None:
        data = name.encode("utf-8", "replace")[: _NOTE_BYTES - _LENGTH_BYTES]
        self._notes[at : at + _LENGTH_BYTES + len(data)] = len(data).to_bytes(_LENGTH_BYTES, "big") + data


@contextlib.contextmanager
def cpu_limit(limit_s: float = LIMIT_S) -> Iterator[None]:
    """Ends the process if the block takes more CPU time: for a process that keeps nothing."""
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
