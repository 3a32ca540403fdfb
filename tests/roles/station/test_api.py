"""The API: what the board shows, as values; and orders, which end on the board."""

from io import BytesIO
from urllib.parse import quote

import msgspec
import pytest

from gcs.core.access import Role
from gcs.core.template import template
from gcs.core.tuples import Charter, Control, CrawlState, RebalanceCall, Seeds
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
    assert (status["outlook"]["fraction"], status["outlook"]["low"], status["outlook"]["high"]) == (0.5, 0.3, 0.7)
    assert status["now"]["known"] == 170 and status["now"]["queued"] == 60
    assert (status["superpages"], status["hot_pages"], status["committed"]) == (2, 1, True)


async def test_api_status_of_an_empty_board_says_that_it_waits():
    async with stage(empty=True) as at:
        assert (await at.get("/api/status"))["state"] == "waiting"
        for path in ("history", "tree", "links", "rebalances", "errors", "pages"):
            await at.get(f"/api/{path}")
        refused = await at.call("/api/pause", Role.CONTROL, "POST")
        assert refused.status == 503 and "no such crawl" in (await refused.json())["detail"]


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
