"""The gateway: helpers behind HTTP, honest and not. Only what is on a lease leaves a trace on the whiteboard."""

import asyncio
import io
import logging
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import hypothesis
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.helpers.access import Role, entry, helper_name
from gcs.core.helpers.pools import pool
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Access, Charter, Control, CrawlState, CutOff, HelperBeat, Means, SummaryTS, UrlTS
from gcs.core.page.values import PageFacts
from gcs.errors import GcsError, SpaceError
from gcs.ports.errands.gateway_client import GatewayErrands, GatewayError, open_gateway
from gcs.ports.errands.gateway_messages import MACHINE
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.station.gateway import GONE_S, SILENT_S, Gateway
from gcs.roles.station.http.auth import Authenticator
from gcs.roles.station.http.problems import explain
from gcs.roles.station.leases import FEW, MOST
from gcs.settings import Settings, load

ANNA, BERT, OURS, BOSS = (f"a-token-long-enough-{name}" for name in ("anna", "bert", "ours", "boss"))
KEYS = (
    entry(ANNA, Role.HELPER, label="Anna's laptop", place="lab"),
    entry(BERT, Role.HELPER, label="bert", place="lab"),
    entry(OURS, Role.HELPER, label="ours", place="lab", trusted=True),
    entry(BOSS, Role.CONTROL, label="boss"),
)
NAMES = [helper_name(key) for key in KEYS]
VERBS = ["hello", "take", "put", "extend", "return", "beat", "bye"]


class Room:
    """A station with nothing but a gateway, a crawl on its whiteboard, and a clock that stands still."""

    def __init__(self, settings: Settings) -> None:
        self.board = MemoryBoard()
        self.space = MemorySpace(self.board, "user")
        self.now = 0.0
        self.gateway = Gateway(MemorySpace(self.board, "station"), clock=lambda: self.now)
        self.authenticator = Authenticator("127.0.0.1", keys=())
        self.app = web.Application(middlewares=[explain, self.authenticator.guard])
        self.app.add_routes(self.gateway.routes())
        self._settings = settings
        self._numbers = 0

    async def open(self) -> None:
        await self.space.out(Charter(msgspec.json.encode(self._settings), ["http://a.test/"]))
        for key in KEYS:
            await self.space.out(key)
        await self.look()
        self.client: TestClient[Any, Any] = TestClient(TestServer(self.app))
        await self.client.start_server()
        self.url = str(self.client.make_url(""))
        self.now += 1000.0  # it has been open for some time

    async def look(self) -> None:
        """What station and gateway do every second."""
        self.authenticator.update(await self.space.scan(template(Access)))
        await self.gateway.tend()

    async def lend(self, *paths: str, means: Means = Means.PLAIN, payload: bool = False) -> list[UrlTS]:
        errands = []
        for path in paths:
            self._numbers += 1
            url = f"http://a.test{path}"
            errand = UrlTS("g1", "run", self._numbers, url, 15.0, 3, "lab", means, "etag", payload=payload)
            errands.append(errand)
            await self.space.out(errand, to=pool("lab", means), ttl_s=60.0)
        return errands

    async def post(self, verb: str, token: str, message: object, **headers: str) -> tuple[int, Any]:
        body = message if isinstance(message, bytes) else msgspec.json.encode(message)
        answer = await self.client.post(
            f"/gateway/{verb}", data=io.BytesIO(body), headers={"Authorization": f"Bearer {token}", **headers}
        )
        return answer.status, msgspec.json.decode(await answer.read())

    async def take(self, token: str, limit: int = 1) -> list[dict[str, Any]]:
        status, answer = await self.post("take", token, {"limit": limit})
        assert status == 200
        return answer["errands"]

    async def summaries(self) -> list[SummaryTS]:
        return await self.space.scan(template(SummaryTS), at="g1")


@pytest.fixture
async def room() -> AsyncIterator[Room]:
    made = Room(Settings())
    await made.open()
    yield made
    await made.client.close()


async def test_helper_takes_and_puts_and_links_are_made_canonical_here(room: Room) -> None:
    (errand,) = await room.lend("/page")
    status, welcome = await room.post("hello", ANNA, {"agent": "test"})
    assert (status, welcome["helper"], welcome["place"]) == (200, "anna-s-laptop@" + KEYS[0].id, "lab")
    (lent,) = await room.take(ANNA)
    assert lent == {
        "id": errand.id,
        "url": errand.url,
        "lease_s": 15.0,
        "means": "plain",
        "etag": "etag",
        "last_modified": "",
        "once": False,
        "payload": False,
        "rendered": False,
    }
    claim = {
        "id": lent["id"],
        "url": lent["url"],
        "status": 200,
        "title": "A",
        "text": "words and words",
        "headers": [["Content-Type", "text/html"], ["Set-Cookie", "x=1"], ["ETag", "new"]],
        "hrefs": ["b/../c", "HTTP://B.test:80/%7Ex#part", "javascript:alert(1)", "//d.test", "http://[bad"],
        "base": "/folder/",
        "canonical": "/",
        "digest": "sha1:" + "A" * 32,
        "size_bytes": 7,
    }
    assert (await room.post("put", ANNA, claim))[0] == 200
    (summary,) = await room.summaries()
    assert (summary.id, summary.url, summary.helper, summary.trusted) == (errand.id, errand.url, NAMES[0], False)
    assert summary.page.outlinks == ["http://a.test/", "http://a.test/folder/c", "http://b.test/~x", "http://d.test/"]
    assert summary.page.final_url == "http://a.test/"
    assert summary.headers == [("Content-Type", "text/html"), ("ETag", "new")]
    assert summary.page.simhash
    assert not await room.space.count(template(UrlTS), at=pool("lab", Means.PLAIN))


@pytest.mark.parametrize("token", ["", "wrong", BOSS])
async def test_only_a_helpers_token_opens_the_door(room: Room, token: str) -> None:
    await room.lend("/page")
    for verb in VERBS:
        assert (await room.post(verb, token, {}))[0] in (401, 403)
    assert await room.space.count(template(UrlTS), at=pool("lab", Means.PLAIN)) == 1


async def test_revoked_token_opens_nothing(room: Room) -> None:
    """A stolen one, once its owner has noticed: not even what it holds can be put."""
    await room.lend("/page")
    (lent,) = await room.take(ANNA)
    await room.space.remove(template(Access, id=KEYS[0].id))
    await room.look()
    assert (await room.post("put", ANNA, {"id": lent["id"], "url": lent["url"], "status": 200}))[0] == 401
    assert (await room.post("take", ANNA, {}))[0] == 401
    assert not await room.summaries()


HEAD = b64encode(b"GET /page HTTP/1.1\r\nHost: a.test\r\n\r\n").decode()
LIES: dict[str, Any] = {
    "another URL": lambda lent: {"url": "http://evil.test/"},
    "no errand": lambda lent: {"id": "g1/run/999"},
    "another's errand": lambda lent: {"id": lent["other"]},
    "made-up field": lambda lent: {"gatherer": "g2"},
    "wrong type": lambda lent: {"hrefs": "http://evil.test/"},
    "huge title": lambda lent: {"title": "x" * 10_000},
    "huge text": lambda lent: {"text": "x" * (2 << 20)},
    "too many links": lambda lent: {"hrefs": ["/"] * 60_000},
    "huge link": lambda lent: {"hrefs": ["/" + "x" * 20_000]},
    "negative size": lambda lent: {"size_bytes": -1},
    "no digest": lambda lent: {"digest": "sha1:short"},
    "smuggled version": lambda lent: {"http_version": "1.1\r\nX: y"},
    "smuggled header": lambda lent: {"request_head": HEAD, "ip": "10.0.0.1\r\nWARC-Type: x"},
    "request of another page": lambda lent: {"request_head": b64encode(b"GET /evil HTTP/1.1\r\n\r\n").decode()},
    "smuggled page": lambda lent: {"request_head": b64encode(b"GET / HTTP/1.1\r\n\r\n<p>evil").decode()},
    "no request": lambda lent: {"request_head": b64encode(b"<p>evil").decode()},
}


@pytest.mark.parametrize("lie", LIES)
async def test_malformed_claim_leaves_no_trace_and_is_logged(room: Room, lie: str, caplog: Any) -> None:
    await room.lend("/page", "/other", payload=True)
    (lent,) = await room.take(ANNA)
    (other,) = await room.take(BERT)
    claim = {"id": lent["id"], "url": lent["url"], "status": 200} | LIES[lie]({"other": other["id"]})
    with caplog.at_level(logging.WARNING, "gcs.gateway"):
        status, _ = await room.post("put", ANNA, claim)
    assert status in (409, 413, 422)
    assert not await room.summaries()
    (record,) = (record for record in caplog.records if record.message == "gateway.refused")
    assert record.fields["helper"] == NAMES[0]


GARBAGE = [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"id": "\xff"}', b'{"id": "' + b"x" * (31 << 20)]


@pytest.mark.parametrize("body", GARBAGE, ids=lambda body: str(body[:12]))
async def test_garbage_leaves_no_trace(room: Room, body: bytes) -> None:
    assert (await room.post("put", ANNA, body))[0] in (413, 422)
    assert room.gateway._helpers[NAMES[0]].credit.strikes == 1
    assert not await room.summaries()


VALIDATORS = {
    ("ETag", '"a"'): True,
    ("ETag", 'W/"a, b"'): True,
    ("ETag", "bare"): True,
    ("ETag", "*"): False,
    ("etag", '"a", "b"'): False,
    ("ETag", '"a", *'): False,
    ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"): True,
    ("Last-Modified", "Sun, 06 Nov 2994 08:49:37 GMT"): False,
    ("last-modified", "tomorrow"): False,
}


@pytest.mark.parametrize("payload", [True, False])
async def test_validator_that_would_hide_changes_for_ever_is_not_kept(room: Room, payload: bool) -> None:
    await room.lend("/page", payload=payload)
    (lent,) = await room.take(ANNA)
    claim = {"id": lent["id"], "url": lent["url"], "status": 200, "request_head": HEAD, "headers": list(VALIDATORS)}
    assert (await room.post("put", ANNA, claim))[0] == 200
    (summary,) = await room.summaries()
    assert list(map(tuple, summary.headers)) == [field for field, is_kept in VALIDATORS.items() if is_kept]


async def test_claim_counts_once(room: Room) -> None:
    """Replayed by its helper, or by another one: it is refused, and not held against a helper that missed an answer."""
    await room.lend("/page")
    (lent,) = await room.take(ANNA)
    claim = {"id": lent["id"], "url": lent["url"], "status": 200}
    assert [(await room.post("put", token, claim))[0] for token in (ANNA, ANNA, BERT)] == [200, 409, 409]
    assert len(await room.summaries()) == 1
    assert [room.gateway._credits[name].strikes for name in NAMES[:2]] == [0, 1]


@pytest.mark.parametrize("verb", ["out", "ack"])
async def test_whiteboard_that_is_away_is_not_held_against_a_helper(
    room: Room, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It puts again what could not be put, as it is told, and that counts."""
    await room.lend("/page")
    (lent,) = await room.take(ANNA)
    claim = {"id": lent["id"], "url": lent["url"], "status": 200}

    async def away(*_: object, **__: object) -> None:
        raise SpaceError("the whiteboard is away")

    with monkeypatch.context() as patch:
        patch.setattr(room.gateway._space, verb, away)
        assert (await room.post("put", ANNA, claim))[0] == 503
    assert (await room.post("put", ANNA, claim))[0] == 200
    assert {summary.id for summary in await room.summaries()} == {lent["id"]}
    credit = room.gateway._credits[NAMES[0]]
    assert (credit.strikes, credit.used, credit.quota) == (0, 0, FEW + 1)


async def test_helper_that_does_what_no_honest_one_does_is_cut_off(room: Room, caplog: Any) -> None:
    """Its token is revoked, what it holds goes to another, and the board says who and why."""
    await room.lend("/page")
    (lent,) = await room.take(ANNA)
    await room.post("beat", ANNA, {"connections": 2})
    strikes = Settings().trust.strikes
    for _ in range(strikes):
        assert (await room.post("put", ANNA, {"id": "g1/run/999", "url": "http://x.test/"}))[0] == 409
    claim = {"id": lent["id"], "url": lent["url"], "status": 200}
    assert (await room.post("put", ANNA, claim))[0] == 403
    await room.look()
    assert (await room.post("put", ANNA, claim))[0] == 401
    (note,) = await room.space.scan(template(CutOff))
    assert note.helper == NAMES[0] and str(strikes) in note.reason
    assert not await room.space.scan(template(HelperBeat))
    assert not await room.summaries()
    assert [each["url"] for each in await room.take(BERT)] == [lent["url"]]
    assert any(each.message == "gateway.cut-off" and each.fields["helper"] == NAMES[0] for each in caplog.records)


async def test_helper_that_its_gatherer_cut_off_gets_nothing(room: Room) -> None:
    await room.lend("/page")
    await room.take(ANNA)
    await room.space.out(CutOff(NAMES[0], "it lied", "g1"))
    await room.look()
    assert (await room.post("take", ANNA, {}))[0] == 403
    assert len(await room.take(BERT)) == 1


async def test_lease_that_ended_is_late_and_goes_to_another(room: Room) -> None:
    await room.lend("/page")
    (lent,) = await room.take(ANNA)
    room.now += 10.0
    assert (await room.post("extend", ANNA, {"ids": [lent["id"], "g1/run/999"]})) == (200, {"ids": [lent["id"]]})
    room.now += 14.0
    assert not await room.take(BERT)
    room.now += 1.0
    claim = {"id": lent["id"], "url": lent["url"], "status": 200}
    assert (await room.post("put", ANNA, claim))[0] == 409
    await room.look()
    assert (await room.take(BERT))[0]["id"] == lent["id"]
    assert (await room.post("put", ANNA, claim))[0] == 409
    assert not await room.summaries()
    assert room.gateway._credits[NAMES[0]].strikes == 0


async def test_helper_that_brings_nothing_holds_less_and_less(room: Room) -> None:
    """And one that brings something, more."""
    await room.lend(*(f"/{number}" for number in range(40)))
    assert len(await room.take(ANNA, 64)) == FEW
    assert not await room.take(ANNA, 64)
    room.now += 15.0
    await room.look()
    assert len(await room.take(ANNA, 64)) == 1
    for lent in await room.take(BERT, 64):
        await room.post("put", BERT, {"id": lent["id"], "url": lent["url"], "status": 200})
    assert len(await room.take(BERT, 64)) == 2 * FEW
    await room.post("beat", BERT, {"connections": 10_000})
    (beat,) = await room.space.scan(template(HelperBeat))
    assert (beat.helper, beat.place, beat.connections, beat.pages) == (NAMES[1], "lab", 2 * FEW, FEW)


async def test_gateway_tends_on_whatever_it_finds(room: Room, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    """A charter of another version, say: leases end all the same."""
    monkeypatch.setattr("gcs.roles.station.gateway.TEND_S", 0.0)
    await room.space.out(Charter(b'{"crawl": 7}', []))
    tending = asyncio.ensure_future(room.gateway.run())
    for _ in range(1000):
        assert not tending.done()
        await asyncio.sleep(0)
    tending.cancel()
    assert [each.message for each in caplog.records] == ["gateway.charter-refused"]  # once, however often it is read


async def test_machines_that_share_a_token_come_and_go_each_for_itself(room: Room) -> None:
    """As the pods of a Deployment do: the end of one takes nothing from another, and each adds what it can do."""
    await room.lend("/1", "/2", "/3")
    first, second = [await open_gateway(room.url, ANNA, Means.PLAIN, machine) for machine in ("pod-1", "pod-2")]
    assert first.helper != second.helper
    for port in (first, second):
        await port.beat(HelperBeat("whoever", connections=2))
    assert sorted(beat.connections for beat in await room.space.scan(template(HelperBeat))) == [2, 2]
    (kept,), (other,) = await first.take(1, 0.0), await second.take(1, 0.0)
    assert await first.extend([other]) == []
    await second.close()
    assert len(await room.space.scan(template(HelperBeat))) == 1
    assert (await room.post("put", ANNA, {"id": kept.id, "url": kept.url, "status": 200}, **{MACHINE: "pod-1"}))[
        0
    ] == 200
    (summary,) = await room.summaries()
    assert summary.helper == NAMES[0], "who is trusted is the token"
    assert {each.url for each in await first.take(4, 0.0)} == {other.url, "http://a.test/3"}
    assert room.gateway._credits[NAMES[0]].strikes == 0
    await first.close()


async def test_machines_that_share_a_token_share_what_it_may_hold(room: Room) -> None:
    """Whoever makes up machines gains nothing by it: neither errands nor strikes."""
    await room.lend(*(f"/{number}" for number in range(40)))
    for number in range(20):
        await room.post("take", ANNA, {"limit": 64}, **{MACHINE: f"m{number}"})
        await room.post("beat", ANNA, {"connections": 100}, **{MACHINE: f"m{number}"})
    assert sum(len(helper.held) for helper in room.gateway._helpers.values()) == FEW
    for number in range(Settings().trust.strikes):
        await room.post("put", ANNA, {"id": "g1/run/999", "url": "http://x.test/"}, **{MACHINE: f"m{number}"})
    assert (await room.post("take", ANNA, {}, **{MACHINE: "yet-another"}))[0] == 403
    assert len(await room.take(BERT, 64)) == FEW
    assert room.gateway._credits[NAMES[0]].used == 0


async def test_number_of_machines_with_one_token_is_bounded(room: Room) -> None:
    statuses = [(await room.post("beat", ANNA, {}, **{MACHINE: f"m{number}"}))[0] for number in range(MOST + 3)]
    assert statuses == [200] * MOST + [429] * 3
    room.now += GONE_S + 1
    await room.gateway.tend()
    assert (await room.post("beat", ANNA, {}, **{MACHINE: "another"}))[0] == 200


async def test_errands_of_the_station_before_are_late_and_not_held_against_their_helper(room: Room) -> None:
    """A station was started anew, and its helpers come with what they took from the old one."""
    room.gateway._opened_at = room.now
    for number in range(2 * Settings().trust.strikes):
        claim = {"id": f"g1/run/{number}", "url": "http://a.test/", "status": 200}
        assert (await room.post("put", ANNA, claim))[0] == 409
    await room.lend("/page")
    assert len(await room.take(ANNA)) == 1
    assert not await room.summaries()


async def test_what_was_taken_for_a_helper_that_has_gone_meanwhile_goes_to_others(room: Room) -> None:
    taking = asyncio.ensure_future(room.post("take", ANNA, {"limit": 1, "timeout_s": 2}))
    while not room.gateway._credits.get(NAMES[0]) or not room.gateway._credits[NAMES[0]].used:
        await asyncio.sleep(0)
    await room.post("bye", ANNA, {})
    await room.lend("/page")
    assert await taking == (200, {"errands": []})
    assert len(await room.take(BERT)) == 1
    assert room.gateway._credits[NAMES[0]].used == 0


async def test_stranger_may_not_render(room: Room) -> None:
    """What a browser makes of a page cannot be checked by fetching it."""
    await room.lend("/app", means=Means.BROWSER)
    assert (await room.post("hello", ANNA, {"means": "browser"}))[0] == 403
    assert not await room.take(ANNA)
    assert (await room.post("hello", OURS, {"means": "browser"}))[0] == 200
    assert len(await room.take(OURS)) == 1


async def test_terms_for_strangers_hold_no_secrets(room: Room) -> None:
    settings = msgspec.convert(
        {
            "fetch": {
                "headers": ["X-Api-Key: secret"],
                "proxy": "http://u:secret@p.test:1",
                "sources": ["file://localhost/srv/secret/"],
            }
        },
        Settings,
    )
    await room.space.out(Charter(msgspec.json.encode(settings), []))
    for token, shown in ((ANNA, False), (OURS, True)):
        _, welcome = await room.post("hello", token, {})
        assert ("X-Api-Key" in str(welcome)) is shown
        assert "u:secret" not in str(welcome) and "/srv/" not in str(welcome)


async def test_extension_may_knock_in_its_own_name(room: Room) -> None:
    """Its requests carry an origin of another site; with a token that is no harm."""
    origin = {"Origin": "chrome-extension://abc", "Sec-Fetch-Site": "cross-site"}
    assert (await room.post("hello", ANNA, {}, **origin))[0] == 200


# -- the helper's end -----------------------------------------------------------------------------------


@pytest.fixture
async def port(room: Room) -> AsyncIterator[GatewayErrands]:
    made = await open_gateway(room.url, OURS, Means.PLAIN)
    yield made
    await made.close()


async def test_errand_port_says_why_there_is_nothing_to_do(room: Room, port: GatewayErrands) -> None:
    await port.beat(HelperBeat("whoever", connections=3))
    assert port.why_idle == "the crawl has no gatherer at work"
    await room.lend("/1")
    await port.take(1, 0.0)
    await port.beat(HelperBeat("whoever", connections=3))
    assert port.why_idle == ""


async def test_errand_port_takes_puts_extends_and_gives_back(room: Room, port: GatewayErrands) -> None:
    errands = await room.lend("/1", "/2", "/3", payload=True)
    taken = await port.take(2, 0.0)
    assert [(each.id, each.url, each.lease_s, each.place, each.etag, each.payload) for each in taken] == [
        (each.id, each.url, each.lease_s, each.place, each.etag, each.payload) for each in errands[:2]
    ]
    assert await port.extend([*taken, errands[2]]) == taken
    await port.give_back(taken[1:])
    assert await port.beat(HelperBeat("whoever", connections=3))
    (beat,) = await room.space.scan(template(HelperBeat))
    assert (beat.helper, beat.connections) == (port.helper, 3)
    body = b"<p>words"
    summary = SummaryTS(
        *(taken[0].gatherer, taken[0].run, taken[0].number, taken[0].url, port.helper, 200),
        headers=[("Server", "x")],
        page=PageFacts("http://a.test/c", "T" * 9000, text="words", language="en", outlinks=["http://b.test/"]),
        size_bytes=len(body),
        ip="10.1.2.3",
        request_head=b"GET /1 HTTP/1.1\r\n\r\n",
        body=body,
        digest="sha1:" + "B" * 32,
    )
    await port.put(summary)
    await port.put(summary)  # late or double: no error
    (stored,) = await room.summaries()
    assert (stored.body, stored.request_head, stored.ip) == (body, summary.request_head, "10.1.2.3")
    assert stored.headers == [("Server", "x")] and stored.trusted
    assert stored.digest != summary.digest and stored.digest.startswith("sha1:")
    assert stored.page.outlinks == ["http://a.test/c", "http://b.test/"] and len(stored.page.title) == 4096
    assert {each["url"] for each in await room.take(ANNA, 4)} == {errands[1].url, errands[2].url}


async def test_errand_port_says_what_to_do(room: Room) -> None:
    with pytest.raises(GatewayError, match="token is wrong"):
        await open_gateway(room.url, "nonsense", Means.PLAIN)
    with pytest.raises(GatewayError, match="must be a --trusted one"):
        await open_gateway(room.url, ANNA, Means.BROWSER)
    with pytest.raises(GcsError, match="give the address of a station"):
        await open_gateway("redis://x", ANNA, Means.PLAIN)


async def test_errand_port_ends_when_it_is_cut_off(room: Room) -> None:
    port = await open_gateway(room.url, ANNA, Means.PLAIN)
    await room.gateway.cut_off(NAMES[0], "it lied")
    with pytest.raises(GatewayError, match="it lied"):
        await port.take(1, 0.0)
    await port.close()


async def test_gateway_stays_at_the_end_until_its_helpers_have_heard_of_it(room: Room) -> None:
    await room.post("hello", ANNA, {})
    await room.gateway.farewell()  # the crawl goes on: there is nothing to wait for
    await room.space.out(Control(CrawlState.DONE, "crew"))
    staying = asyncio.ensure_future(room.gateway.farewell())
    for _ in range(3):
        status, standing = await room.post("beat", ANNA, {})
        assert (status, standing["is_over"], staying.done()) == (200, True, False)
    await room.post("bye", ANNA, {})
    await staying


async def test_gateway_does_not_wait_for_a_helper_that_is_silent(room: Room) -> None:
    await room.post("hello", ANNA, {})
    await room.space.out(Control(CrawlState.DONE, "crew"))
    room.now += SILENT_S + 1
    await room.gateway.farewell()


#: what a message of any verb might hold
FIELDS = [
    "id",
    "url",
    "ids",
    "limit",
    "timeout_s",
    "connections",
    "status",
    "hrefs",
    "headers",
    "body",
    "title",
    "means",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
MESSAGES = st.dictionaries(st.sampled_from(FIELDS), VALUES).map(msgspec.json.encode) | st.binary(max_size=200)


@given(sent=st.lists(st.tuples(st.sampled_from(VERBS), MESSAGES), min_size=1, max_size=30))
@hypothesis.settings(max_examples=40)
def test_nothing_that_is_sent_breaks_the_gateway(sent: list[tuple[str, bytes]]) -> None:
    """Whatever comes is answered in order or refused, and puts nothing on the whiteboard that was not lent."""

    async def knock() -> None:
        room = Room(load(None, {}, {"trust.strikes": 1_000_000}))
        await room.open()
        await room.lend("/1", "/2")
        try:
            for verb, body in sent:
                status, _ = await room.post(verb, ANNA, body)
                assert status in (200, 403, 409, 413, 422), (verb, body, status)
            assert await room.summaries() == []
        finally:
            await room.client.close()

    asyncio.run(knock())
