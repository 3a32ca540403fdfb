"""The API: what the board shows, as values; and orders, which end on the board."""

from io import BytesIO
from urllib.parse import quote

import msgspec
import pytest

from gcs.core.helpers.access import Role
from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    Account,
    Bulletin,
    Charter,
    Control,
    CrawlState,
    Member,
    MemberState,
    RebalanceCall,
    Seeds,
)
from gcs.core.report.counters import Counters
from gcs.core.report.report import Share
from tests.roles.station.stage import EVIL, stage


async def test_api_status_tells_how_the_crawl_stands():
    async with stage() as at:
        status = await at.get("/api/status")
    assert (status["crawl"], status["state"], status["leader"], status["epoch"]) == ("test", "running", "g1", 2)
    assert [(row["gatherer"], row["pages"], row["leads"]) for row in status["team"]] == [
        ("g0", 60, False),
        ("g1", 40, True),
    ]
    assert status["report"]["pages"] == 100 and status["report"]["exchanged_urls"] == 14
    assert status["report"]["failures"] == {"http-404": 4, "timeout": 6}
    assert status["helpers"][0]["helper"] == "lab@1" and status["report"]["helpers"] == 1
    assert (status["outlook"]["fraction"], status["outlook"]["low"], status["outlook"]["high"]) == (0.5, 0.3, 0.6471)
    assert status["now"]["known"] == 170 and status["now"]["queued"] == 60
    assert (status["superpages"], status["hot_pages"], status["committed"]) == (2, 1, True)


async def test_api_status_of_an_empty_board_says_that_it_waits():
    async with stage(empty=True) as at:
        assert (await at.get("/api/status"))["state"] == "waiting"
        for path in ("history", "tree", "links", "rebalances", "errors", "pages"):
            await at.get(f"/api/{path}")
        refused = await at.call("/api/pause", Role.CONTROL, "POST")
        assert refused.status == 503 and "no such crawl" in (await refused.json())["detail"]


async def test_api_counts_what_those_did_who_have_left():
    """By their account; or, of one that was killed, by what it showed last, without what the others take over."""
    async with stage() as at:
        share = Share("g0", Counters(pages=61, size_bytes=61_000), 0, 0, 61, 1.0, epoch=2)
        await at.space.take(template(Member, gatherer="g0"))
        await at.poller.poll()
        killed = await at.get("/api/status")
        assert (killed["report"]["pages"], killed["now"]["pages"], killed["now"]["known"]) == (100, 100, 75)
        await at.space.out(Account("g0", msgspec.msgpack.encode(share)))
        await at.space.out(Member("g0", "run", state=MemberState.GONE))
        await at.space.remove(template(Bulletin, gatherer="g0"))
        await at.poller.poll()
        status = await at.get("/api/status")
        assert [(row["gatherer"], row["state"], row["pages"]) for row in status["team"]] == [
            ("g1", "running", 40),
            ("g0", "gone", 61),
        ]
        assert (status["report"]["pages"], status["now"]["pages"]) == (101, 101)
        assert (await at.get("/api/errors"))["hosts"][0]["failed"] == 100
        assert (await at.get("/api/tree"))["owners"] == {"g1": 75}  # it is the others' now


async def test_api_shows_how_it_ended_after_the_end():
    """Nobody is there any more, and what hung on the board has gone; as Kubernetes' station goes on."""
    async with stage() as at:
        for name in ("g0", "g1"):
            pages = 100 if name == "g0" else 70
            share = Share(name, Counters(pages=pages, size_bytes=1), pages, 0, pages, 1.0, epoch=2)
            await at.space.out(Account(name, msgspec.msgpack.encode(share)))
            await at.space.take(template(Member, gatherer=name))
            await at.space.remove(template(Bulletin, gatherer=name))
        await at.space.out(Control(CrawlState.DONE, "g1"))
        await at.poller.poll()
        points = len((await at.get("/api/history"))["points"])
        await at.poller.poll()
        status = await at.get("/api/status")
        assert (status["state"], status["outlook"]["fraction"], status["outlook"]["eta_s"]) == ("done", 1.0, 0.0)
        assert (status["report"]["pages"], status["now"]["pages"], status["now"]["queued"]) == (170, 170, 0)
        assert (await at.get("/api/tree"))["urls"] == 170
        assert len((await at.get("/api/pages"))["pages"]) == 2
        assert len((await at.get("/api/history"))["points"]) == points
        await at.space.out(Control(CrawlState.RUNNING, "crew"))
        await at.poller.poll()
        assert (await at.get("/api/tree"))["urls"] == 0, "another crawl begins"


async def test_api_weighs_what_is_explored_after_a_stop_as_before():
    """By what each gatherer knew: one that knew little says little of the whole."""
    async with stage() as at:
        for name, known, explored in (("g0", 900, 0.9), ("g1", 100, 0.1)):
            share = msgspec.msgpack.encode(Share(name, Counters(pages=50), known, 30, 50, explored, epoch=2))
            await at.space.out(Member(name, "run", figures={"known": known, "queued": 30, "explored": explored}))
            await at.space.out(Bulletin(name, 2, share, (explored, 0.0, 1.0)))
        await at.poller.poll()
        assert (await at.get("/api/status"))["outlook"]["fraction"] == 0.82
        await at.space.out(Control(CrawlState.STOPPING, "you", "stopped"))
        for name in ("g0", "g1"):
            await at.space.out(Member(name, "run", state=MemberState.GONE))
        await at.poller.poll()
        status = await at.get("/api/status")
        assert (status["state"], status["outlook"]["fraction"]) == ("stopped", 0.82)
        assert status["report"]["explored_fraction"] == 0.82


async def test_api_of_a_station_that_came_after_the_end_has_the_figures():
    async with stage(empty=True) as at:
        share = Share("g0", Counters(pages=9, size_bytes=1), 9, 0, 9, 1.0)
        await at.space.out(Account("g0", msgspec.msgpack.encode(share)))
        await at.space.out(Control(CrawlState.DONE, "g0"))
        await at.poller.poll()
        status = await at.get("/api/status")
        assert (status["now"]["pages"], status["outlook"]["fraction"], status["report"]["pages"]) == (9, 1.0, 9)


async def test_api_shows_tree_links_rebalances_errors_and_pages():
    async with stage() as at:
        tree = await at.get("/api/tree")
        assert tree["urls"] == 170 and tree["owners"] == {"g0": 95, "g1": 75}
        assert [child["name"] for child in tree["children"]] == ["a.org/x", "b.org/y"]
        path = quote(tree["children"][0]["path"], safe="")
        below = await at.get(f"/api/tree?path={path}&levels=1")
        assert sum(child["urls"] for child in below["children"]) == 95
        assert await at.get("/api/links") == {"gatherers": ["g0", "g1"], "sent": [[0, 5], [2, 0]]}
        newest, first = (await at.get("/api/rebalances"))["rebalances"]
        assert (newest["epoch"], newest["reason"], newest["moved"], first["epoch"]) == (2, "idle: g1", 0.4, 1)
        assert newest["transfers"] == [{"loser": "g0", "winner": "g1", "ranges": 1, "places": ["b.org"]}]
        errors = await at.get("/api/errors")
        assert errors["kinds"] == {"timeout": 6, "http-404": 4}
        assert errors["hosts"][0]["host"] == "c.org" and errors["hosts"][0]["failed"] == 100
        pages = (await at.get("/api/pages"))["pages"]
        assert [page["gatherer"] for page in pages] == ["g1", "g0"] and pages[0]["title"] == EVIL
        assert len((await at.get("/api/history"))["points"]) == 1


@pytest.mark.parametrize(("order", "state"), [("pause", "paused"), ("resume", "running"), ("stop", "stopping")])
async def test_api_orders_are_put_on_the_board(order, state):
    async with stage() as at:
        answer = await at.call(f"/api/{order}", Role.CONTROL, "POST")
        assert answer.status == 202 and await answer.json() == {"order": state}
        control = await at.space.read(template(Control))
        assert control.state == state and (state == "running" or control.by == "control (station)")


async def test_api_rebalance_calls_the_leader():
    async with stage() as at:
        assert (await at.call("/api/rebalance", Role.CONTROL, "POST")).status == 202
        assert (await at.space.read(template(RebalanceCall), at="leader")).by == "control (station)"


async def test_api_seeds_widen_the_charter_and_go_to_the_team():
    async with stage() as at:
        answer = await at.call(
            "/api/seeds", Role.CONTROL, "POST", json={"urls": ["b.org/x", "http://127.0.0.1/", "b.org/x"]}
        )
        assert await answer.json() == {"seeds": ["https://b.org/x", "http://127.0.0.1/"]}
        charter = await at.space.read(template(Charter))
        assert charter.seeds == ["http://a.org/", "https://b.org/x", "http://127.0.0.1/"]
        assert (await at.space.read(template(Seeds), at="seeds")).urls == ["https://b.org/x", "http://127.0.0.1/"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"json": {"urls": ["ftp://a.org/"]}}, 400),
        ({"json": {"urls": []}}, 400),
        ({"json": {"urls": "http://a.org/"}}, 400),
        ({"json": {"urls": ["http://a.org/"], "more": 1}}, 400),
        ({"data": b'{"urls": [', "headers": {"Content-Type": "application/json"}}, 400),
        ({"data": b"\xff\xfe", "headers": {"Content-Type": "application/json"}}, 400),
        ({"data": b'{"urls": ["http://a.org/"]}'}, 415),
        ({"json": {"urls": ["http://a.org/" + "x" * 4000]}}, 400),
        ({"data": BytesIO(b" " * 9_000_000), "headers": {"Content-Type": "application/json"}}, 413),
    ],
)
async def test_api_seeds_refuses_what_is_no_seed(body, status):
    async with stage() as at:
        answer = await at.call("/api/seeds", Role.CONTROL, "POST", **body)
        problem = await answer.json()
        assert answer.status == status == problem["status"] and problem["detail"]
        assert answer.content_type == "application/problem+json"
        assert await at.space.count(template(Seeds), at="seeds") == 0


@pytest.mark.parametrize("path", ["?levels=9", "?most=x", "?nonsense=1", "?levels=1&levels=2", "?path=" + "a" * 5000])
async def test_api_refuses_bad_parameters(path):
    async with stage() as at:
        assert (await at.call(f"/api/tree{path}")).status == 400


@pytest.mark.parametrize("order", ["pause", "resume", "stop", "rebalance", "seeds"])
async def test_api_takes_no_orders_when_the_crawl_is_over(order):
    async with stage() as at:
        await at.space.out(Control(CrawlState.DONE, "g1"))
        body = {"json": {"urls": ["http://a.org/"]}} if order == "seeds" else {}
        answer = await at.call(f"/api/{order}", Role.CONTROL, "POST", **body)
        assert answer.status == 409 and "done" in (await answer.json())["detail"]
        assert (await at.space.read(template(Control))).state is CrawlState.DONE


async def test_api_says_no_such_page_and_no_such_method_as_problems():
    async with stage() as at:
        missing, wrong = await at.call("/api/nothing"), await at.call("/api/pause", Role.CONTROL)
        assert (missing.status, wrong.status, wrong.headers["Allow"]) == (404, 405, "POST")
        assert msgspec.json.decode(await wrong.read())["title"] == "Method Not Allowed"
