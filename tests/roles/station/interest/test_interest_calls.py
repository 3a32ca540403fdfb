"""Search, profiles and matches at the station: what is told, who may ask, and where matches may go."""

import asyncio
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from aiohttp import encode_basic_auth

from gcs.core.helpers.access import Role
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Librarian
from gcs.core.watch.profile import Match, Profile
from gcs.core.watch.push_target import PushTarget
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store
from gcs.ports.search.index_follower import IndexFollower
from gcs.ports.search.index_place import make_index
from gcs.ports.space.memory_space import MemorySpace
from gcs.ports.system.tasks import end
from gcs.ports.watch.watch_store import WatchStore
from gcs.roles.librarian.librarian import KeptIndex
from gcs.roles.station.station import ListenAddress
from tests.ports.records.pages import record
from tests.roles.station.stage import EVIL, TOKENS, stage

NEWS = {"name": "news", "query": "red"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A crawl of three pages, two of them red, with an index."""
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        for number, text in enumerate(("red one", f"red two {EVIL}", "blue")):
            store.add_page(
                record(
                    f"http://a.example/{number}",
                    title=f"Page {number}",
                    text=text,
                    language="en",
                    simhash=7 << 9 * number,
                )
            )
        store.flush()
    follower = IndexFollower([tmp_path], tmp_path, make_index(tmp_path / "index", "sqlite"))
    while follower.step(hurry=True):
        pass
    follower.close()
    return tmp_path


def found(number: int, **given: Any) -> Match:
    made = Match(f"id{number}", "news", "new", f"http://a.example/{number}", f"Page {number}", EVIL, "en", 1, 5.0)
    return msgspec.structs.replace(made, **given)


def matched(place: Path, *numbers: int) -> None:
    with WatchStore(place) as store:
        store.commit([found(number) for number in numbers], [], {}, 10.0)


async def test_search_finds_pages_with_excerpts_and_facets(place: Path) -> None:
    async with stage(place=place) as at:
        told = await at.get("/api/search?q=red&most=1")
        assert told["found"] == 2 and len(told["pages"]) == 1
        page = told["pages"][0]
        (begin, end), *_ = page["marks"]
        assert page["excerpt"][begin:end] == "red" and told["facets"]["lang"] == [{"value": "en", "pages": 2}]
        more = await at.get("/api/crawls/test/search?q=red&most=1&skip=1")
        assert more["pages"][0]["url"] != page["url"]


@pytest.mark.parametrize("query", ["q=", "q=red&most=51", f"q={'x' * 2001}", ""])
async def test_search_refuses_what_is_no_query(place: Path, query: str) -> None:
    async with stage(place=place) as at:
        assert (await at.call(f"/api/search?{query}")).status == 400


@pytest.mark.parametrize("query", ["%22", "-red", "%C2%A6"])
async def test_query_that_says_nothing_finds_nothing_and_is_told_why(place: Path, query: str) -> None:
    async with stage(place=place) as at:
        answer = await at.call(f"/api/search?q={query}")
        assert answer.status == 404 and "no page can match" in (await answer.json())["detail"]


async def test_search_asks_the_gatherers_where_the_pages_are_elsewhere(place: Path) -> None:
    async with stage() as at:
        assert (await at.call("/api/search?q=red")).status == 404
        librarian = asyncio.create_task(KeptIndex(MemorySpace(at.space._board, "g0"), place).run())
        while not await at.space.count(template(Librarian)):
            await asyncio.sleep(0)
        told = await at.get("/api/search?q=red&most=1")
        assert told["found"] == 2 and len(told["pages"]) == 1 and told["missing"] == []
        assert (await at.call("/api/search?q=red&most=50&skip=60")).status == 400
        await end([librarian])


async def test_search_says_what_to_do_where_there_is_no_index(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    async with stage(place=tmp_path) as at:
        answer = await at.call("/api/search?q=red")
        assert answer.status == 400 and "gcs index" in (await answer.json())["detail"]
    async with stage() as at:
        assert (await at.call("/api/search?q=red")).status == 404


async def test_profile_is_added_changed_and_removed(place: Path) -> None:
    asked: list[Path] = []
    async with stage(place=place, watch=asked.append) as at:
        assert (await at.get("/api/profiles"))["profiles"] == []
        answer = await at.call("/api/profiles", Role.CONTROL, "POST", json=NEWS)
        assert answer.status == 202 and asked == [place]
        body = NEWS | {"query": "blue", "on": ["gone"], "least_words": 3, "with_diff": True}
        await at.call("/api/profiles", Role.CONTROL, "POST", json=body)
        (row,) = (await at.get("/api/profiles"))["profiles"]
        assert row == body | {"receivers": []}
        await at.call("/api/profiles/remove", Role.CONTROL, "POST", json={"name": "news"})
        assert (await at.get("/api/profiles"))["profiles"] == []


@pytest.mark.parametrize(
    "change",
    [
        {"name": "No Name"}, {"query": '"'}, {"on": ["never"]}, {"webhooks": ["smtp://127.0.0.1/?to=a@b.example"]},
        {"webhooks": ["redis://127.0.0.1/0"]}, {"webhooks": ["https://user:pass@a.example/"]}, {"webhooks": ["file:///x"]},
    ],
)  # fmt: skip
async def test_profile_that_cannot_be_is_refused(place: Path, change: dict[str, object]) -> None:
    async with stage(place=place) as at:
        assert (await at.call("/api/profiles", Role.CONTROL, "POST", json=NEWS | change)).status == 400


async def test_receivers_of_the_owner_stay_and_nobody_sees_a_secret(place: Path) -> None:
    with WatchStore(place) as store:
        hidden = PushTarget.parse("https://hooks.example/t0ken")
        store.add(Profile("news", "red"), [(hidden, "whsec_s3cret")])
    async with stage(place=place) as at:
        body = NEWS | {"webhooks": ["https://other.example/p4th"]}
        answer = await at.call("/api/profiles", Role.CONTROL, "POST", json=body)
        assert (await answer.json())["secret"].startswith("whsec_")
        shown = await (await at.call("/api/profiles", Role.CONTROL)).text()
        assert "hooks.example" in shown and "other.example" in shown
        assert not [secret for secret in ("t0ken", "s3cret", "p4th", "whsec") if secret in shown]
        await at.call("/api/profiles", Role.CONTROL, "POST", json=NEWS)
    with WatchStore(place) as store:
        assert [each.target for each in store.targets()] == [hidden], "those of the page are named anew each time"


@pytest.mark.parametrize("role", [None, Role.VIEW, Role.HELPER])
async def test_only_control_adds_and_removes(place: Path, role: Role | None) -> None:
    async with stage(place=place) as at:
        for path, body in (("profiles", NEWS), ("profiles/remove", {"name": "news"})):
            assert (await at.call(f"/api/{path}", role, "POST", json=body)).status in (401, 403)


async def test_feed_is_atom_and_comes_once(place: Path) -> None:
    with WatchStore(place) as store:
        store.add(Profile("news", "red"))
    matched(place, 1, 2)
    async with stage(place=place) as at:
        answer = await at.call("/api/crawls/test/feed?profile=news")
        assert answer.content_type == "application/atom+xml"
        feed = ElementTree.fromstring(await answer.text())
        names = {"a": "http://www.w3.org/2005/Atom"}
        assert [each.text for each in feed.iterfind("a:entry/a:id", names)] == [
            "urn:gcs:match:id2",
            "urn:gcs:match:id1",
        ]
        again = await at.call("/api/feed?profile=news", headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status == 304
        assert (await at.call("/api/feed?profile=other")).status == 400
        assert (await at.call("/api/feed?profile=../x")).status == 400


async def test_feed_reader_shows_its_token_by_basic_and_can_only_look(place: Path) -> None:
    with WatchStore(place) as store:
        store.add(Profile("news", "red"))
    async with stage(ListenAddress("127.0.0.2", 0), place=place) as at:
        at.station._authenticator.on_loopback = False  # as on any other address
        assert (await at.call("/api/feed")).status == 401
        for token, status in ((TOKENS[Role.VIEW], 200), ("wrong", 401)):
            basic = encode_basic_auth("me", token)
            assert (await at.call("/api/feed", headers={"Authorization": basic})).status == status
        control = {"Authorization": encode_basic_auth("me", TOKENS[Role.CONTROL])}
        assert (await at.call("/api/profiles", method="POST", json=NEWS, headers=control)).status == 401


async def test_events_come_live_and_go_on_where_a_reader_was(place: Path) -> None:
    with WatchStore(place) as store:
        store.add(Profile("news", "red"))
    matched(place, 1)
    async with stage(place=place) as at:
        live = await at.call("/api/matches/events")
        await asyncio.to_thread(matched, place, 2, 3)
        assert await numbers(live, 2) == ["2", "3"]
        later = await at.call("/api/crawls/test/matches/events?profile=news", headers={"Last-Event-ID": "1"})
        assert await numbers(later, 2) == ["2", "3"]
        everything = await at.call("/api/matches/events?after=0")
        assert await numbers(everything, 3) == ["1", "2", "3"]
        assert (await at.call("/api/matches/events?after=x")).status == 400


async def numbers(answer: Any, count: int) -> list[str]:
    """The ids of the next events."""
    ids: list[str] = []
    async with asyncio.timeout(20):
        while len(ids) < count:
            line = (await answer.content.readline()).decode()
            if line.startswith("id: "):
                ids.append(line[4:].strip())
    return ids


async def test_crawl_without_a_directory_here_says_so() -> None:
    async with stage() as at:
        for path in ("profiles", "matches", "feed", "matches/events"):
            assert (await at.call(f"/api/{path}")).status == 404
