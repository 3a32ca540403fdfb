"""pywb, the replay tool of web archives, in a virtual environment of its own (it pins a redis of 2016)."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcs.ports.records import cdxj, reading


def pywb_program(name: str) -> Path:
    """A program of pywb; skips the test where pywb is not installed."""
    default = Path(__file__).parents[3] / ".venv" / "pywb"
    program = Path(os.environ.get("GCS_PYWB_VENV", default)) / "bin" / name
    if not program.exists():
        pytest.skip(f"pywb is not installed at {program.parents[1]} (scripts/test does that; or set GCS_PYWB_VENV)")
    return program


def collect(root: Path, name: str, crawl: Path) -> Path:
    """Make a collection of pywb from a crawl, with our index; returns its folder."""
    collection = root / "collections" / name
    (collection / "indexes").mkdir(parents=True)
    shutil.copytree(crawl / "warc", collection / "archive")
    lines = (line for file_name, file in reading.warc_files(crawl) for line in cdxj.index(file, file_name))
    (collection / "indexes" / "index.cdxj").write_bytes(b"".join(cdxj.merge(lines)))
    return collection


@contextlib.contextmanager
def serving(root: Path) -> Iterator[int]:
    """The port of a pywb that serves the collections in this folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [pywb_program("wayback"), "-b", "127.0.0.1", "-p", str(port), "-d", root]
    with (root / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            for _ in range(600):
                with contextlib.suppress(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                assert server.poll() is None, "pywb ended"
                time.sleep(0.1)
            else:
                raise AssertionError("pywb did not start")
            yield port
        finally:
            server.terminate()
