"""`gcs helper --gateway` as somebody with a token runs it; a crawl in a cluster with it runs in tests/k8s."""

import json
import re
import subprocess
from collections.abc import Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from gcs.core.messages.tuples import Means
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.errands.gateway_client import GatewayError, open_gateway

Start = Callable[..., "subprocess.Popen[str]"]


def test_helper_hears_at_the_gateway_that_the_crawl_is_over(start: Start, call: Callable) -> None:
    """Its token is good at once, it helps, and it goes in peace although the station goes with the crawl."""
    quick = ("--scope", "any", "--delay", "0", "--allow-private", "--set", "team.beat_s=0.2", "--connections", "1")
    with FakeWebProcess(FakeWebSpec.plain(hosts=10, pages=100, links=20, latency_s=0.1)) as web:
        crawl = start("crawl", web.seeds[0], "-o", "out", "--json", *quick, "--station", "--listen", "127.0.0.1:0")
        assert crawl.stderr
        said = crawl.stderr.readline()
        address = re.match(r"station: (\S+)#", said)
        assert address, said
        token = call("token", "create", "helper", "-o", "out").out.strip()
        helper = start("helper", "--gateway", address[1], "--token", token, "--allow-private")
        out, err = crawl.communicate(timeout=120)
        _, farewell = helper.communicate(timeout=60)
    assert (crawl.returncode, helper.returncode) == (0, 0), err + farewell
    assert json.loads(out)["helpers"] == 1


def test_helper_says_what_it_needs(call: Callable) -> None:
    nowhere = call("helper")
    assert nowhere.code == 2
    assert "--gateway" in nowhere.err
    nobody = call("helper", "--gateway", "http://127.0.0.1:9")
    assert nobody.code == 2
    assert "--token" in nobody.err
    for url in ("redis://127.0.0.1:9", "http://", "http://127.0.0.1:99999", "http://[::1"):
        odd = call("helper", "--gateway", url, "--token", "x")
        assert odd.code == 2
        assert "station" in odd.err
    torn = call("helper", "--gateway", "http://127.0.0.1:9", "--token", "to\nken")
    assert torn.code == 2
    assert "--token" in torn.err


@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [
        (200, "<html>Welcome to the hotel</html>", "no gateway"),
        (200, '{"helper": "x"}', "no gateway"),
        (200, '{"helper": "", "place": "", "trusted": false, "terms": {"fetch": {"connections": 0}}}', "no gateway"),
        (422, '{"detail": [{"loc": ["body"]}]}', "answered 422"),
        (401, '{"detail": 7}', "token is wrong"),
    ],
)
async def test_helper_at_a_server_that_is_no_station_says_so(status: int, body: str, complaint: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_post("/gateway/hello", answer)
    async with TestServer(app) as server:
        with pytest.raises(GatewayError, match=complaint):
            await open_gateway(str(server.make_url("")), "token", Means.PLAIN)
