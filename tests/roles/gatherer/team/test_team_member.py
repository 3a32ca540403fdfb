"""Gatherers of a team on one whiteboard, under plans that the test makes: nothing lost, nothing fetched twice."""

import asyncio
import random
import time
from contextlib import AsyncExitStack, asynccontextmanager
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from gcs.app import assembly
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Announcement, Control, CrawlState, Member, PlanPosted, Seeds
from gcs.core.messages.tuples import StatisticsReply as Reply
from gcs.core.ordering import ORDERS, Ledger
from gcs.core.plan.keyspace import Keyspace
from gcs.core.plan.plan import ExchangeMode, Plan, diff
from gcs.core.plan.triggers import SUMS
from gcs.core.report.counters import PhaseTimes
from gcs.core.tree.statistics import SuperpageStatistics, merge
from gcs.core.url.canonical import host_of_url, origin_of_url
from gcs.core.url.sortkey import LAST_KEY, host_name, host_of_key, sort_key
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWeb
from gcs.ports.frontier import Frontier
from gcs.ports.records.reading import read_records
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.gatherer import Gatherer, GathererState
from gcs.roles.gatherer.fetch import dispatcher
from gcs.roles.gatherer.record import checkpoints
from gcs.settings import load
from tests.roles.gatherer.strange_site import html, strange_site

QUICK = {
    "crawl.scope": "any",
    "fetch.allow_private": True,
    "politeness.delay_s": 0.0,
    "summary.depth": "links",
    "frontier.fsync": False,
    "frontier.checkpoint_s": 0.1,
    "team.beat_s": 0.05,
    "store.warc": False,
}


class Team:
    """Some gatherers in this process, and the test as their leader."""

    def __init__(self, directory: Path, web: FakeWeb, **changes: Any) -> None:
        self.directory, self.web = directory, web
        self.settings = load(None, {}, QUICK | {key.replace("__", "."): value for key, value in changes.items()})
        self.board = MemoryBoard()
        self.space = MemorySpace(self.board, "test")
        self.gatherers: dict[str, Gatherer] = {}
        self.tasks: dict[str, asyncio.Task[GathererState]] = {}
        self.epoch = 0
        self.posted: Plan | None = None

    def join(self, *names: str, ghost: bool = False, knows_seeds: bool = True) -> None:
        """`knows_seeds`: else nothing is fetched but what a test sends."""
        seeds = list(self.web.seeds) if knows_seeds else []
        for name in names:
            space = MemorySpace(self.board, name)
            member = assembly.TeamAccess(space, ghost)
            gatherer = assembly.gatherer(self.directory, name, self.settings, seeds, member)
            self.gatherers[name] = gatherer
            self.tasks[name] = asyncio.create_task(gatherer.run([]))

    async def plan(self, owners: dict[bytes, str], lost: tuple[tuple[bytes, bytes], ...] = (), **more: Any) -> None:
        """Cuts, each with the owner of the range after it."""
        self.epoch += 1
        names = tuple(sorted(set(owners.values())))
        cuts = tuple(sorted(owners))
        plan = Plan(self.epoch, names, cuts, tuple(names.index(owners[cut]) for cut in cuts), lost=lost, **more)
        self.posted = msgspec.structs.replace(plan, moves=tuple(diff(self.posted, plan)) if self.posted else ())
        await self.space.out(PlanPosted(self.epoch, 1, self.posted.encode()))

    async def commit(self) -> None:
        assert self.posted
        await self.space.out(PlanPosted(self.epoch, 1, self.posted.encode(), committed=True))

    async def members(self) -> dict[str, Member]:
        everybody = await self.space.scan(template(Member))
        return {member.gatherer: member for member in everybody if member.state != "gone"}

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(60):
            while not condition(await self.members()):
                for name, task in self.tasks.items():
                    assert not task.done() or task.result(), f"{name} ended"
                await asyncio.sleep(0.02)

    async def settled(self) -> None:
        await self.until(
            lambda members: (
                set(members) >= set(self.tasks) and all(m.settled_epoch == self.epoch for m in members.values())
            )
        )

    async def beats(self, count: int) -> None:
        before = await self.members()
        await self.until(lambda members: all(members[name].beat >= before[name].beat + count for name in before))

    async def finish(self) -> None:
        """End when all have been passive for two beats in a row."""
        seen: dict[str, tuple[int, int, int]] = {}
        calm = 0
        while calm < 3:
            await self.until(lambda members: all(m.passive for m in members.values()))
            now = {n: (m.blocks_sent, m.blocks_received, m.epoch) for n, m in (await self.members()).items()}
            calm = calm + 1 if now == seen else 0
            seen = now
            await asyncio.sleep(0.1)
        await self.space.out(Control(CrawlState.DONE))
        for task in self.tasks.values():
            assert await task is GathererState.DONE

    def pages(self) -> list[str]:
        return [record.url for record in read_records(self.directory) if record.is_page]

    def check(self) -> None:
        stored = self.pages()
        assert len(stored) == len(set(stored)), "a page was stored twice"
        assert set(stored) == survey(self.web.web).pages
        again = {url for url in self.web.log.repeated() if not url.endswith("/robots.txt")}
        assert again == set(), "a page was fetched twice"


ALL = ((b"", LAST_KEY),)


@asynccontextmanager
async def team_on(directory: Path, spec: FakeWebSpec, **changes: Any):
    async with AsyncExitStack() as stack:
        web = await stack.enter_async_context(FakeWeb(spec))
        team = Team(directory, web, **changes)
        try:
            yield team
        finally:
            for task in team.tasks.values():
                task.cancel()
            await asyncio.gather(*team.tasks.values(), return_exceptions=True)


def hosts(team: Team) -> list[bytes]:
    return [sort_key(home).partition(b"\x00")[0] for home in team.web.web.homes]


async def test_team_covers_what_one_gatherer_covers(tmp_path: Path) -> None:
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=12, pages=300)) as team:
        team.join("a", "b", "c")
        cuts = [b"", *hosts(team)[1:]]
        await team.plan({cut: "abc"[at % 3] for at, cut in enumerate(cuts)}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.finish()
        team.check()
        by_gatherer = {record.gatherer for record in read_records(tmp_path)}
        assert by_gatherer == {"a", "b", "c"}


def reached(web: FakeWeb, seeds: list[str], may: Any) -> set[str]:
    """What is found from these seeds by following links to pages that the gatherer may fetch."""
    found, waiting = set(seeds), list(seeds)
    while waiting:
        for link in web.web.plan(waiting.pop()).links:
            if link.target not in found and may(link.target):
                found.add(link.target)
                waiting.append(link.target)
    return found


@pytest.mark.parametrize("mode", list(ExchangeMode))
async def test_what_a_team_fetches_in_each_mode(tmp_path: Path, mode: ExchangeMode) -> None:
    """Exchange: all pages once, each by its owner. Firewall: what an owner reaches alone. The others: all, by both."""
    spec = FakeWebSpec.plain(hosts=8, pages=80, links=3)
    async with team_on(tmp_path, spec, fetch__connections=1) as team:
        team.join("a", "b", knows_seeds=mode is not ExchangeMode.FIREWALL)
        keys = sorted(map(sort_key, survey(team.web.web).pages))
        await team.plan({cut: "ab"[at % 2] for at, cut in enumerate([b"", *keys[3::4]])}, lost=ALL, mode=mode)
        owned = {team.posted.owner_of(sort_key(home)): home for home in team.web.web.homes}
        seeds = list(owned.values())
        await team.space.out(Seeds(seeds), to="seeds")
        await team.finish()
        owner = {url: team.posted.owner_of(sort_key(url)) for url in survey(team.web.web).pages}
        assert set(owned) == {"a", "b"}
        pages = {name: [r.url for r in read_records(tmp_path) if r.is_page and r.gatherer == name] for name in "ab"}
        traffic = sum(gatherer.counters.traffic.exchanged_urls for gatherer in team.gatherers.values())
        assert (traffic > 0) is (mode is ExchangeMode.EXCHANGE)
        for name, urls in pages.items():
            assert len(urls) == len(set(urls)), "one gatherer fetches nothing twice"
            mine = {url for url in owner if owner[url] == name}
            alone = reached(team.web, [seed for seed in seeds if owner[seed] == name], mine.__contains__)
            assert alone < mine, "some pages are found only by way of the other gatherer's"
            match mode:
                case ExchangeMode.EXCHANGE:
                    assert set(urls) == mine
                case ExchangeMode.FIREWALL:
                    assert set(urls) == alone
                case ExchangeMode.CROSS_OVER | ExchangeMode.INDEPENDENT:
                    assert set(urls) == set(owner)
                    first_foreign = next(at for at, url in enumerate(urls) if url not in mine)
                    assert (set(urls[:first_foreign]) >= alone) is (mode is ExchangeMode.CROSS_OVER)


@pytest.mark.parametrize("has_barrier", [True, False])
async def test_gatherers_take_their_supersteps_together(tmp_path: Path, has_barrier: bool) -> None:
    """A quick gatherer and a slow one, eight pages a superstep; without the barrier, the quick one is far ahead."""
    spec = FakeWebSpec.plain(hosts=2, pages=200, foreign_share=0.2, latency_s=0.01)
    changes = {"team__barrier": has_barrier, "team__superstep_pages": 8, "team__block_s": 60.0}
    async with team_on(tmp_path, spec, **changes) as team:
        team.join("a", "b")
        slow = team.gatherers["b"]._dispatcher
        slow.dispatch = lambda now, room, really=slow.dispatch: really(now, min(room, 1 - len(slow.open)))
        await team.plan({b"": "a", hosts(team)[1]: "b"}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        ahead = [0]

        def watch(members: dict[str, Member]) -> bool:
            done = {name: gatherer.counters.pages for name, gatherer in team.gatherers.items()}
            if done["b"]:
                ahead.append(done["a"] - done["b"])
            return all(member.passive for member in members.values()) and sum(done.values()) == 200

        await team.until(watch)
        await team.finish()
        team.check()
        phases = [gatherer.counters.phases for gatherer in team.gatherers.values()]
    if has_barrier:
        assert max(ahead) <= 3 * 8
        assert all(each.supersteps >= 200 / 2 / 8 for each in phases)
        assert all(each.computation_s > 0 and each.communication_s > 0 and each.waiting_s > 0 for each in phases)
        assert phases[0].waiting_s > phases[1].waiting_s, "the quick one waits for the slow one"
    else:
        assert max(ahead) > 3 * 8
        assert phases == [PhaseTimes()] * 2


async def test_members_report_every_figure_that_a_users_expression_may_name(tmp_path: Path) -> None:
    """A name that nobody reports would count as 0, silently."""
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=1, pages=1)) as team:
        team.join("a")
        await team.until(lambda members: "a" in members)
        assert {*SUMS, "busy"} <= set((await team.members())["a"].figures)


async def test_members_measure_how_fast_they_fetch_and_exchange(tmp_path: Path) -> None:
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=4, pages=60)) as team:
        team.join("a", "b")
        await team.plan({b"": "a", hosts(team)[2]: "b"}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.until(lambda members: sum(member.figures["pages"] for member in members.values()) == 60)
        await team.until(lambda members: all(member.passive for member in members.values()))
        await team.space.out(Announcement(1, 1))
        async with asyncio.timeout(20):
            while len(replies := await team.space.scan(template(Reply, round=1))) < 2:
                await asyncio.sleep(0.01)
        rates = merge(SuperpageStatistics.decode(each.rates) for each in replies)
        assert sum(work.amount for row in rates.rates.values() for work in row.values()) == 60
        assert all(work.seconds > 0 for row in rates.rates.values() for work in row.values())
        sent = sum(gatherer.counters.traffic.exchanged_urls for gatherer in team.gatherers.values())
        assert sent <= sum(work.amount for work in rates.exchange.values()) <= sent + 1  # the seed, to its owner
        assert all(work.seconds > 0 for work in rates.exchange.values())


async def test_busy_member_tells_its_figures_without_waiting_for_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "BUSY_S", 3600.0)
    monkeypatch.setattr(dispatcher, "PLENTY_URLS", 0)
    spec = FakeWebSpec.plain(hosts=2, pages=400, links=20, latency_s=0.02)
    async with team_on(tmp_path, spec, fetch__connections=1, frontier__checkpoint_s=3600.0) as team:
        team.join("a")
        await team.plan({b"": "a"}, lost=ALL)
        await team.settled()
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.until(lambda _: len(team.web.log.hits) > 50)
        await team.space.out(Announcement(1, 1))
        async with asyncio.timeout(20):
            while not await team.space.scan(template(Reply, round=1)):
                await asyncio.sleep(0.01)
        assert len(team.web.log.hits) < 400, "the gatherer had plenty to do"


async def test_team_moves_ranges_in_mid_crawl(tmp_path: Path) -> None:
    chance = random.Random(7)
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=8, pages=400, latency_s=0.01), fetch__connections=4) as team:
        team.join("a", "b", "c")
        await team.plan({b"": "a"}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        for _ in range(6):
            before = len(team.web.log.hits)
            await team.until(lambda _, before=before: len(team.web.log.hits) >= min(before + 40, 400))
            paths = [sort_key(url)[: chance.randrange(12, 30)] for url in list(team.web.log.hits)[:200:40]]
            cuts = sorted({b"", *hosts(team)[1:], *paths})
            await team.plan({cut: chance.choice("abc") for cut in cuts})
            await team.settled()
        await team.finish()
        team.check()


async def test_urls_stay_known_while_they_move(tmp_path: Path) -> None:
    """Whoever adds up what the gatherers say never sees less than before a range left its owner."""
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=4, pages=400, latency_s=0.01), fetch__connections=4) as team:

        def known() -> int:
            return sum(gatherer.share().known_urls for gatherer in team.gatherers.values())

        team.join("a", "b")
        await team.plan({b"": "a"}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.until(lambda _: len(team.web.log.hits) >= 100)
        for owner in "bab":
            await team.until(lambda _: all(each.team and not each.team.moving[0] for each in team.gatherers.values()))
            before, seen = known(), list[int]()
            await team.plan({b"": owner})
            while not (members := await team.members()) or any(m.settled_epoch < team.epoch for m in members.values()):
                seen.append(known())
                await asyncio.sleep(0)
            assert before > 100 and min(seen) >= before
        await team.finish()
        team.check()


async def test_team_asks_a_host_in_turns_and_not_at_all_while_its_owners_change(tmp_path: Path) -> None:
    delay_s = 0.02
    spec = FakeWebSpec.plain(hosts=1, pages=30, html_bytes=1_000)
    async with team_on(tmp_path, spec, politeness__delay_s=delay_s) as team:
        team.join("a", "b", "c")
        await team.plan({b"": "a"}, lost=ALL)
        await team.settled()
        await team.commit()
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        pages = sorted(map(sort_key, survey(team.web.web).pages))
        for owners in ("ab", "cab", "b"):
            hits = team.web.log.requests
            await team.until(lambda _, hits=hits: team.web.log.requests >= hits + 4)
            cuts = [b"", *pages[:: len(pages) // len(owners) + 1][1:]]
            await team.plan(dict(zip(cuts, owners)))
            await team.settled()
            await team.beats(2)  # requests that were in flight have ended
            hits = team.web.log.requests
            await team.beats(2)
            assert team.web.log.requests == hits, "a gatherer asked the host before all had the plan"
            await team.commit()
        await team.finish()
        team.check()
        starts = sorted(record.fetched_at for record in read_records(tmp_path))
        # one may be late, if the machine stops this process between reading the clock and the request
        assert sum(later - earlier < delay_s for earlier, later in pairwise(starts)) <= 1


async def test_owners_of_a_host_tell_one_another_that_it_wants_to_be_left_alone(tmp_path: Path) -> None:
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=2, pages=30)) as team:
        team.join("a", "b")
        pages = sorted(map(sort_key, survey(team.web.web).pages))
        shared, alone = (host_name(host_of_key(page)) for page in (pages[len(pages) // 4], pages[-1]))
        await team.plan({b"": "a", pages[len(pages) // 4]: "b"}, lost=ALL)
        await team.settled()
        await team.commit()
        a, b = (team.gatherers[name] for name in "ab")
        for host in (alone, shared):
            a.team.tell_busy(host, 3_600.0)
        await team.until(lambda _: b._dispatcher.free_in(shared, b._clock()) > 3_000)
        assert not b._dispatcher.free_in(alone, b._clock()), "no other gatherer asks this host"


@pytest.mark.parametrize("busy", ["/robots.txt", "/sitemap.xml", "/m"])
async def test_all_owners_of_a_host_wait_when_it_tells_one_of_them_to(tmp_path: Path, busy: str) -> None:
    """Retry-After, as a date, in answer to a robots.txt, a sitemap or a page: nobody asks the host again until then."""
    refusal = 503, {"Date": formatdate(0), "Retry-After": formatdate(3_600)}, b""
    robots = 200, {}, b"Sitemap: /sitemap.xml"
    async with strange_site({"/robots.txt": robots, "/a": html("/b"), "/m": html("/n"), busy: refusal}) as site:
        web: Any = SimpleNamespace(seeds=[f"{site.origin}/a", f"{site.origin}/m"])
        team = Team(tmp_path, web, politeness__delay_s=0.02)
        team.join("a", "b")
        await team.plan({b"": "a", sort_key(f"{site.origin}/k"): "b"}, lost=ALL)
        await team.settled()
        await team.commit()
        await team.space.out(Seeds(web.seeds), to="seeds")
        host = host_of_url(site.origin + "/")
        both = team.gatherers.values()
        await team.until(lambda _: all(each._dispatcher.free_in(host, each._clock()) > 3_500 for each in both))
        await team.beats(3)
        assert site.log[-1][0] == busy and site.hits[busy] == 1
        for task in team.tasks.values():
            task.cancel()
        await asyncio.gather(*team.tasks.values(), return_exceptions=True)


async def test_owners_of_a_host_ask_for_its_robots_txt_once(tmp_path: Path) -> None:
    """Its first reader posts it, and the others use it; nothing is posted for hosts that are not shared."""
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=2, pages=30)) as team:
        team.join("a", "b", knows_seeds=False)
        pages = sorted(survey(team.web.web).pages, key=sort_key)
        cut = len(pages) // 4
        await team.plan({b"": "a", sort_key(pages[cut]): "b"}, lost=ALL)
        await team.settled()
        await team.commit()
        a, b = (team.gatherers[name] for name in "ab")
        for url in (pages[-1], pages[cut]):
            rules = f"User-agent: *\nDisallow: {urlsplit(url).path}".encode()
            a.team.tell_robots(host_of_url(url), origin_of_url(url), 200, rules)
        await team.until(lambda _: b._dispatcher._robots.rules(origin_of_url(pages[cut]), time.time()) is not None)
        assert b._dispatcher._robots.rules(origin_of_url(pages[-1]), time.time()) is None
        await team.space.out(Seeds([pages[cut], pages[cut + 1]]), to="seeds")
        await team.until(lambda _: pages[cut + 1] in team.web.log.hits)
        assert pages[cut] not in team.web.log.hits, "robots.txt disallows it, as a note told b"
        assert f"{origin_of_url(pages[cut])}/robots.txt" not in team.web.log.hits


async def test_team_hands_over_to_others_when_a_gatherer_leaves(tmp_path: Path) -> None:
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=6, pages=200, latency_s=0.01), fetch__connections=4) as team:
        team.join("a", "b")
        half = hosts(team)[3]
        await team.plan({b"": "a", half: "b"}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.until(lambda _: len(team.web.log.hits) > 60)
        team.gatherers["b"].leave()
        await team.plan({b"": "a"})
        assert await team.tasks.pop("b") is GathererState.STOPPED
        await team.until(lambda members: set(members) == {"a"})
        await team.finish()
        team.check()


async def test_team_recovers_a_dead_gatherer_through_its_ghost(tmp_path: Path) -> None:
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=6, pages=200, latency_s=0.01), fetch__connections=4) as team:
        team.join("a", "b")
        await team.plan({b"": "a", hosts(team)[3]: "b"}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.until(lambda _: len(team.web.log.hits) > 60)
        await die(team, "b")
        team.join("b", ghost=True)
        await team.plan({b"": "a"})
        assert await team.tasks.pop("b") is GathererState.STOPPED
        await team.finish()
        stored = team.pages()
        assert len(stored) == len(set(stored))
        assert set(stored) == survey(team.web.web).pages


async def test_team_finds_a_lost_range_again_through_links(tmp_path: Path) -> None:
    """The disk of the dead gatherer is gone: links stored by others lead back into its range."""
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=6, pages=150, latency_s=0.01), fetch__connections=4) as team:
        team.join("a", "b")
        border = hosts(team)[4]
        await team.plan({b"": "a", border: "b"}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.until(lambda _: len(team.web.log.hits) > 60)
        await die(team, "b")
        (tmp_path / "state" / "b").rename(tmp_path / "gone")
        for file in (tmp_path / "summaries").glob("b-*"):
            file.unlink()
        await team.plan({b"": "a"}, lost=((border, LAST_KEY),))
        await team.settled()
        await team.commit()
        await team.finish()
        assert set(team.pages()) == survey(team.web.web).pages


async def test_team_does_not_fetch_again_what_a_survivor_stored_of_a_lost_range(tmp_path: Path) -> None:
    """a owned the range, then b, whose disk is gone; c begins it when a has told what it stored of it."""
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=6, pages=300, latency_s=0.01), fetch__connections=4) as team:
        team.join("a", "b", "c")
        border = hosts(team)[2]
        await team.plan({b"": "a", b"\xfe": "c"}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.until(lambda _: len(team.web.log.hits) > 100)
        await team.plan({b"": "a", border: "b", b"\xfe": "c"})
        await team.settled()
        await team.commit()
        await die(team, "b")
        (tmp_path / "state" / "b").rename(tmp_path / "gone")
        for file in (tmp_path / "summaries").glob("b-*"):
            file.unlink()
        await team.plan({b"": "a", border: "c"}, lost=((border, LAST_KEY),))
        await team.settled()
        await team.beats(5)
        assert (await team.members())["c"].figures["pages"] == 0, "c waits until all follow the plan"
        await team.commit()
        await team.finish()
        stored = team.pages()
        assert len(stored) == len(set(stored))
        assert set(stored) == survey(team.web.web).pages


async def test_team_trusts_a_gatherer_that_comes_back_under_its_name(tmp_path: Path) -> None:
    """Tuples sent to it in its second run are not taken for those of its first run."""
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=6, pages=300, latency_s=0.01), fetch__connections=4) as team:
        team.join("a", "b")
        shared = {b"": "a", hosts(team)[3]: "b"}
        await team.plan(shared, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.until(lambda _: len(team.web.log.hits) > 60)
        for _ in range(2):
            team.gatherers["b"].leave()
            await team.plan({b"": "a"})
            assert await team.tasks.pop("b") is GathererState.STOPPED
            team.join("b")
            await team.plan(shared)
            await team.settled()
        await team.finish()
        team.check()


async def test_team_keeps_a_leaver_until_the_plan_is_without_it(tmp_path: Path) -> None:
    """Also a leaver that owns nothing: as long as it is in the plan, the others wait for it."""
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=2, pages=20)) as team:
        team.join("a", "b")
        plan = Plan(1, ("a", "b"), (b"",), (0,), lost=ALL)
        await team.space.out(PlanPosted(1, 1, plan.encode()))
        await team.until(lambda members: all(m.settled_epoch == 1 for m in members.values()) and len(members) == 2)
        team.gatherers["b"].leave()
        await team.until(lambda members: members["b"].state == "leaving" and members["b"].passive)
        beat = (await team.members())["b"].beat
        await team.until(lambda members: members["b"].beat > beat + 4)
        team.epoch = 1
        await team.plan({b"": "a"})
        assert await team.tasks.pop("b") is GathererState.STOPPED
        [gone] = await team.space.scan(template(Member, gatherer="b"))
        assert gone.state == "gone"


async def test_gatherer_that_is_told_to_leave_while_it_waits_for_the_whiteboard_leaves(tmp_path: Path) -> None:
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=1, pages=5)) as team:
        answers = asyncio.Event()

        class Slow(MemorySpace):
            async def read(self, *arguments: Any, **more: Any) -> Any:
                await answers.wait()
                return await super().read(*arguments, **more)

        member = assembly.TeamAccess(Slow(team.board, "a"))
        a = assembly.gatherer(tmp_path, "a", team.settings, list(team.web.seeds), member)
        running = team.tasks["a"] = asyncio.create_task(a.run([]))
        await asyncio.sleep(0.01)
        a.leave()
        await asyncio.sleep(0.01)
        answers.set()
        assert await running is GathererState.STOPPED


async def test_team_goes_on_when_a_loser_dies_in_the_middle_of_a_hand_over(tmp_path: Path) -> None:
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=6, pages=200, latency_s=0.05), fetch__connections=4) as team:
        team.join("a", "b")
        await team.plan({b"": "a"}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        for _ in range(3):
            before = len(team.web.log.hits)
            await team.until(lambda _, before=before: len(team.web.log.hits) > before + 25)
            await team.plan({b"": "b", hosts(team)[3]: "a"} if team.epoch % 2 else {b"": "a", hosts(team)[3]: "b"})
            await team.until(
                lambda _: any(g.team and not g.team._ownership.hand_overs.is_settled for g in team.gatherers.values())
            )
            for name in ("a", "b"):
                await die(team, name)
                team.join(name)
            await team.settled()
        await team.finish()
        stored = team.pages()
        assert len(stored) == len(set(stored))
        assert set(stored) == survey(team.web.web).pages


async def test_team_says_settled_only_when_that_is_durable(tmp_path: Path) -> None:
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=2, pages=20)) as team:
        team.join("a", "b")
        await team.plan({b"": "a"}, lost=ALL)
        await team.settled()
        winner = team.gatherers["b"]
        checkpoints = winner._checkpoints
        make, checkpoints.make = checkpoints.make, lambda _: None  # type: ignore[method-assign]
        await team.plan({b"": "b"})
        await team.until(
            lambda _: winner.team and winner.team.epoch == 2 and winner.team._ownership.hand_overs.is_settled
        )
        beat = (await team.members())["b"].beat
        await team.until(lambda members: members["b"].beat > beat + 2)
        assert (await team.members())["b"].settled_epoch < 2
        checkpoints.make = make  # type: ignore[method-assign]
        await team.settled()


async def test_team_gives_seeds_only_to_gatherers_of_the_plan(tmp_path: Path) -> None:
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=3, pages=30)) as team:
        team.join("a", "stranger")
        await team.plan({b"": "a"}, lost=ALL)
        await team.settled()
        assert team.gatherers["stranger"].team
        for _ in range(5):
            await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.finish()
        team.check()
        received = {
            name: gatherer.team._exchange.received for name, gatherer in team.gatherers.items() if gatherer.team
        }
        assert received == {"a": 5, "stranger": 0}


async def test_team_follows_the_board_when_it_shows_another_plan_of_the_same_epoch(tmp_path: Path) -> None:
    """The whiteboard lost a plan that only one gatherer had seen, and another plan of that epoch was made."""
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=2, pages=20)) as team:
        team.join("a", "b")
        await team.plan({b"": "a"}, lost=ALL)
        await team.settled()
        team.epoch = 0
        await team.plan({b"": "b"}, lost=ALL)
        await team.until(lambda members: members["b"].figures["superpages"] == 1 and members["b"].settled_epoch)
        await team.until(lambda members: members["a"].figures["superpages"] == 0)


async def test_team_is_told_by_a_gatherer_that_comes_back_without_its_disk(tmp_path: Path) -> None:
    """Else it would wait for ever for ranges that nobody hands over, or crawl them as if they were empty."""
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=6, pages=150, latency_s=0.01), fetch__connections=4) as team:
        team.join("a", "b")
        border = hosts(team)[4]
        owners = {b"": "a", border: "b"}
        await team.plan(owners, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        await team.settled()
        await team.until(lambda _: len(team.web.log.hits) > 60)
        [posted] = await team.space.scan(template(PlanPosted))
        await team.space.out(msgspec.structs.replace(posted, committed=True))
        await die(team, "b")
        (tmp_path / "state" / "b").rename(tmp_path / "gone")
        for file in (tmp_path / "summaries").glob("b-*"):
            file.unlink()
        team.join("b")
        await team.until(lambda members: members.get("b") and members["b"].state == "blank")
        beat = (await team.members())["b"].beat
        await team.until(lambda members: members["b"].beat > beat + 2)
        assert (await team.members())["b"].epoch == 0
        await team.plan(owners, lost=((border, LAST_KEY),))
        await team.settled()
        await team.commit()
        await team.finish()
        stored = team.pages()
        assert len(stored) == len(set(stored))
        assert set(stored) == survey(team.web.web).pages


async def die(team: Team, name: str) -> None:
    """As by kill -9: nothing is committed, told or closed in order."""
    gatherer = team.gatherers.pop(name)
    task = team.tasks.pop(name)
    gatherer._finished.cancel()
    gatherer._checkpoints.make = lambda _: None  # type: ignore[method-assign]
    await asyncio.gather(task, return_exceptions=True)


def assert_conserved(team: Team) -> None:
    """Every unit of cash that was issued is idle, waits somewhere, or is on its way."""
    total = Ledger()
    for gatherer in team.gatherers.values():
        frontier = gatherer._frontier
        held = frontier.team_tables.release(b"", LAST_KEY, 10_000, Keyspace.TREE)
        frontier.team_tables.hold(held)
        waiting = sum(entry.worth for entry in [*frontier.entries(b"", LAST_KEY), *held])
        assert frontier.ledger.waiting() == pytest.approx(waiting), gatherer.name
        total += frontier.ledger
    assert total.issued >= len(team.web.seeds), "a seed that is sent twice is issued twice, and idle at once"
    assert total.sent - total.received >= -1e-9
    assert total.waiting() + total.idle + total.sent - total.received == pytest.approx(total.issued)


async def ledgers(team: Team) -> Ledger:
    """The cash that gatherers which have ended left in their frontiers."""
    total = Ledger()
    for name in team.gatherers:
        frontier = Frontier(team.directory / "state" / name / "frontier", team.settings.frontier, ORDERS["opic"])
        assert frontier.ledger.waiting() == pytest.approx(0.0, abs=1e-9)
        total += frontier.ledger
        frontier.close()
    return total


@pytest.mark.parametrize(("order", "queue"), [("opic", "hosts"), ("opic", "heap"), ("backlink", "heap")])
async def test_team_sends_what_links_are_worth(tmp_path: Path, order: str, queue: str) -> None:
    changes = {"crawl__order": order, "frontier__queue": queue, "fetch__connections": 4}
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=12, pages=240, latency_s=0.005), **changes) as team:
        team.join("a", "b", "c")
        cuts = [b"", *hosts(team)[1:]]
        await team.plan({cut: "abc"[at % 3] for at, cut in enumerate(cuts)}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        for pages in (40, 120):
            await team.until(lambda _, pages=pages: len(team.web.log.hits) > pages)
            if order == "opic":
                assert_conserved(team)
        await team.finish()
        team.check()
        if order == "opic":
            total = await ledgers(team)
            assert total.issued == pytest.approx(total.idle), "in the end all cash is idle"
            assert total.sent == pytest.approx(total.received)
            assert total.sent > 0.1
            assert total.spent > len(team.web.seeds), "cash was passed on many times"


async def test_team_keeps_worth_when_ranges_move_and_gatherers_die(tmp_path: Path) -> None:
    """Blocks and parts may come twice after a crash: their worth counts once."""
    changes = {"crawl__order": "opic", "frontier__queue": "heap", "fetch__connections": 4}
    async with team_on(tmp_path, FakeWebSpec.plain(hosts=8, pages=300, latency_s=0.01), **changes) as team:
        team.join("a", "b", "c")
        cuts = [b"", *hosts(team)[1:]]
        await team.plan({cut: "abc"[at % 3] for at, cut in enumerate(cuts)}, lost=ALL)
        await team.space.out(Seeds(list(team.web.seeds)), to="seeds")
        for turn, name in enumerate("ab"):
            before = len(team.web.log.hits)
            await team.until(lambda _, before=before: len(team.web.log.hits) >= before + 50)
            await team.plan({cut: "abc"[(at + turn) % 3] for at, cut in enumerate(cuts)})
            await die(team, name)
            team.join(name)
            await team.settled()
            assert_conserved(team)
        await team.finish()
        stored = team.pages()
        assert sorted(stored) == sorted(survey(team.web.web).pages)
        total = await ledgers(team)
        assert total.issued == pytest.approx(total.idle)
        assert total.sent == pytest.approx(total.received)
