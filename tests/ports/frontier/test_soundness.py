"""A damaged LMDB file is found when it is opened: by its seal, or by a process of its own that reads every row."""

import random
from pathlib import Path

import lmdb
import pytest

from gcs.core.ordering import BFS
from gcs.core.url.queued_url import QueuedUrl
from gcs.errors import DamagedError, StoreError
from gcs.ports.frontier import Frontier, FrontierSettings, Mark
from gcs.ports.frontier.lmdb_file import peek
from gcs.ports.frontier.soundness import SEAL, damage_of
from gcs.ports.url_registry import UrlRegistry

QUICK = FrontierSettings(fsync=False)


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A frontier of some hundred URLs, closed."""
    frontier = Frontier(tmp_path, QUICK)
    frontier.insert([QueuedUrl(f"http://h{number % 7}.test/{number}") for number in range(500)])
    for entry in frontier.take("h1.test", 20):
        frontier.finish(entry.url, Mark.DONE)
    frontier.commit()
    frontier.close()
    return tmp_path


def test_frontier_is_sound_whether_it_was_closed_or_killed(closed: Path) -> None:
    assert damage_of(closed) == ""
    (closed / SEAL).unlink()
    assert damage_of(closed) == ""
    frontier = Frontier(closed, QUICK)
    assert not (closed / SEAL).exists(), "it is about to change"
    assert (frontier.known(), frontier.queued()) == (500, 480)
    frontier.close()
    assert damage_of(closed) == ""


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bit_in_a_closed_frontier_is_found(closed: Path, seed: int) -> None:
    rng, data = random.Random(seed), closed / "data.mdb"
    content = bytearray(data.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    data.write_bytes(content)
    assert damage_of(closed) == "has changed since it was closed"
    with pytest.raises(DamagedError):
        peek(closed)
    frontier = Frontier(closed, QUICK)
    assert frontier.known() == 0
    assert (closed / "data.mdb.cut").read_bytes() == content
    frontier.close()


@pytest.mark.parametrize("pages", [0, 1, 2, 3, 8])
def test_cut_frontier_of_a_killed_process_ends_no_other_process(closed: Path, pages: int) -> None:
    """LMDB maps the file: a page that is missing raises SIGBUS."""
    (closed / SEAL).unlink()
    data = closed / "data.mdb"
    data.write_bytes(data.read_bytes()[: 4096 * pages + 100])
    assert damage_of(closed).startswith("cannot be read") or "Error" in damage_of(closed)


def test_damaged_rows_of_a_killed_process_are_found(closed: Path) -> None:
    (closed / SEAL).unlink()
    data = closed / "data.mdb"
    data.write_bytes(data.read_bytes().replace(b"http://h2.test/", b"http://h2\xff\xff\xff\xff/\xff"))
    assert damage_of(closed)


def test_mark_that_names_another_place_is_found(closed: Path) -> None:
    """A changed rank in a frontier whose process was killed: it was found when the URL was to be moved."""
    (closed / SEAL).unlink()
    with lmdb.open(str(closed), max_dbs=12) as environment:
        urls = environment.open_db(b"urls")
        with environment.begin(urls, write=True) as txn:
            key, mark = next((key, value) for key, value in txn.cursor() if value.startswith(b"Q"))
            txn.put(key, b"Q\xff" + mark[2:])
    assert damage_of(closed) == "ValueError: a URL that waits is not where its mark says"


def test_damaged_seal_is_as_good_as_none(closed: Path) -> None:
    (closed / SEAL).write_text("12 abc")
    assert damage_of(closed) == ""


def test_damaged_registry_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    registry = UrlRegistry(tmp_path, BFS, fsync=False)
    registry.commit()
    registry.close()
    data = tmp_path / "data.mdb"
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(StoreError, match=r"data.mdb is damaged: .*; nobody else knows .* restore the file"):
        UrlRegistry(tmp_path, BFS)
