"""Machines on one machine: a hub with Redis, and gatherers each with a link of its own to it, that can be cut.

Each one is a network namespace; the links are pairs of virtual interfaces. A gatherer finds the whole web on its own
loopback (a copy for each, on the same addresses and port), so that a cut leaves it nothing to do but to stop by itself;
and the copies' logs tell who asked for what, and when, on the one clock of this machine. Root only.

Invariant: whatever happens, namespaces and processes are gone after `close`.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from gcs.fakeweb import FakeWebSpec, RequestLog, Web
from gcs.ports.space.embedded_server import binaries

from .chaos import failures

PORT, WEB_PORT = 6379, 8080
READ_LOG = "import sys, urllib.request as r; sys.stdout.buffer.write(r.urlopen(sys.argv[1], timeout=20).read())"


def why_not() -> str:
    """Why this cannot be done here; "" if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces need Linux and root"
    if not shutil.which("ip"):
        return "network namespaces need the command ip (iproute2)"
    if not next(binaries(), None):
        return "there is no redis-server here"
    probe = f"gcs{os.getpid()}p"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True).returncode:
        return "network namespaces are not allowed here"
    ip("netns", "del", probe)
    return ""


class Machines:
    """A hub and some gatherers' machines."""

    def __init__(self, directory: Path, names: tuple[str, ...], spec: FakeWebSpec) -> None:
        self._directory = directory
        self._prefix = f"gcs{os.getpid()}"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._gatherers: dict[str, subprocess.Popen[bytes]] = {}
        self._webs: dict[str, dict[str, Any]] = {}
        self.socket = directory / "redis.sock"
        self.web = Web(spec, WEB_PORT)
        try:
            self._add("hub")
            for number, name in enumerate(names):
                self._add(name)
                self._link(name, number)
                self._webs[name] = self._serve(name, spec)
            self._start_redis()
        except BaseException:
            self.close()
            raise

    def gatherer(self, name: str, crawl: str) -> None:
        """Start a gatherer on its machine, with a disk of its own."""
        words = ["--space", f"redis://{_address(self._number(name), 1)}:{PORT}", "--crawl", crawl, "--name", name]
        words += ["-o", str(self.disk(name)), "--log", "info"]
        with (self._directory / f"{name}.log").open("wb") as log:
            command = [sys.executable, "-m", "gcs", "gatherer", "--allow", "private", *words]
            self._gatherers[name] = self._run(name, command, stdout=log, stderr=log)

    def wait(self, name: str) -> int:
        """Wait for a gatherer to end; its exit code."""
        return self._gatherers[name].wait(30)

    def failures(self) -> list[str]:
        """What the gatherers' logs tell of errors in our own code."""
        return failures(self._directory)

    def disk(self, name: str) -> Path:
        """The directory of a gatherer."""
        return self._directory / name

    def cut(self, name: str) -> float:
        """Pull the plug; returns when. Nobody is told: connections just hear nothing any more."""
        ip("netns", "exec", self._space("hub"), "ip", "link", "set", self._hub_end(name), "down")
        return time.monotonic()

    def mend(self, name: str) -> float:
        """Put it in again; returns when."""
        at = time.monotonic()
        ip("netns", "exec", self._space("hub"), "ip", "link", "set", self._hub_end(name), "up")
        return at

    def hits(self, name: str) -> dict[str, list[float]]:
        """Page → when the gatherer asked for it, by the clock of time.monotonic()."""
        where = f"http://127.0.0.1:{self._webs[name]['control_port']}/__log"
        words = ["ip", "netns", "exec", self._space(name), sys.executable, "-c", READ_LOG, where]
        log = msgspec.json.decode(subprocess.run(words, check=True, capture_output=True).stdout, type=RequestLog)
        return {url: times for url, times in log.hits.items() if not url.endswith("/robots.txt")}

    def close(self) -> None:
        """End everything."""
        for process in self._processes:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
        spaces = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout.split()
        for name in spaces:
            if name.startswith(self._prefix):
                ip("netns", "del", name)  # and its interfaces with it

    def _add(self, name: str) -> None:
        ip("netns", "add", self._space(name))
        ip("netns", "exec", self._space(name), "ip", "link", "set", "lo", "up")

    def _link(self, name: str, number: int) -> None:
        ends = (("hub", self._hub_end(name), 1), (name, "uplink", 2))
        ip(
            "link",
            "add",
            ends[0][1],
            "netns",
            self._space("hub"),
            "type",
            "veth",
            "peer",
            "name",
            "uplink",
            "netns",
            self._space(name),
        )
        for machine, end, host in ends:
            ip("-n", self._space(machine), "addr", "add", f"{_address(number, host)}/24", "dev", end)
            ip("-n", self._space(machine), "link", "set", end, "up")

    def _serve(self, name: str, spec: FakeWebSpec) -> dict[str, Any]:
        words = [sys.executable, "-m", "gcs.fakeweb.server", "--spec", json.dumps(asdict(spec))]
        process = self._run(name, [*words, "--port", str(WEB_PORT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout
        ready: dict[str, Any] = json.loads(process.stdout.readline())
        return ready

    def _start_redis(self) -> None:
        options = {"port": PORT, "bind": "0.0.0.0", "protected-mode": "no", "save": "", "unixsocket": self.socket}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self._run("hub", [next(binaries()), *words], stdout=subprocess.DEVNULL)

    def _run(self, name: str, command: list[str], **streams: Any) -> "subprocess.Popen[bytes]":
        self._processes.append(subprocess.Popen(["ip", "netns", "exec", self._space(name), *command], **streams))
        return self._processes[-1]

    def _space(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def _hub_end(self, name: str) -> str:
        return f"to-{name}"

    def _number(self, name: str) -> int:
        return list(self._webs).index(name)


def ip(*words: str) -> None:
    """The command ip."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


def _address(link: int, host: int) -> str:
    return f"10.255.{link}.{host}"
