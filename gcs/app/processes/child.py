"""A child: a process that runs a command of GCS for this one, and is started again if it dies.

Invariant: a child is reaped by `Child.code`, once, and its exit code is kept. It does not outlive this process.
"""

import asyncio
import os
import runpy
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

from gcs.ports.system.process import end_with

#: seconds between two looks at a child that is waited for
POLL_S = 0.02
#: starts of one child within a minute before it is given up
STARTS_PER_MINUTE = 20


class Child:
    """A process that runs `gcs gatherer` or `gcs seed-server`, and when it was started.

    At first it is forked, before there is a loop or a thread, so that a team loads its code once, not N times. To start
    it again needs a new program, because a process with a running event loop must not be forked.
    """

    def __init__(
        self, command: str, name: str, arguments: list[str], environment: dict[str, str], stderr: int | None = None
    ) -> None:
        """`environment`: what must not stand on a command line, where every user of the machine can read it."""
        self.name, self._stderr = name, stderr
        self._arguments, self._environment = [command, *arguments, *(("--name", name) if name else ())], environment
        self.starts: list[float] = []
        self._pid = 0
        self._code: int | None = None
        self._program: subprocess.Popen[bytes] | None = None

    def fork(self) -> None:
        """Start it as a copy of this process, with all that is loaded."""
        sys.stdout.flush()
        sys.stderr.flush()
        prepare = end_with(os.getpid(), signal.SIGKILL)
        self._note(os.fork())
        if not self._pid:
            if prepare:
                prepare()
            os.environ |= self._environment
            if self._stderr is not None:
                os.dup2(self._stderr, 2)
            _run_forked(self._arguments)

    def start(self) -> None:
        """Start it again, as a new program."""
        command = [sys.executable, "-m", "gcs", *self._arguments]
        self._program = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=self._stderr,
            env=os.environ | self._environment,
            start_new_session=True,
            preexec_fn=end_with(os.getpid(), signal.SIGKILL),
        )
        self._note(self._program.pid)

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def is_running(self) -> bool:
        """Whether it was started, and has not ended."""
        return bool(self.starts) and self.code is None

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


def _run_forked(arguments: list[str]) -> NoReturn:
    """In a forked child: run `python -m gcs` with these arguments, and exit."""
    code = 1
    try:
        os.setsid()
        with Path(os.devnull).open() as null:
            os.dup2(null.fileno(), 0)
        sys.argv[1:] = arguments
        runpy.run_module("gcs", run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
