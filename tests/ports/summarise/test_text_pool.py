"""The text pool, with real workers. A plug-in package gives them documents that hang or kill them."""

import asyncio
import itertools
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from gcs.core.page.simhash import simhash
from gcs.errors import GcsError
from gcs.ports.reader import Summarisers
from gcs.ports.summarise import Options, text_pool
from gcs.ports.summarise.text_pool import Extract, TextPool
from gcs.ports.system import process

HTML = "text/html; charset=utf-8"
PAGE = b"""<html><title>t</title><body><article><p>The words of this page are many, and they are English words.</p>
<p>There are two paragraphs of them, so that an extractor of text has something to extract.</p></article>"""

#: loaded by each worker as it starts, which can be made slow, or to fail
PLUGIN = """
import os, signal, time
from gcs.core.page.values import Document
from gcs.ports.summarise import Summariser

time.sleep(float(os.environ.get("TEST_START_S", "0")))

def pid(source):
    return Document(hrefs=[], text=f"{os.getpid()}")

def hang(source):
    with open(source.url, "w") as file:
        file.write(f"{os.getpid()}")
    os.rename(source.url, source.url + ".pid")
    time.sleep(600)

def once(source):
    # hangs for the first who reads it
    if os.path.exists(source.url + ".pid"):
        return Document(hrefs=[], text="read")
    hang(source)

def die(source):
    os.kill(os.getpid(), signal.SIGSEGV)

def fail(source):
    raise ValueError("of the plug-in")

def swell(source):
    return Document(hrefs=[], text="x" * (8 * 1024**3))

summarisers = {name: Summariser(f"application/x-{name}", function) for name, function in list(globals().items())
               if name in ("pid", "hang", "once", "die", "fail", "swell")}
globals().update({f"a_{name}": summariser for name, summariser in summarisers.items()})
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installs the plug-in where the workers find it."""
    (tmp_path / "gcs_test_plugin.py").write_text(PLUGIN)
    info = tmp_path / "gcs_test_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gcs-test-plugin\nVersion: 1.0\n")
    names = ("pid", "hang", "once", "die", "fail", "swell")
    lines = "\n".join(f"{name} = gcs_test_plugin:a_{name}" for name in names)
    (info / "entry_points.txt").write_text(f"[gcs.summarisers]\n{lines}\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
async def pool(plugin: Path) -> AsyncIterator[TextPool]:
    pool = TextPool(1)
    yield pool
    await pool.close()


async def worker_of(pool: TextPool) -> int:
    return int((await pool.submit(b"", "application/x-pid", "")).document.text)


async def test_pool_extracts_what_summarise_does(pool: TextPool) -> None:
    expected = Summarisers().summarise(PAGE, HTML, "http://x/", "full")
    extract = await pool.submit(PAGE, HTML, "http://x/")
    assert extract == Extract(msgspec.structs.replace(expected, hrefs=[]))
    assert (extract.document.language, extract.document.simhash) == ("en", simhash(expected.text))
    assert "two paragraphs" in extract.document.text


async def test_pool_reads_any_format(pool: TextPool) -> None:
    assert (await pool.submit(b"only words", "text/plain", "http://x/")).document.text == "only words"
    assert await pool.submit(b"\x89PNG\r\n\x1a\n", "image/png", "http://x/") == Extract()


async def test_pool_survives_a_page_that_kills_its_worker(pool: TextPool) -> None:
    before = await worker_of(pool)
    assert await pool.submit(b"", "application/x-die", "http://x/") == Extract(note="the text worker died")
    assert await worker_of(pool) != before
    assert (await pool.submit(PAGE, HTML, "http://x/")).document.text


async def test_page_gets_another_worker_if_its_own_is_ended_by_chance(pool: TextPool, plugin: Path) -> None:
    """Where other processes take all memory, the kernel ends a worker first: the page has done nothing."""
    page = asyncio.create_task(pool.submit(b"", "application/x-once", str(plugin / "chance")))
    os.kill(await hung(plugin, "chance"), signal.SIGKILL)
    assert (await page).document.text == "read"


async def test_pool_survives_a_page_that_raises_or_swells_in_the_same_worker(pool: TextPool) -> None:
    before = await worker_of(pool)
    failed = await pool.submit(b"", "application/x-fail", "http://x/")
    assert failed == Extract(note="ValueError: of the plug-in")
    swollen = await pool.submit(b"", "application/x-swell", "http://x/")
    assert swollen.note.startswith("MemoryError")
    assert await worker_of(pool) == before


async def test_pool_ends_a_worker_that_takes_the_memory_of_its_container(
    pool: TextPool, plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the container is ended, its range moves, and the next one reads the page."""
    before = await worker_of(pool)
    monkeypatch.setattr(pool, "_share_bytes", 1 << 20)
    extract = await pool.submit(b"", "application/x-hang", str(plugin / "large"))
    assert extract == Extract(note="no text within 1 MB")
    assert not alive(before)


def test_workers_share_half_of_the_memory_of_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text(f"{2 << 30}\n")
    monkeypatch.setattr(process, "_MEMORY_LIMITS", (tmp_path / "absent", tmp_path / "memory.max"))
    assert TextPool(4)._share_bytes == 256 << 20
    assert (TextPool(64).workers, TextPool(64)._share_bytes) == (4, 256 << 20), "no page could be read in 16 MB"
    (tmp_path / "memory.max").write_text("max\n")
    assert TextPool(4)._share_bytes == 4 << 30


async def test_pool_gives_up_on_a_page_that_takes_too_long(pool: TextPool, plugin: Path) -> None:
    before = await worker_of(pool)
    pool.timeout_s, usual_s = 0.05, pool.timeout_s
    extract = await pool.submit(b"", "application/x-hang", str(plugin / "hung"))
    assert extract == Extract(note="no text after 0.05 s")
    assert not alive(before)
    pool.timeout_s = usual_s
    assert await worker_of(pool) != before


async def test_start_of_a_worker_costs_its_first_page_nothing(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it took longer than the limit of a page, which lost its text."""
    monkeypatch.setenv("TEST_START_S", "1.5")
    pool = TextPool(1, timeout_s=1.0)
    assert await worker_of(pool)
    await pool.close()


async def test_pool_that_cannot_start_workers_is_an_error(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all pages would lose their texts."""
    monkeypatch.setenv("TEST_START_S", "nonsense")
    pool = TextPool(1)
    with pytest.raises(GcsError, match="end before they have started"):
        await worker_of(pool)
    await pool.close()


async def test_pool_does_not_count_what_a_worker_waits_for_a_core(
    pool: TextPool, plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the worker waited for a core at the first twenty looks, and slept from then on."""
    before = await worker_of(pool)
    looks = itertools.count()
    monkeypatch.setattr(text_pool, "work_of", lambda _pid: (0.0, next(looks) > 20))
    monkeypatch.setattr(text_pool, "_LEAST_S", 0.001)
    pool.timeout_s = 0.002
    extract = await pool.submit(b"", "application/x-hang", str(plugin / "starved"))
    assert extract.note == "no text after 0.002 s"
    assert next(looks) > 20
    assert not alive(before)


async def test_pool_does_not_count_what_it_was_stopped_itself(pool: TextPool) -> None:
    """The answer comes while the process is stopped, as by Ctrl-Z: it is there when the process goes on."""
    before = await worker_of(pool)
    pool.timeout_s = 0.2
    page = asyncio.create_task(pool.submit(b"", "application/x-pid", ""))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    time.sleep(1.0)  # noqa: ASYNC251 (nothing else goes on, either)
    assert (await page).document.text == str(before)


async def test_pool_leaves_interrupts_to_its_parent(pool: TextPool) -> None:
    before = await worker_of(pool)
    os.kill(before, signal.SIGINT)
    assert await worker_of(pool) == before
    assert os.getsid(before) != os.getsid(0), "nor does the terminal reach it"


async def test_pool_tells_how_much_it_takes(plugin: Path) -> None:
    pool = TextPool(2)
    assert pool.free == pool.slots == 8
    tasks = [asyncio.create_task(pool.submit(PAGE, HTML, f"http://x/{number}")) for number in range(11)]
    await asyncio.sleep(0)
    assert pool.free == 0
    assert all(extract.document.text for extract in await asyncio.gather(*tasks))
    assert pool.free == 8
    await pool.close()


async def hung(plugin: Path, name: str) -> int:
    """The worker that is busy with the page of that name."""
    file = plugin / f"{name}.pid"
    await asyncio.to_thread(wait_until, file.exists)
    return int(file.read_text())


async def test_pool_close_ends_its_workers_and_answers_what_is_inside(plugin: Path) -> None:
    pool = TextPool(1)
    pages = [asyncio.create_task(pool.submit(b"", "application/x-hang", str(plugin / name))) for name in "ab"]
    worker = await hung(plugin, "a")
    await pool.close()
    assert await asyncio.gather(*pages) == [Extract(note="the text pool is closed")] * 2
    assert not alive(worker)
    assert (await pool.submit(PAGE, HTML, "http://x/")).note == "the text pool is closed"


async def test_pool_ends_the_worker_of_a_page_that_is_cancelled(pool: TextPool, plugin: Path) -> None:
    page = asyncio.create_task(pool.submit(b"", "application/x-hang", str(plugin / "cancelled")))
    worker = await hung(plugin, "cancelled")
    page.cancel()
    with suppress(asyncio.CancelledError):
        await page
    assert page.cancelled()
    assert not alive(worker)
    assert pool.free == pool.slots


PARENT = """
import asyncio, sys
from gcs.ports.summarise.text_pool import TextPool
asyncio.run(TextPool(1).submit(b"", "application/x-hang", sys.argv[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of the dead")
async def test_pool_workers_die_with_their_parent(plugin: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = (sys.executable, "-c", PARENT, str(plugin / "orphan"))
    parent = await asyncio.create_subprocess_exec(*command, env=environment)
    worker = await hung(plugin, "orphan")
    assert alive(worker)
    parent.kill()
    await parent.wait()
    await asyncio.to_thread(wait_until, lambda: not alive(worker))


async def test_pool_passes_its_options_on(plugin: Path) -> None:
    pool = TextPool(1, options=Options(max_text_bytes=10))
    assert (await pool.submit(b"0123456789 and more", "text/plain", "http://x/")).document.text == "0123456789"
    await pool.close()


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # a process that has ended stays in the table until its parent, or init, asks for it
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
