"""The children of `gcs crawl -n`: processes, each the same as `gcs gatherer` or `gcs seed-server` with these arguments.

The first ones are forked before there is a loop or a thread, so that a team loads its code once, not N times. A child
that is started again is a new program, because a process with a running event loop must not be forked.

Invariants
- A child is reaped by `code`, once, and its exit code is kept.
- No child outlives this process, even if this process is killed (Linux): it would lock the directory of the next run.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from gcs.ports.process import end_with

#: seconds between two looks at a child that is waited for
POLL_S = 0.02


class Child:
    """A gatherer or seed-server process, and when it was started."""

    def __init__(self, command: str, name: str, arguments: list[str], main: Callable[[], None]) -> None:
        """`main` runs the command line: a forked child calls it."""
        self.name, self._main = name, main
        self._arguments = [command, *arguments, "--name", name]
        self.starts: list[float] = []
        self._pid = 0
        self._code: int | None = None
        self._program: subprocess.Popen[bytes] | None = None

    def fork(self) -> None:
        """Start it as a copy of this process with all that is loaded, before there is a loop or a thread."""
        sys.stdout.flush()
        sys.stderr.flush()
        prepare = end_with(os.getpid(), signal.SIGKILL)
        self._note(os.fork())
        if not self._pid:
            if prepare:
                prepare()
            _live(self._arguments, self._main)

    def start(self) -> None:
        """Start it again, as a new program."""
        command = [sys.executable, "-m", "gcs", *self._arguments]
        self._program = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=end_with(os.getpid(), signal.SIGKILL)
        )
        self._note(self._program.pid)

    @property
    def code(self) -> int | None:
        """The exit code (minus the signal's number, if a signal ended it), or None while it runs."""
        if self._program:
            return self._program.poll()
        if self._code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self.code is None:
            os.kill(self._pid, number)

    async def ended(self) -> None:
        while self.code is None:  # noqa: ASYNC110  there is no event to wait for
            await asyncio.sleep(POLL_S)

    def _note(self, pid: int) -> None:
        self._pid, self._code = pid, None
        self.starts.append(time.monotonic())


def arguments(url: str, crawl: str, directory: Path, log: str) -> list[str]:
    """The arguments that all children of a crawl share."""
    return ["--space", url, "--crawl", crawl, "-o", str(directory), "--log", log]


def _live(words: list[str], main: Callable[[], None]) -> None:
    """The life of a forked child: run its command, and exit."""
    code = 1
    try:
        os.setsid()
        with Path(os.devnull).open() as null:
            os.dup2(null.fileno(), 0)
        sys.argv[1:] = words
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
