"""`gcs crawl --station`, `gcs station` and `gcs token` as a user meets them; the page in a real browser."""

import json
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from tests.browsing import WIDTHS, browsing, chromium, judge, open_page

Start = Callable[..., "subprocess.Popen[str]"]
FLAGS = ["--allow-private", "--delay", "0.15", "--summary", "fast", "--no-warc", "--json"]
STATION = ["--station", "--listen", "127.0.0.1:0"]
#: hosts that the crawl begins with; the next one is added later
SEEDS = 12


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    spec = FakeWebSpec.demo(hosts=30, pages=6000, host_sizes="zipf", giant_share=0.3, delay_s=0.0, links=20)
    with FakeWebProcess(spec) as server:
        yield server


def address(process: "subprocess.Popen[str]") -> str:
    """Where the station says that it is."""
    assert process.stderr
    for line in process.stderr:
        if found := re.match(r"station: (http://\S+)", line):
            return found[1]
    raise AssertionError("the station has not said where it is")


def whole(text: str) -> int:
    return int(text.replace(",", "") or 0)


def pages(page: Any) -> int:
    return whole(page.inner_text("#figures > div:first-child .value"))


def known(page: Any) -> int:
    return whole(page.inner_text("#dealt").split(" of ")[1].split()[0])


def wait(condition: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("it never came true")


def test_station_runs_a_crawl_from_the_page(start: Start, web: FakeWebProcess, tmp_path):
    """Start, watch, go down the tree, pause, resume, rebalance, add a seed, look from a phone, stop."""
    chromium()
    hosts = [f"{site.origin}/" for site in web.web.sites]
    crawl = start("crawl", *hosts[:SEEDS], "-o", "c", "-n", 2, *STATION, *FLAGS)
    url, complaints = address(crawl), list[str]()
    with browsing() as browser:
        page = open_page(browser, url, complaints, viewport={"width": 1400, "height": 900})
        page.wait_for_selector("#state[data-state=running]")
        first = wait(lambda: pages(page))
        wait(lambda: pages(page) > first + 20)  # the figures move
        assert page.locator("#team tbody tr").count() == 2
        wait(lambda: page.locator("#rate-chart polyline").get_attribute("points").count(",") > 3)

        wait(lambda: page.locator("#treemap button").count() > 3)
        name = page.locator("#treemap button").first.get_attribute("data-name")
        page.locator("#treemap button").first.click(position={"x": 3, "y": 3})
        page.wait_for_selector(f"#crumbs [aria-current]:has-text('{name}')")
        page.click("#crumbs button:has-text('the web')")

        page.click("#pause")
        page.wait_for_selector("#state[data-state=paused]")
        wait(lambda: all(whole(cell.inner_text()) == 0 for cell in page.locator("#team td:nth-child(7)").all()))
        page.wait_for_timeout(1100)  # until the next look of the station
        held = pages(page)
        page.wait_for_timeout(1500)
        assert pages(page) == held
        page.click("#pause")
        page.wait_for_selector("#state[data-state=running]")
        wait(lambda: pages(page) > held + 20)

        page.click("#rebalance")
        page.wait_for_selector("#rebalances li:has-text('asked: operator (station)')")

        before = known(page)
        page.click("#add-seeds")
        page.fill("#seeds-text", hosts[SEEDS])
        page.click("#seeds-send")
        page.wait_for_selector(f".toast:has-text('{hosts[SEEDS]}')")
        wait(lambda: known(page) > before)

        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.screenshot(path=tmp_path / f"live-{width}.png", full_page=True)
            assert judge(page) == []
        assert not complaints

        page.click("#stop")
        page.click("#stop-send")
        page.wait_for_selector("#banner:has-text('The crawl was stopped')")
    assert crawl.wait(60) == 3


def ask(url: str, token: str = "", method: str = "GET") -> tuple[int, Any]:
    request = urllib.request.Request(url, method=method, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_station_beside_a_crawl_takes_tokens_as_they_come_and_go(start: Start, gcs: Any, web: FakeWebProcess):
    crawl = start("crawl", *web.seeds, "-o", "c", "-n", 1, *STATION, *FLAGS)  # a station needs a whiteboard
    within = address(crawl).partition("#")[0]
    station = start("station", "-o", "c", "--listen", "127.0.0.1:0")
    url, _, operators = address(station).partition("#token=")
    assert ask(f"{within}api/status")[1]["crawl"] == ask(f"{url}api/status")[1]["crawl"] == "c"
    assert ask(f"{url}api/me", operators)[1]["roles"] == ["control", "crawl", "view"]
    assert ask(f"{within}api/me", operators)[0] == 401  # it is known to its own station only

    made = gcs("token", "create", "control", "--label", "ann", "-o", "c").out.strip()
    wait(lambda: ask(f"{url}api/me", made)[0] == 200)
    assert ask(f"{url}api/pause", made, "POST")[0] == 202
    assert "ann" in gcs("token", "list", "-o", "c").out and made not in gcs("token", "list", "-o", "c", "--json").out
    [kept] = json.loads(gcs("token", "list", "-o", "c", "--json").out)
    assert gcs("token", "revoke", kept["id"], "-o", "c").code == 0
    wait(lambda: ask(f"{url}api/me", made)[0] == 401)
    assert gcs("token", "revoke", kept["id"], "-o", "c").code == 2

    assert gcs("stop", "-o", "c").code == 0
    assert crawl.wait(60) == 3
    station.terminate()
    assert station.wait(20) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["station", "nowhere"], "there is no such folder"),
        (["station", "--space", "redis://127.0.0.1:1", "--crawl", "c", "--listen", "nonsense"], "write HOST:PORT"),
        (["token", "create", "king", "-o", "nowhere"], "not one of"),
    ],
)
def test_station_says_what_is_wrong(call: Any, arguments: list[str], says: str):
    done = call(*arguments)
    assert done.code == 2 and says in done.err and len(done.err.splitlines()) == 1


def test_station_outside_loopback_says_how_to_get_in(start: Start, web: FakeWebProcess):
    crawl = start("crawl", *web.seeds, "-o", "c", "-n", 1, "--station", "--listen", "0.0.0.0:0", *FLAGS)
    assert "token" not in address(crawl)
    assert crawl.stderr and "gcs token create view" in crawl.stderr.readline()
    crawl.terminate()
    crawl.wait(60)


def test_station_refuses_a_token_of_the_environment_that_can_be_guessed(call: Any):
    done = call("station", "--space", "redis://127.0.0.1:1", "--crawl", "c", GCS_STATION_CONTROL_TOKEN="secret")
    assert done.code == 2 and "GCS_STATION_CONTROL_TOKEN" in done.err


@pytest.mark.parametrize("days", ["nan", "inf", "1e300", "0"])
def test_token_is_good_for_a_number_of_days(call: Callable[..., Any], days: str) -> None:
    done = call("token", "create", "view", "--days", days)
    assert done.code == 2 and "--days" in done.err
