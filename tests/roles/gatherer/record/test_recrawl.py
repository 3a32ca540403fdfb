"""Sessions of one gatherer: every page is asked for again with its validators; only what changed is stored anew."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from warcio.archiveiterator import ArchiveIterator

from gcs.app import assembly
from gcs.core.page.values import PageRecord
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWeb
from gcs.ports.records.reading import latest, read_records
from gcs.roles.gatherer import Gatherer, GathererState
from gcs.settings import load

QUICK = {
    "crawl.scope": "any",
    "fetch.allow_private": True,
    "politeness.delay_s": 0.0,
    "politeness.retry_s": 0.05,
    "politeness.overload_s": 0.05,
    "summary.depth": "links",
    "frontier.fsync": False,
    "frontier.checkpoint_s": 0.1,
    "traps.max_depth": 20,
}
SPEC = FakeWebSpec.plain(
    hosts=4, pages=200, validators=True, changed_share=0.2, added_share=0.1, gone_share=0.1, robots=True
)


def make(directory: Path, web: FakeWeb, **changes: Any) -> Gatherer:
    settings = load(None, {}, QUICK | {key.replace("__", "."): value for key, value in changes.items()})
    return assembly.gatherer(directory, "g0", settings, list(web.seeds))


def records(directory: Path) -> list[PageRecord]:
    return list(read_records(directory))


@pytest.mark.parametrize("engine", ["curl", "aiohttp"])
async def test_session_stores_what_changed_and_follows_new_links(tmp_path: Path, engine: str) -> None:
    async with FakeWeb(SPEC) as web:
        await make(tmp_path, web, fetch__engine=engine).run(list(web.seeds))
        first = records(tmp_path)
        sent_bytes = web.log.sent_bytes
        before, old = survey(web.web), web.web
        web.set_session(2)
        web.reset()
        gatherer = make(tmp_path, web, fetch__engine=engine)
        assert await gatherer.run(list(web.seeds), session=2) is GathererState.DONE

        second = records(tmp_path)[len(first) :]
        truth = survey(web.web)
        by_status = {status: {r.url for r in second if r.status == status} for status in (200, 304, 404, 410)}
        unchanged = {url for url in before.pages & truth.pages if old.plan(url).etag == web.web.plan(url).etag}
        assert by_status[304] == unchanged
        assert by_status[200] == truth.pages - unchanged
        assert truth.pages - before.pages <= by_status[200], "new pages were found through changed ones"
        assert by_status[404] | by_status[410] == before.pages - truth.pages
        assert all(by_status[status] for status in (200, 304)), "the web changes, and not all of it"
        assert Counter(r.url for r in second).most_common(1)[0][1] == 1
        assert web.log.sent_bytes < sent_bytes / 2, "what has not changed is not sent"

        share = gatherer.final_share
        assert share.counters.pages == share.unique == len(by_status[200])
        assert share.counters.revisits == len(unchanged)
        assert share.explored_fraction == 1.0
        by_change = {
            change: {r.url for r in second if r.change == change} for change in ("new", "changed", "same", "gone")
        }
        assert by_change["same"] == unchanged
        assert by_change["changed"] == (before.pages & truth.pages) - unchanged
        assert by_change["new"] == truth.pages - before.pages
        assert by_change["gone"] == before.pages - truth.pages
        assert {r.session for r in first} == {1} and {r.session for r in second} == {2}
        counters = share.counters
        assert [counters.new, counters.changed, counters.same, counters.gone] == [
            len(urls) for urls in by_change.values()
        ]


async def test_session_names_the_copy_that_a_304_confirms(tmp_path: Path) -> None:
    """In the WARC, and again after a third visit: a revisit record never refers to a revisit record."""
    async with FakeWeb(FakeWebSpec.plain(hosts=2, pages=20, validators=True, changed_share=0.2)) as web:
        await make(tmp_path, web).run(list(web.seeds))
        web.set_session(2)
        for session in (2, 3):
            await make(tmp_path, web).run(list(web.seeds), session=session)
    responses: dict[tuple[str, str], str] = {}
    revisits = []
    for file in sorted((tmp_path / "warc").glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                record.content_stream().read()
                head = record.rec_headers
                if record.rec_type == "response":
                    responses[head["WARC-Target-URI"], head["WARC-Date"]] = head["WARC-Payload-Digest"]
                elif head["WARC-Profile"] and head["WARC-Profile"].endswith("/server-not-modified"):
                    revisits.append(head)
    assert len(revisits) > 20
    for head in revisits:
        assert head["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
        assert head["WARC-Refers-To-Target-URI"] == head["WARC-Target-URI"]
        original = (head["WARC-Target-URI"], head["WARC-Refers-To-Date"])
        assert responses[original] == head["WARC-Payload-Digest"]
    latest = {record.url: record for record in records(tmp_path)}
    assert {record.status for record in latest.values()} == {304}
    assert all(record.digest and record.etag for record in latest.values())


async def test_session_that_was_killed_goes_on(tmp_path: Path) -> None:
    async with FakeWeb(SPEC) as web:
        await make(tmp_path, web).run(list(web.seeds))
        count = len(records(tmp_path))
        web.set_session(2)
        web.reset()
        gatherer = make(tmp_path, web, frontier__checkpoint_s=1e6, crawl__max_pages=10)
        await gatherer.startup(list(web.seeds), session=2)
        await gatherer._finished
        await gatherer._fetcher.close()  # no shutdown: nothing was committed but the beginning
        gatherer._store.close()
        gatherer._frontier.close()
        half = records(tmp_path)[count:]
        assert 10 <= len(half) < len(survey(web.web).pages)
        again = make(tmp_path, web)
        assert await again.run(list(web.seeds), session=2) is GathererState.DONE
        second = Counter(record.url for record in records(tmp_path)[count:])
        assert survey(web.web).pages <= set(second)
        assert set(second.values()) == {1}
        assert again.final_share.counters.pages + again.final_share.counters.revisits == len(survey(web.web).pages)
        assert again.final_share.unique == again.final_share.counters.pages


async def test_session_asks_without_validators_where_there_are_none(tmp_path: Path) -> None:
    """Failures, redirects and pages whose server gives no validators: all are requested without validators."""
    spec = FakeWebSpec(hosts=2, pages=30, validators=False, exhibits_every=1, slow_s=0.02, retry_after_s=0, traps=False)
    async with FakeWeb(spec) as web:
        await make(tmp_path, web).run(list(web.seeds))
        first = Counter((r.url, r.status, r.failure) for r in records(tmp_path))
        asked = set(web.log.hits)
        web.reset()
        gatherer = make(tmp_path, web)
        await gatherer.run(list(web.seeds), session=2)
        assert Counter((r.url, r.status, r.failure) for r in records(tmp_path)) == first + first
        assert {url for url in asked if not url.endswith("/robots.txt")} <= set(web.log.hits)
        assert web.log.header_values("if-none-match") == web.log.header_values("if-modified-since") == set()
        assert web.log.forbidden == []
        share = gatherer.final_share
        assert (
            share.counters.pages
            == share.unique
            == sum(200 <= status < 300 for _, status, _ in first)
            - sum(record.source for record in records(tmp_path)) / 2
        )


async def test_session_asks_first_for_what_changed_last(tmp_path: Path) -> None:
    """If a limit allows only a part of the web, pages that changed before are fetched first."""
    async with FakeWeb(FakeWebSpec.plain(hosts=1, pages=60, validators=True, changed_share=0.2)) as web:
        quick = {"fetch__connections": 1, "politeness__host_connections": 1}
        await make(tmp_path, web, **quick).run(list(web.seeds))
        web.set_session(2)
        await make(tmp_path, web, **quick).run(list(web.seeds), session=2)
        changed = {record.url for record in records(tmp_path) if record.change == "changed"}
        assert 4 < len(changed) < 30
        count = len(records(tmp_path))
        await make(tmp_path, web, **quick).run(list(web.seeds), session=3)
        third = [record.url for record in records(tmp_path)[count:]]
        assert len(third) == 60 and set(third[: len(changed)]) == changed


async def test_session_forgets_what_is_gone_for_good(tmp_path: Path) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=1, pages=30, validators=True, gone_share=0.3, changed_share=0.0)) as web:
        await make(tmp_path, web).run(list(web.seeds))
        before = survey(web.web).pages
        web.set_session(2)
        gone = before - survey(web.web).pages
        assert gone
        asked = []
        for session in range(2, 6):
            web.reset()
            await make(tmp_path, web).run(list(web.seeds), session=session)
            asked.append(gone & set(web.log.hits))
            last = records(tmp_path)
        found_on = {record.url: record.parent for record in last}
        there = {record.url for record in last if record.session == 5 and record.status == 304}
        assert asked == [gone, gone, gone, {url for url in gone if found_on[url] in there}]


@pytest.mark.parametrize("is_linked", [True, False])
async def test_forgotten_url_comes_back_with_a_page_that_links_to_it(tmp_path: Path, is_linked: bool) -> None:
    """That page has not changed, so it is not sent again (304); or it links there no more in the fifth session."""
    there, session, asked = True, 1, list[str]()

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        if request.path == "/":
            if session >= 5 and not is_linked:
                return web.Response(text="nothing", content_type="text/html")
            if request.headers.get("if-none-match"):
                return web.Response(status=304, headers={"etag": '"a"'})
            return web.Response(text="<a href=/b>b</a>", content_type="text/html", headers={"etag": '"a"'})
        if request.path == "/b" and there:
            return web.Response(text="<p>a page", content_type="text/html")
        raise web.HTTPNotFound

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        seeds = [str(server.make_url("/"))]
        for session in range(1, 7):
            there = session in (1, 6)
            asked.clear()
            await assembly.gatherer(tmp_path, "g0", load(None, {}, QUICK), seeds).run(seeds, session=session)
            assert ("/b" in asked) is (is_linked or session < 5), session
    found = [(200, 0), (404, 1), (404, 2), (404, 3), (404, 4), (200, 0)]
    told = [(r.status, r.misses) for r in records(tmp_path) if r.url.endswith("/b")]
    assert told == found if is_linked else told == found[:4]


async def test_session_with_a_server_that_cannot_answer_loses_no_copy(tmp_path: Path) -> None:
    """After a session of 503s, the next one asks with the validators of the copy that is held, and finds no change."""
    busy, asked = False, list[str | None]()

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/robots.txt":
            raise web.HTTPNotFound
        asked.append(request.headers.get("if-none-match"))
        if busy:
            return web.Response(status=503, text="later", headers={"etag": '"busy"'})
        if asked[-1] == '"a"':
            return web.Response(status=304, headers={"etag": '"a"'})
        return web.Response(text="<p>a page", content_type="text/html", headers={"etag": '"a"'})

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        seeds = [str(server.make_url("/"))]
        for session in (1, 2, 3):
            busy = session == 2
            settings = load(None, {}, QUICK | {"politeness.tries": 1})
            gatherer = assembly.gatherer(tmp_path, "g0", settings, seeds)
            await gatherer.run(seeds, session=session)
    assert asked == [None, '"a"', '"a"']
    assert [(r.status, r.change, r.misses) for r in records(tmp_path)] == [
        (200, "new", 0),
        (503, "", 1),
        (304, "same", 0),
    ]
    first, _, third = records(tmp_path)
    assert (third.digest, third.held_at_us) == (first.digest, round(first.fetched_at * 1e6))
    assert [url for (url,) in latest(tmp_path, ["url"])] == seeds
    for file in (tmp_path / "warc").iterdir():
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                record.content_stream().read()


async def test_session_continues_with_the_urls_that_the_last_one_left_queued(tmp_path: Path) -> None:
    """A session that ended early leaves URLs queued; robots.txt may allow in the next what it refused."""
    async with FakeWeb(SPEC) as web:
        first = make(tmp_path, web, crawl__max_pages=50)
        await first.run(list(web.seeds))
        assert first.final_share.queued
        second = make(tmp_path, web, politeness__robots=False)
        await second.run(list(web.seeds), session=2)
        everything = survey(web.web).pages
        found = {record.url for record in records(tmp_path) if record.session == 2 and not record.failure}
        assert everything <= found
        stored = Counter(record.url for record in records(tmp_path) if record.session == 2)
        assert set(stored.values()) == {1}


async def test_session_requests_no_pages_that_a_pattern_excludes_by_now(tmp_path: Path) -> None:
    """Neither URLs queued by an interrupted run nor those of the last session; without the pattern they come back."""
    async with FakeWeb(FakeWebSpec.plain(hosts=2, pages=60, validators=True)) as web:
        patterns = {"crawl__exclude": ("/docs/",)}
        unwanted = {url for url in survey(web.web).pages if "/docs/" in url}
        first = make(tmp_path, web, crawl__max_pages=25)
        await first.run(list(web.seeds))
        stored = {record.url for record in records(tmp_path)}
        assert first.final_share.queued and unwanted - stored and unwanted & stored
        web.reset()
        assert await make(tmp_path, web, **patterns).run(list(web.seeds)) is GathererState.DONE
        assert not unwanted & set(web.log.hits)
        web.reset()
        assert await make(tmp_path, web, **patterns).run(list(web.seeds), session=2) is GathererState.DONE
        assert not unwanted & set(web.log.hits) and stored - unwanted <= set(web.log.hits)
        web.reset()
        assert await make(tmp_path, web).run(list(web.seeds), session=3) is GathererState.DONE
        assert stored <= set(web.log.hits)


async def test_session_with_a_narrower_scope_leaves_known_hosts_alone(tmp_path: Path) -> None:
    """Queued by an interrupted run, or of the last session; where the scope is wide again they come back."""
    async with FakeWeb(FakeWebSpec.plain(hosts=3, pages=60, validators=True)) as web:
        home = web.seeds[0]
        pages = survey(web.web).pages
        first = make(tmp_path, web, crawl__max_pages=40)
        await first.run([home])
        stored = {record.url for record in records(tmp_path)}
        abroad = {url for url in pages if not url.startswith(home)}
        assert first.final_share.queued and abroad - stored and abroad & stored
        for session in (2, 3):
            web.reset()
            assert await make(tmp_path, web, crawl__scope="host").run([home], session=session) is GathererState.DONE
            assert not abroad & set(web.log.hits) and stored - abroad <= set(web.log.hits)
        web.reset()
        assert await make(tmp_path, web).run([home], session=4) is GathererState.DONE
        assert abroad <= set(web.log.hits)


async def test_robots_txt_that_is_valid_for_a_short_time_is_requested_before_each_page(tmp_path: Path) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=1, pages=8, robots=True)) as web:
        gatherer = make(tmp_path, web, politeness__robots_cache_s=0.0, crawl__max_seconds=20)
        assert await gatherer.run(list(web.seeds)) is GathererState.DONE
        assert survey(web.web).pages <= set(web.log.hits) and web.log.forbidden == []


async def test_a_page_stored_twice_in_one_session_is_overlap(tmp_path: Path) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=1, pages=10)) as web:
        gatherer = make(tmp_path, web)
        await gatherer.startup(list(web.seeds))
        await gatherer._finished
        page = next(record for record in records(tmp_path) if record.is_page)
        gatherer.counters.pages += 1
        gatherer._recorder.apply(page)  # as a fault in the code would
        await gatherer.shutdown()
        assert (gatherer.final_share.counters.pages, gatherer.final_share.unique) == (11, 10)
