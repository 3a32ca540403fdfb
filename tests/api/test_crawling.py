"""A crawl as a loop: delivery, back-pressure, leaving, control, errors."""

import asyncio
import gc
import json
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gcs
from gcs.api.crawling import _NO_OPTIONS, CrawlOptions
from gcs.app.crawl_input import FLAGS
from gcs.cli.crawl import crawl as command_line
from gcs.errors import GcsError, StoreError, UsageError
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.settings import types
from gcs.testing import serve

#: the options of every crawl of the fake web
FAKE: dict[str, Any] = {"allow_private": True, "delay": 0.0, "scope": "any"}


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=160)) as server:
        yield server


def test_loop_delivers_each_page_once(web: FakeWebProcess) -> None:
    crawl = gcs.crawl(*web.seeds, **FAKE)
    urls = Counter(page.url for page in crawl)
    assert urls == Counter(survey(web.web).pages)
    assert crawl.report().state == "done" and crawl.report().pages == 160


async def test_async_loop_delivers_each_page_once(web: FakeWebProcess) -> None:
    urls = Counter([page.url async for page in gcs.crawl(*web.seeds, **FAKE)])
    assert urls == Counter(survey(web.web).pages)


async def test_plain_loop_works_while_an_event_loop_runs(web: FakeWebProcess) -> None:
    """As in a notebook."""
    assert len(list(gcs.crawl(*web.seeds, **FAKE))) == 160


def test_page_tells_what_was_found(web: FakeWebProcess) -> None:
    pages = {page.url: page for page in gcs.crawl(*web.seeds, **FAKE)}
    seed = pages[web.seeds[0]]
    assert (seed.depth, seed.parent, seed.status, seed.change, seed.failure) == (0, "", 200, "new", "")
    assert seed.final_url == seed.url and seed.is_page and seed.session == 1
    assert seed.content.startswith(b"<!") and seed.title.encode() in seed.content
    assert seed.headers["content-type"] == seed.content_type
    child = next(page for page in pages.values() if page.parent == seed.url)
    assert child.url in seed.outlinks and child.depth == 1
    assert len({page.id for page in pages.values()}) == 160


def test_page_tells_what_it_says_of_itself() -> None:
    html = """<title>A</title><meta name=author content="Ann"><meta property=og:site_name content=Shop>
    <meta name=description content="About it"><h1>A</h1><p>It says something that is long enough to be the main text."""
    with serve({"/": html}) as url:
        (page,) = gcs.crawl(url, **FAKE)
    assert page.metadata == {"description": "About it", "author": "Ann", "site_name": "Shop"}
    assert "main text" in page.markdown


def test_pages_outlive_the_crawl_with_their_content_and_then_leave_nothing(web: FakeWebProcess) -> None:
    pages = list(gcs.crawl(*web.seeds, max_pages=5, **FAKE))
    place = pages[0].record.warc_file and pages[0]._place
    assert isinstance(place, Path) and place.is_dir()
    assert all(page.content for page in pages)
    del pages
    assert not place.exists()


def test_leaving_the_loop_ends_the_crawl_and_the_next_one_goes_on(web: FakeWebProcess, tmp_path: Path) -> None:
    first: list[str] = []
    for page in gcs.crawl(*web.seeds, output=tmp_path, **FAKE):
        first.append(page.url)
        if len(first) == 30:
            break
    assert not [thread for thread in threading.enumerate() if thread.name == "gcs-crawl"]
    rest = [page.url for page in gcs.crawl(output=tmp_path)]  # seeds and settings are those of the directory
    assert rest[0] == first[-1], "the page at which the loop was left comes again"
    assert Counter(first[:-1] + rest) == Counter(survey(web.web).pages)
    assert list(gcs.crawl(output=tmp_path)) == [], "everything is delivered"


async def test_leaving_the_async_loop_ends_the_crawl(web: FakeWebProcess, tmp_path: Path) -> None:
    async def some() -> list[str]:
        urls = []
        async for page in gcs.crawl(*web.seeds, output=tmp_path, **FAKE):
            urls.append(page.url)
            if len(urls) == 20:
                return urls
        return []

    first = await some()
    while [thread for thread in threading.enumerate() if thread.name == "gcs-crawl"]:
        await asyncio.sleep(0.01)
    rest = [page.url async for page in gcs.crawl(output=tmp_path)]
    assert Counter(first[:-1] + rest) == Counter(survey(web.web).pages)


async def test_crawl_goes_on_behind_a_loop_that_was_left_a_moment_ago(web: FakeWebProcess, tmp_path: Path) -> None:
    """Python ends an async loop later, in a task."""
    first = []
    async for page in gcs.crawl(*web.seeds, output=tmp_path, **FAKE):
        first.append(page.url)
        if len(first) == 20:
            break
    rest = [page.url async for page in gcs.crawl(output=tmp_path)]
    assert Counter(first[:-1] + rest) == Counter(survey(web.web).pages)


def test_crawl_goes_on_behind_a_loop_that_an_error_has_ended(web: FakeWebProcess, tmp_path: Path) -> None:
    """A notebook remembers the error, and by that the loop."""
    errors = []
    try:
        for page in gcs.crawl(*web.seeds, output=tmp_path, **FAKE):
            raise KeyError(page.url)
    except KeyError as error:
        errors.append(error)
    rest = [page.url for page in gcs.crawl(output=tmp_path)]
    assert rest[0] == errors[0].args[0] and Counter(rest) == Counter(survey(web.web).pages)


def test_collector_is_as_it_was_when_all_crawls_have_ended(web: FakeWebProcess) -> None:
    found, before = gc.get_threshold(), (700, 10, 10)
    gc.set_threshold(*before)  # whatever other tests have left
    try:
        one, other = (iter(gcs.crawl(*web.seeds, ahead=8, **FAKE)) for _ in range(2))  # neither ends before it is read
        next(one), next(other)
        assert gc.get_threshold() != before
        assert len(list(one)) == 159 and gc.get_threshold() != before
        assert len(list(other)) == 159 and gc.get_threshold() == before
    finally:
        gc.set_threshold(*found)


def test_seeds_and_settings_come_from_files(web: FakeWebProcess, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("".join(f"{seed}\n" for seed in web.seeds))
    (tmp_path / "crawl.toml").write_text('[crawl]\nscope = "any"\n[politeness]\ndelay_s = 0.0\n')
    files: dict[str, Any] = {"seeds": tmp_path / "seeds.txt", "config": tmp_path / "crawl.toml"}
    assert len(list(gcs.crawl(allow_private=True, **files))) == 160


def test_lists_may_be_one_value(web: FakeWebProcess, tmp_path: Path) -> None:
    """A pattern may hold a comma."""
    one = {page.url for page in gcs.crawl(*web.seeds, exclude=r"/news/\w{0,99}", **FAKE)}
    several = {page.url for page in gcs.crawl(*web.seeds, exclude=[r"/news/\w{0,99}"], **FAKE)}
    assert one == several and not any("/news/" in url for url in one - set(web.seeds))


def test_slow_loop_slows_the_crawl_and_loses_nothing(web: FakeWebProcess) -> None:
    ahead = 8
    crawl = gcs.Crawl(*web.seeds, ahead=ahead, connections=4, **FAKE)
    taken, most = 0, 0
    for _ in crawl:
        if taken % 10 == 0:
            threading.Event().wait(0.05)  # time in which an unchecked crawl would store dozens of pages
            most = max(most, crawl.report().pages - taken)
        taken += 1
    assert taken == 160
    assert most <= ahead + 1, "the one in the loop is not taken yet"


def test_paused_crawl_asks_for_nothing_until_it_is_resumed(web: FakeWebProcess) -> None:
    crawl = gcs.Crawl(*web.seeds, **FAKE)
    crawl.start()
    crawl.pause()
    before = -1
    while (now := crawl.report().pages) != before:  # what is in flight arrives
        before = now
        threading.Event().wait(0.3)
    assert now < 160
    crawl.resume()
    assert len(list(crawl)) == 160


def test_report_can_be_asked_for_at_any_moment_of_the_end(web: FakeWebProcess) -> None:
    """Also while the crawl closes its files and writes its report."""
    for _ in range(3):
        crawl = gcs.Crawl(*web.seeds, max_pages=30, **FAKE)
        crawl.start()
        while crawl.report().state == "running":
            pass
        assert crawl.report().state == "limit"
        with pytest.raises(GcsError, match="has ended"):
            crawl.add_seeds("http://127.9.9.9/")


def test_added_seeds_are_crawled_and_kept(tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=20, foreign_share=0.0)) as server:
        one, other = (f"http://{site.address}:{server.port}/" for site in server.web.sites)
        crawl = gcs.Crawl(one, output=tmp_path, allow_private=True, delay=0.0)
        seen = set()
        for page in crawl:
            if not seen:
                crawl.add_seeds(other)
            seen.add(page.url)
        assert any(url.startswith(other) for url in seen) and any(url.startswith(one) for url in seen)
        assert (tmp_path / "state/seeds.txt").read_text().split() == [one, other]


def test_next_session_tells_what_has_changed(tmp_path: Path) -> None:
    spec = FakeWebSpec.plain(hosts=2, pages=60, changed_share=0.3, gone_share=0.1, validators=True)
    with FakeWebProcess(spec) as server:
        assert {page.change for page in gcs.crawl(*server.seeds, output=tmp_path, **FAKE)} == {"new"}
        server.set_session(2)
        changes = Counter(page.change for page in gcs.crawl(output=tmp_path, next=True))
    assert changes["changed"] and changes["same"] and changes["gone"]
    assert sum(changes.values()) >= 60


def test_everything_delivers_failures_too(web: FakeWebProcess) -> None:
    nowhere = web.seeds[0] + "nowhere"
    plain = [page.url for page in gcs.crawl(nowhere, max_pages=5, **FAKE)]
    assert plain == []
    (page,) = gcs.crawl(nowhere, everything=True, **FAKE)
    assert (page.url, page.status, page.failure, page.is_page) == (nowhere, 404, "http-404", False)


def test_what_hinders_a_crawl_is_raised(web: FakeWebProcess, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contact"):
        gcs.crawl("https://example.org/")
    with pytest.raises(UsageError, match="no seeds"):
        gcs.crawl()
    with pytest.raises(UsageError, match="max_page"):
        gcs.crawl(*web.seeds, max_page=3)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="gcs crawl with this flag"):
        gcs.crawl(*web.seeds, gatherers=3)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"did you mean 'politeness.retry_s'"):
        gcs.crawl(*web.seeds, settings={"politeness.retry": 1})
    running = gcs.Crawl(*web.seeds, output=tmp_path, **FAKE)
    running.start()
    running.pause()
    with pytest.raises((StoreError, UsageError), match=r"in use|running"):
        list(gcs.crawl(output=tmp_path))
    running.resume()
    assert len(list(running)) == 160
    with pytest.raises(UsageError, match="once"):
        list(running)


def test_options_are_the_flags_of_the_command() -> None:
    flags = {flag[2:].replace("-", "_"): types()[key] for flag, key in FLAGS.items()}
    left_out = set(_NO_OPTIONS)
    assert set(CrawlOptions.__annotations__) == set(flags) - left_out | {
        *("everything", "ahead", "on_page", "keep_link", "on_request")
    } | {"seeds", "config", "next", "sink"}
    named = {parameter.name: parameter.opts for parameter in command_line.params}
    assert {"--seeds", "--config", "--next", "--sink", "--output"} <= {
        flag for flags in named.values() for flag in flags
    }
    for flag in {flag[2:].replace("-", "_") for flags in named.values() for flag in flags if flag.startswith("--")}:
        assert flag in CrawlOptions.__annotations__ or flag in _NO_OPTIONS or flag in ("output", "json", "help")
    known = {name: kind for name, kind in flags.items() if kind in (int, float, bool, str)}
    assert {name: CrawlOptions.__annotations__[name] for name in known if name not in left_out} == {
        name: kind for name, kind in known.items() if name not in left_out
    }


#: what the killed process runs: it says which page its loop has, deals with it, and says that it has
_LOOP = """
import sys, time
import gcs
for page in gcs.crawl(*sys.argv[2:], output=sys.argv[1], allow_private=True, delay=0.0, scope="any", ahead=40):
    print("begin", page.url, flush=True)
    time.sleep(0.002)
    print("end", page.url, flush=True)
"""


def test_killed_loop_misses_nothing_and_repeats_only_the_page_in_its_hands(web: FakeWebProcess, tmp_path: Path) -> None:
    """kill -9 at ten random moments."""
    chance, begun, ended = random.Random(), list[str](), list[str]()
    kills = 0
    while True:
        loop = subprocess.Popen(
            [sys.executable, "-c", _LOOP, str(tmp_path), *web.seeds], stdout=subprocess.PIPE, text=True
        )
        assert loop.stdout
        lines = chance.randrange(1, 30) if kills < 10 else 1_000_000
        for line in loop.stdout:
            word, url = line.split()
            (begun if word == "begin" else ended).append(url)
            lines -= 1
            if lines == 0:
                loop.kill()
                kills += 1
        code = loop.wait()
        loop.stdout.close()
        if code == 0:
            break
    assert kills == 10
    assert set(ended) == survey(web.web).pages, json.dumps(sorted(survey(web.web).pages - set(ended)))
    assert len(begun) - len(set(begun)) <= kills, "each kill repeats one page at most"
