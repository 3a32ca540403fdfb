"""`gcs helper --gateway` as somebody with a token runs it; a crawl in a cluster with it runs in tests/k8s."""

import json
import re
import subprocess
from collections.abc import Callable

from gcs.core.fakeweb import FakeWebSpec
from gcs.ports.fetch.fakeweb import FakeWebProcess

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
    odd = call("helper", "--gateway", "redis://127.0.0.1:9", "--token", "x")
    assert odd.code == 2
    assert "station" in odd.err
