"""Machines on two sides of an ocean: network namespaces whose packets take their time.

Each machine has one interface, a TUN device, whose other end this process holds: it reads packets, waits as long as the
way between the two machines takes, and passes them on. (`tc netem` does the same, but few kernels have it.) Root only.

Invariant: whatever happens, namespaces and processes are gone after `close`.
"""

import fcntl
import heapq
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gcs.ports.space.embedded_server import binaries

from .partition import ip
from .partition import why_not as no_namespaces

REDIS_PORT = 6379
_TUN, _NO_HEADER, _SET_DEVICE = 0x0001, 0x1000, 0x400454CA
_MOST_BYTES = 65_536


def why_not() -> str:
    """Why this cannot be done here; "" if it can."""
    return no_namespaces() or ("" if os.access("/dev/net/tun", os.W_OK) else "there is no /dev/net/tun")


class Ocean:
    """Some machines, and how long a packet takes from one to another."""

    def __init__(self, directory: Path, names: tuple[str, ...], way_s: Callable[[str, str], float]) -> None:
        self._directory, self._names, self._way_s = directory, names, way_s
        self._prefix = f"gcs{os.getpid()}o"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._files: list[int] = []
        self._ends, self._pipe = threading.Event(), os.pipe()
        self.socket = directory / "redis.sock"
        try:
            for number, name in enumerate(names):
                self._files.append(self._add(number, name))
            self._carrier = threading.Thread(target=self._carry)
            self._carrier.start()
        except BaseException:
            self.close()
            raise

    def address(self, name: str) -> str:
        return _address(self._names.index(name))

    def run(self, name: str, machine: str, *command: str) -> "subprocess.Popen[bytes]":
        """Run a command on a machine; what it prints goes to a file of its name."""
        with (self._directory / f"{name}.log").open("wb") as log:
            words = ["ip", "netns", "exec", self._space(machine), *command]
            self._processes[name] = subprocess.Popen(words, stdout=log, stderr=log)
        return self._processes[name]

    def start_redis(self, machine: str) -> None:
        options = {"port": REDIS_PORT, "bind": "0.0.0.0", "protected-mode": "no", "save": "", "unixsocket": self.socket}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self.run("redis", machine, str(next(binaries())), *words)

    def gatherer(self, name: str, hub: str) -> None:
        """Start a gatherer on the machine of its name."""
        words = ["--space", f"redis://{self.address(hub)}:{REDIS_PORT}", "--crawl", "c", "--name", name]
        words += ["-o", str(self._directory / name), "--log", "info", "--allow", "private"]
        self.run(name, name, sys.executable, "-m", "gcs", "gatherer", *words)

    def wait(self, name: str) -> int:
        """Wait for a process to end; its exit code."""
        return self._processes[name].wait(60)

    def printed(self, name: str) -> str:
        return (self._directory / f"{name}.log").read_text()

    def close(self) -> None:
        """End everything."""
        for process in self._processes.values():
            process.kill()
            process.wait()
        if not self._ends.is_set():
            self._ends.set()
            os.write(self._pipe[1], b"x")
            if hasattr(self, "_carrier"):
                self._carrier.join()
            for file in (*self._files, *self._pipe):
                os.close(file)
        spaces = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout.split()
        for name in spaces:
            if name.startswith(self._prefix):
                ip("netns", "del", name)

    def _add(self, number: int, name: str) -> int:
        """A machine with its interface; returns the file that is the interface's other end."""
        space, device = self._space(name), f"{self._prefix}{number}"
        ip("netns", "add", space)
        ip("-n", space, "link", "set", "lo", "up")
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, _SET_DEVICE, struct.pack("16sH", device.encode(), _TUN | _NO_HEADER))
        ip("link", "set", device, "netns", space)
        ip("-n", space, "addr", "add", f"{_address(number)}/24", "dev", device)
        ip("-n", space, "link", "set", device, "up")
        return file

    def _carry(self) -> None:
        """Pass packets on until the end, each when its way is over."""
        under_way: list[tuple[float, int, int, bytes]] = []
        ways = [[self._way_s(a, b) for b in self._names] for a in self._names]
        poll, count = select.poll(), 0
        for file in (*self._files, self._pipe[0]):
            poll.register(file, select.POLLIN)
        while not self._ends.is_set():
            wait_ms = max(under_way[0][0] - time.monotonic(), 0) * 1000 if under_way else None
            for file, _ in poll.poll(wait_ms):
                source = self._files.index(file) if file in self._files else -1
                with suppress(BlockingIOError):
                    while source >= 0 and (packet := os.read(file, _MOST_BYTES)):
                        target = packet[19] - 1 if packet[0] >> 4 == 4 else -1
                        if 0 <= target < len(self._names):
                            count += 1
                            at = time.monotonic() + ways[source][target]
                            heapq.heappush(under_way, (at, count, target, packet))
            while under_way and under_way[0][0] <= time.monotonic():
                *_, target, packet = heapq.heappop(under_way)
                with suppress(OSError):  # as on any line, a packet may be lost
                    os.write(self._files[target], packet)

    def _space(self, name: str) -> str:
        return f"{self._prefix}-{name}"


def _address(number: int) -> str:
    return f"10.254.0.{number + 1}"
