"""Profiles as a person meets them: commands, a crawl that pushes, receivers that fail, kills, the station's page."""

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gcs.core.search.matching import matches
from gcs.core.search.query import parse
from gcs.core.watch.signature import make_secret
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.search.find_pages import searchables
from gcs.ports.watch.watch_store import WatchStore
from tests.browsing import browsing, chromium, open_page
from tests.ports.push.receivers import HookServer

from .test_station import STATION, address, wait

Start = Callable[..., "subprocess.Popen[str]"]
SECRET = make_secret(bytes(32))
WEB = FakeWebSpec.plain(hosts=6, pages=120, latency_s=0.02)
FLAGS = ["--scope", "any", "--delay", "0", "--allow-private", "--summary", "fast", "--no-warc", "--json"]
KILLS = 4


@contextmanager
def hooks() -> Iterator[HookServer]:
    """Receivers of webhooks, in a thread of their own."""
    server, begun, ended = HookServer(SECRET), threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with server:
            begun.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert begun.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


def with_secret() -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("GCS_")},
        "GCS_PUSH_SECRET": SECRET,
    }


def matching(directory: Path, query: str) -> set[str]:
    """What a look at all stored pages finds."""
    return {page.url for page in searchables(str(directory)) if matches(parse(query), page)}


def firsts(server: HookServer, receiver: str, profile: str) -> list[str]:
    """The ids that a receiver got for a profile, in order, each as it came first."""
    got = [each["id"] for each in server.taken if (each["receiver"], each["data"]["profile"]) == (receiver, profile)]
    return list(dict.fromkeys(got))


def test_profile_is_added_matched_pushed_listed_and_removed(gcs: Any, tmp_path: Path) -> None:
    with hooks() as server, FakeWebProcess(WEB) as web:
        added = gcs(
            "profile", "add", "c", "voices", "voice -storm", "--push", server.url("secret-path"), env=with_secret()
        )
        assert added.code == 0, added.err
        done = gcs("crawl", web.seeds[0], "-o", "c", *FLAGS)
        assert done.code == 0, done.err
        expected = matching(tmp_path / "c", "voice -storm")
        assert expected and {each["data"]["url"] for each in server.taken} == expected
        assert len(server.taken) == len(expected) and {each["type"] for each in server.taken} == {"page.new"}
        listed = gcs("profile", "list", "c")
        assert "voices" in listed.out and "secret-path" not in listed.out + done.err and SECRET not in listed.out
        assert "0 waiting" in listed.out
        assert len(gcs("profile", "matches", "c", "voices", "--json", "-n", 999).out.splitlines()) == len(expected)
        assert "<feed" in gcs("profile", "matches", "c", "--atom").out
        told = json.loads(gcs("profile", "test", "c", "voices", "--json").out)
        assert told["found"] == len(expected)
        assert gcs("profile", "remove", "c", "voices").code == 0
        assert gcs("profile", "list", "c", "--json").out.strip() == "[]"


def test_push_survives_kills_and_receivers_that_fail(gcs: Any, start: Start, tmp_path: Path) -> None:
    """Each match at least once, told apart by its id, in order for each profile; who is well waits for nobody."""
    chance = random.Random(23)
    profiles = {"voices": "voice", "rivers": "river OR bridge"}
    failing = {"moody": [200, 200, 500, 503, "hang", 404], "well": [200], "dead": [500]}
    with hooks() as server, FakeWebProcess(WEB) as web:
        server.behave = lambda name: chance.choice(failing[name])
        for name, query in profiles.items():
            targets = [word for receiver in failing for word in ("--push", server.url(receiver))]
            assert gcs("profile", "add", "c", name, query, *targets, env=with_secret()).code == 0
        for _ in range(KILLS):
            before = len(server.taken)
            crawl = start("crawl", web.seeds[0], "-o", "c", *FLAGS, "--set", "frontier.checkpoint_s=0.1")
            wait(lambda: len(server.taken) >= before + 5 or crawl.poll() is not None)  # noqa: B023
            for process in (*children(crawl.pid), crawl.pid):  # the watch of the profiles, too
                kill(process)
            crawl.wait()
        done = gcs("crawl", web.seeds[0], "-o", "c", *FLAGS)
        assert done.code == 0, done.err
        failing["moody"] = [200]
        follow = start("watch", "c", "--follow")
        expected = {name: matching(tmp_path / "c", query) for name, query in profiles.items()}
        with WatchStore(tmp_path / "c") as store:
            order = {name: [each.match.id for each in store.matches(name, most=10_000)] for name in profiles}
        for name in profiles:
            assert len(order[name]) == len(expected[name]) > 5
            for receiver in ("well", "moody"):
                wait(lambda: firsts(server, receiver, name) == order[name], 90)  # noqa: B023
            urls = {each["data"]["url"] for each in server.taken if each["data"]["profile"] == name}
            assert urls == expected[name]
        follow.send_signal(signal.SIGINT)
        assert follow.wait(60) == 0
        assert not [each for each in server.taken if each["receiver"] == "dead"]
        ids = Counter((each["receiver"], each["id"]) for each in server.taken)
        assert max(ids.values()) <= 1 + KILLS, "what comes again has the same id"


def children(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:  # it has ended
        return []
    return [int(word) for word in text.split()]


def kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def test_profile_of_the_page_finds_pages_and_they_are_in_the_feed(start: Start, tmp_path: Path) -> None:
    """A person's way: open the station, add a profile, let the crawl go on, see what it found, and take the feed."""
    chromium()
    complaints: list[str] = []
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=2_000, latency_s=0.02)) as web, browsing() as browser:
        crawl = start("crawl", web.seeds[0], "-o", "c", *STATION, *FLAGS, "--index", "--delay", "0.4")
        url = address(crawl)
        page = open_page(browser, url, complaints)
        page.click("#views >> text=Profiles")
        page.fill("input[name=name]", "voices")
        page.fill("input[name=query]", "voice")
        page.click(".profile-form button")
        page.wait_for_selector("#matches .result", timeout=90_000)
        first = page.locator("#matches .result-url").last.inner_text()
        with urllib.request.urlopen(f"{url.partition('#')[0]}api/feed?profile=voices", timeout=20) as answer:
            feed = answer.read().decode()
        assert f'href="{first}"' in feed and "<title>voices</title>" in feed
        page.click("#views >> text=Search")
        page.fill("input[type=search]", "voice")
        page.keyboard.press("Enter")
        for _ in range(60):  # until the index has its first pages
            page.wait_for_selector("#found")
            if page.locator(".result mark").count():
                break
            time.sleep(0.5)
            page.focus("input[type=search]")
            page.keyboard.press("Enter")
        assert page.locator(".result mark").count()
        assert not complaints
        crawl.send_signal(signal.SIGINT)
        crawl.wait(60)
