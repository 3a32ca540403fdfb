"""The authenticator: who comes in, who does not."""

import pytest

from gcs.core.helpers.access import Role, entry
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Access, Charter, Control, RebalanceCall
from gcs.roles.station.http.auth import HEADERS, host_of_authority, is_loopback
from gcs.roles.station.station import ListenAddress
from tests.roles.station.stage import TOKENS, stage

ORDERS = ["pause", "resume", "stop", "rebalance", "seeds"]
VIEWS = ["me", "status", "history", "tree", "links", "rebalances", "errors", "pages", "events"]
OUTSIDE = ListenAddress("0.0.0.0", 0)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("address", [ListenAddress("127.0.0.1", 0), OUTSIDE], ids=["loopback", "outside"])
async def test_authenticator_refuses_every_order_without_the_control_token(address):
    """No token, a wrong one, half of the right one, the right one in another way, the helper's, the viewer's."""
    right = TOKENS[Role.CONTROL]
    async with stage(address) as at:
        before = await at.space.read(template(Control)), await at.space.read(template(Charter))
        for order in ORDERS:
            for headers, status in [
                ({}, 401),
                (bearer("wrong"), 401),
                (bearer(""), 401),
                (bearer(right[:-1]), 401),
                (bearer(right.upper()), 401),
                ({"Authorization": right}, 401),
                ({"Authorization": f"Basic {right}"}, 401),
                ({"Cookie": f"token={right}"}, 401),
                (bearer(TOKENS[Role.HELPER]), 403),
                (bearer(TOKENS[Role.VIEW]), 403),
            ]:
                body = {"urls": ["http://evil.org/"]}
                answer = await at.call(f"/api/{order}", method="POST", headers=headers, json=body)
                assert answer.status == status, (order, headers)
                if status == 401:
                    assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert before == (await at.space.read(template(Control)), await at.space.read(template(Charter)))
        assert not await at.space.count(template(RebalanceCall), at="leader")


async def test_authenticator_lets_anybody_look_on_loopback_but_not_with_a_token_that_is_no_good():
    async with stage() as at:
        for view in VIEWS[:-1]:
            assert (await at.call(f"/api/{view}")).status == 200
            assert (await at.call(f"/api/{view}", Role.VIEW)).status == 200
            assert (await at.call(f"/api/{view}", Role.HELPER)).status == 403
            assert (await at.call(f"/api/{view}", headers=bearer("wrong"))).status == 401
        assert (await at.get("/api/me"))["roles"] == ["view"]
        assert (await at.get("/api/me", Role.CONTROL)) == {"name": "control", "roles": ["control", "crawl", "view"]}


async def test_authenticator_wants_a_token_even_to_look_on_any_other_address():
    async with stage(OUTSIDE) as at:
        for view in [*VIEWS, "../metrics"]:
            assert (await at.call(f"/api/{view}")).status == 401
            assert (await at.call(f"/api/{view}", Role.HELPER)).status == 403
        assert (await at.call("/metrics", Role.VIEW)).status == 200
        for page in ("/", "/station.js", "/healthz", "/readyz", "/openapi.json"):
            assert (await at.call(page)).status == 200


async def test_authenticator_knows_tokens_of_the_board_as_soon_as_it_looks_and_forgets_revoked_ones():
    kept = entry("gcs_a-token-that-comes-and-goes", Role.CONTROL, label="guest")
    async with stage() as at:
        me = {"headers": bearer("gcs_a-token-that-comes-and-goes")}
        assert (await at.call("/api/me", **me)).status == 401
        await at.space.out(kept)
        await at.poller.poll()
        assert (await (await at.call("/api/me", **me)).json())["name"] == "guest"
        await at.space.remove(template(Access, id=kept.id))
        await at.poller.poll()
        assert (await at.call("/api/me", **me)).status == 401


async def test_authenticator_knows_a_token_that_was_made_just_now():
    async with stage() as at:
        await at.space.out(entry("gcs_a-token-made-a-moment-ago", Role.VIEW, label="guest"))
        assert (await at.call("/api/me", headers=bearer("gcs_a-token-made-a-moment-ago"))).status == 200


async def test_authenticator_looks_rarely_for_tokens_that_are_guessed():
    async with stage() as at:
        looks = []
        at.station._authenticator._posted = lambda: looks.append(1) or at.space.scan(template(Access))
        for guess in range(20):
            assert (await at.call("/api/me", headers=bearer(f"gcs_a-token-that-is-guessed-{guess}"))).status == 401
        assert 1 <= len(looks) < 20


async def test_authenticator_turns_away_rebound_names_on_loopback():
    async with stage(names=["station.example.org"]) as at:
        port = at.station.address.port
        for host in ("evil.org", f"evil.org:{port}", "127.0.0.1.evil.org", "", "localhost.evil.org", "169.254.1.1"):
            answer = await at.call("/api/status", headers={"Host": host})
            assert answer.status == 421, host
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", "LOCALHOST", "[::1]:80", "station.example.org"):
            assert (await at.call("/api/status", headers={"Host": host})).status == 200, host


async def test_authenticator_turns_away_requests_of_other_sites():
    async with stage() as at:
        for headers in (
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Origin": "https://evil.org"},
            {"Origin": "null"},
            {"Origin": f"http://127.0.0.1:{at.station.address.port + 1}"},
        ):
            assert (await at.call("/api/pause", Role.CONTROL, "POST", headers=headers)).status == 403, headers
        own = {"Origin": at.url, "Sec-Fetch-Site": "same-origin"}
        assert (await at.call("/api/pause", Role.CONTROL, "POST", headers=own)).status == 202


async def test_authenticator_answers_no_preflight():
    async with stage() as at:
        headers = {"Origin": "https://evil.org", "Access-Control-Request-Method": "POST"}
        answer = await at.call("/api/pause", method="OPTIONS", headers=headers)
        assert answer.status == 405 and not [name for name in answer.headers if name.startswith("Access-Control")]


async def test_authenticator_sends_security_headers_with_every_answer():
    async with stage() as at:
        for path in ("/", "/api/status", "/nothing", "/metrics", "/station.css"):
            answer = await at.call(path)
            assert HEADERS.items() <= dict(answer.headers).items(), path
            assert answer.headers["Server"] == "gcs"
        assert "unsafe" not in HEADERS["Content-Security-Policy"]
        assert (await at.call("/api/status")).headers["Cache-Control"] == "no-store"


async def test_authenticator_asks_for_control_where_a_handler_says_nothing():
    from aiohttp import web

    from gcs.roles.station.http.app import make_app
    from gcs.roles.station.http.auth import Authenticator

    async def forgotten(_request):
        return web.Response()

    async with stage() as at:
        authenticator = Authenticator("127.0.0.1", keys=[entry(TOKENS[Role.CONTROL], Role.CONTROL)])
        app = make_app(authenticator, at.station.crawls, [web.get("/forgotten", forgotten)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/forgotten"
        async with at.session.get(url) as without, at.session.get(url, headers=bearer(TOKENS[Role.CONTROL])) as right:
            assert (without.status, right.status) == (401, 200)
        await runner.cleanup()


@pytest.mark.parametrize(
    ("authority", "host"),
    [("a.org", "a.org"), ("A.org:80", "a.org"), ("[::1]:80", "::1"), ("[::1]", "::1"), ("127.0.0.1:1", "127.0.0.1")],
)
def test_host_of_an_authority(authority, host):
    assert host_of_authority(authority) == host


def test_loopback_is_what_nobody_else_can_reach():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.9.9.9", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "", "localhost.evil.org")))
