"""Gatherers that crawl the fake web in each order: the best first, everything in the end, and no cash lost."""

import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gcs.app import assembly
from gcs.app.assembly import load_order
from gcs.core.ordering import Found, Ordering
from gcs.core.page.values import PageRecord
from gcs.errors import OrderError, SettingsError
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWeb, FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.roles.gatherer import Gatherer, GathererState
from gcs.settings import load

QUICK = {
    "crawl.scope": "any",
    "fetch.allow_private": True,
    "politeness.delay_s": 0.0,
    "summary.depth": "links",
    "frontier.fsync": False,
    "frontier.checkpoint_s": 0.1,
    "store.warc": False,
}
#: one at a time, so that the order of the records is the order of the frontier
ONE = {"fetch.connections": 1}
PLUGIN = f"{Path(__file__).parent.name}_score:last_letters_first"


def last_letters_first(found: Found) -> float:
    """A user's score: pages whose names end in a high number come first, and of these the ones with more links."""
    return float(sum(map(ord, found.url[-3:]))) + found.backlinks / 1000


def make(directory: Path, web: FakeWeb, order: str, **changes: Any) -> Gatherer:
    settings = {key.replace("__", "."): value for key, value in changes.items()}
    return assembly.gatherer(
        directory, "g0", load(None, {}, QUICK | {"crawl.order": order} | settings), list(web.seeds)
    )


def pages(directory: Path) -> list[PageRecord]:
    return [record for record in read_records(directory) if record.is_page]


def check_order(records: list[PageRecord], order: Ordering, seeds: list[str]) -> None:
    """Each page that was fetched was the best of all that were known by then."""
    worth = dict.fromkeys(seeds, order.seed)
    found = {url: Found(url) for url in seeds}
    waiting = set(seeds)
    for record in records:
        ranks = {url: order.rank(found[url], worth[url]) for url in waiting}
        assert ranks[record.url] == min(ranks.values())
        waiting.remove(record.url)
        gift = order.gift(worth[record.url], len(record.outlinks)) if record.outlinks else 0.0
        for url in record.outlinks:
            if url not in worth:
                waiting.add(url)
                found[url] = Found(url, record.url, record.depth + 1)
            worth[url] = worth.get(url, 0.0) + gift


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(sys.modules, PLUGIN.partition(":")[0], sys.modules[__name__])
    return PLUGIN


@pytest.mark.parametrize("queue", ["quickheap", "tournament", "heap"])
@pytest.mark.parametrize("name", ["bfs", "backlink", "opic", PLUGIN])
async def test_gatherer_fetches_the_best_first(tmp_path: Path, plugin: str, name: str, queue: str) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=5, pages=90)) as web:
        gatherer = make(tmp_path, web, name, frontier__queue=queue, **ONE)
        assert await gatherer.run(list(web.seeds)) is GathererState.DONE
        records = pages(tmp_path)
        assert sorted(record.url for record in records) == sorted(survey(web.web).pages)
        check_order(records, load_order(name), list(web.seeds))


@pytest.mark.parametrize("name", ["backlink", "opic", PLUGIN])
async def test_gatherer_fetches_the_best_of_each_host_first(tmp_path: Path, plugin: str, name: str) -> None:
    """Host by host, one host has the whole order."""
    async with FakeWeb(FakeWebSpec.plain(hosts=1, pages=90)) as web:
        gatherer = make(tmp_path, web, name, frontier__host_window_urls=1, **ONE)
        assert await gatherer.run(list(web.seeds)) is GathererState.DONE
        records = pages(tmp_path)
        assert sorted(record.url for record in records) == sorted(survey(web.web).pages)
        check_order(records, load_order(name), list(web.seeds))


@pytest.mark.parametrize("queue", ["hosts", "quickheap"])
async def test_gatherer_keeps_account_of_all_cash(tmp_path: Path, queue: str) -> None:
    """With everything that a web can do to a crawler: redirects, failures, retries, robots.txt, sitemaps, traps."""
    spec = FakeWebSpec(pages=120, hosts=9, exhibits_every=4, slow_s=0.05, retry_after_s=0)
    quick = {"politeness.retry_s": 0.05, "politeness.overload_s": 0.05, "traps.max_depth": 20}
    async with FakeWeb(spec) as web:
        gatherer = make(tmp_path, web, "opic", frontier__queue=queue, crawl__max_pages=80, **quick)
        assert await gatherer.run(list(web.seeds)) is GathererState.LIMIT
        assert_balanced(tmp_path, queue, len(web.seeds))
        again = make(tmp_path, web, "opic", frontier__queue=queue, **quick)
        assert await again.run(list(web.seeds)) is GathererState.DONE
        assert_balanced(tmp_path, queue, len(web.seeds))
        stored = [record.url for record in pages(tmp_path) if not web.web.plan(record.url).is_trap]
        truth = survey(web.web)
        assert sorted(stored) == sorted(truth.pages | truth.cut_short().keys())
        assert web.log.forbidden == []


def assert_balanced(directory: Path, queue: str, seeds: int) -> None:
    """The ledger of the last commit against what waits on disk."""
    settings = load(None, {}, QUICK | {"crawl.order": "opic", "frontier.queue": queue})
    gatherer = assembly.gatherer(directory, "g0", settings, [])
    frontier = gatherer._frontier
    waiting = sum(entry.worth for entry in frontier.entries(b"", b"\xff"))
    assert frontier.ledger.issued == seeds
    assert frontier.ledger.waiting() == pytest.approx(waiting)
    assert frontier.ledger.spent >= frontier.ledger.idle > 0 or not frontier.queued()
    gatherer._store.close()
    frontier.close()


async def test_gatherer_is_not_held_up_by_a_slow_host(tmp_path: Path) -> None:
    """All of the best pages are on hosts with a delay: other pages are fetched meanwhile, and every delay is kept."""
    spec = FakeWebSpec.plain(hosts=6, pages=60, delay_s=0.05, robots=True)
    async with FakeWeb(spec) as web:
        changes = {"politeness.delay_s": spec.delay_s, "frontier.host_window_urls": 2, "frontier.window_urls": 12}
        gatherer = make(tmp_path, web, "backlink", frontier__queue="quickheap", **changes)
        assert await gatherer.run(list(web.seeds)) is GathererState.DONE
        assert sorted(record.url for record in pages(tmp_path)) == sorted(survey(web.web).pages)
        for site in web.web.sites:
            seen = web.log.hosts.get(site.address)
            if seen and seen.min_gap_s is not None:
                assert seen.min_gap_s >= web.web.delay_s(site)
        hosts = [record.url.split("/")[2] for record in pages(tmp_path)]
        runs = 1 + sum(one != other for one, other in pairwise(hosts))
        assert runs > len(set(hosts)) * 3, "hosts take turns: none blocks the others until it is done"


async def test_gatherer_goes_on_in_another_order(tmp_path: Path) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=4, pages=120)) as web:
        for order, queue, most in (("bfs", "hosts", 30), ("opic", "quickheap", 60), ("backlink", "hosts", 0)):
            gatherer = make(tmp_path, web, order, frontier__queue=queue, crawl__max_pages=most)
            await gatherer.run(list(web.seeds))
        assert sorted(record.url for record in pages(tmp_path)) == sorted(survey(web.web).pages)


async def test_gatherer_says_which_score_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(found: Found) -> float:
        return 1 / (found.depth - 1)

    monkeypatch.setattr(sys.modules[__name__], "broken", broken, raising=False)
    async with FakeWeb(FakeWebSpec.plain(hosts=1, pages=20)) as web:
        with pytest.raises(OrderError, match=r"broken failed on http://.*ZeroDivisionError"):
            await make(tmp_path, web, f"{__name__}:broken").run(list(web.seeds))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("best", "no order 'best'; give one of bfs, backlink, opic"),
        ("nowhere:score", "put nowhere.py into this directory"),
        (f"{__name__}:nothing", "test_ordering.py.> has no nothing; write it there"),
        (f"{__name__}:PLUGIN", "PLUGIN is no function; write one that takes a Found"),
    ],
)
def test_order_that_is_not_available_says_what_to_do(name: str, advice: str) -> None:
    with pytest.raises(SettingsError, match=advice):
        load_order(name)


@pytest.mark.parametrize(("order", "queue"), [("opic", "quickheap"), ("backlink", "hosts")])
def test_crawl_survives_kills_in_its_order(tmp_path: Path, order: str, queue: str) -> None:
    """kill -9 in the middle: nothing is lost or stored twice, and queued URLs keep their worth."""
    flags = ["--scope", "any", "--delay", "0", "--allow-private", "--summary", "links", "--json", "--no-warc"]
    flags += ["--order", order, "--queue", queue, "--set", "frontier.checkpoint_s=0.1", "--connections", "4"]
    with FakeWebProcess(FakeWebSpec.plain(hosts=6, pages=250, latency_s=0.01)) as web:
        command = [sys.executable, "-m", "gcs", "crawl", web.seeds[0], "-o", str(tmp_path), *flags]
        for wait_s in (0.05, 0.3):
            crawl = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            before = web.log.requests
            while web.log.requests < before + 30 and crawl.poll() is None:
                time.sleep(0.01)
            time.sleep(wait_s)
            assert crawl.poll() is None
            crawl.send_signal(signal.SIGKILL)
            crawl.wait()
        if order == "opic":
            assert_balanced(tmp_path, queue, 1)
        assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0
        stored = Counter(record.url for record in pages(tmp_path))
        assert set(stored) == survey(web.web).pages
        assert set(stored.values()) == {1}
