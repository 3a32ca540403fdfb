"""The LMDB file of a frontier where there is little address space."""

import multiprocessing
import resource
from pathlib import Path

import pytest

from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier import Frontier, FrontierSettings

URL = "https://www.example.com/"


def _fill(directory: Path, room_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (room_bytes, room_bytes))
    frontier = Frontier(directory, FrontierSettings())
    frontier.insert([QueuedUrl(url=URL)])
    frontier.commit()
    frontier.close()


@pytest.mark.parametrize("room_bytes", [1 << 38, 1 << 36])
def test_frontier_opens_where_there_is_little_address_space(tmp_path: Path, room_bytes: int) -> None:
    """A kernel with addresses of 39 bits, or `ulimit -v`; the file can be opened elsewhere afterwards."""
    process = multiprocessing.get_context("spawn").Process(target=_fill, args=(tmp_path, room_bytes))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    frontier = Frontier(tmp_path, FrontierSettings())
    assert frontier.mark(URL) is not None
    frontier.close()
