"""How well the owners of a shared host use the rate that its delay allows, by the log of the server.

One host, whose pages have 1, 2 or 4 owners: with equal queues, and where one of the owners has nine tenths of them.
`use` is the time that the delays take over the time from the first request to the last; `least gap` is between the
starts of two requests. Gatherers run in this process, on the event loop of
`gcs crawl` and a Redis of their own; every page is queued from the start.

    scripts/bench turns [--seconds 10] [--json]
"""

import argparse
import asyncio
import json
import tempfile
from itertools import pairwise, product
from pathlib import Path

from gcs.app import assembly
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, Member, PlanPosted, Seeds
from gcs.core.plan.plan import Plan
from gcs.core.url.sortkey import LAST_KEY, sort_key
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import open_space
from gcs.settings import load

#: the cells: delays in seconds, owners, and the share of the pages that the first owner has (0: as much as the others)
DELAYS_S, OWNERS, SHARES = (0.05, 0.2, 1.0), (1, 2, 4), (0.0, 0.9)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="what the delays of a cell take [%(default)s]")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = []
    for delay_s, owners, share in product(DELAYS_S, OWNERS, SHARES):
        if owners == 1 and share:
            continue
        row = assembly.run_loop(cell(delay_s, owners, share, max(round(asked.seconds / delay_s), 40)))
        rows.append(row)
        if not asked.json:
            print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    if asked.json:
        print(json.dumps({"turns": rows}))


async def cell(delay_s: float, owners: int, share: float, pages: int) -> dict[str, object]:
    names = tuple("abcdefgh"[:owners])
    with (
        tempfile.TemporaryDirectory(prefix="gcs-bench-turns-") as home,
        FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=pages)) as web,
    ):
        known = sorted(survey(web.web).pages)
        server = EmbeddedServer(Path(home) / "space")
        url = server.start()
        try:
            space = await open_space(url, crawl="c", name="bench")
            before = await commands(space)
            await crawl(Path(home), web, url, space, plan_of(names, share, known), delay_s)
            calls = await commands(space) - before
            await space.close()
        finally:
            server.stop()
        times = sorted(at for hits in web.log.hits.values() for at in hits)
    gaps = sorted(later - earlier for earlier, later in pairwise(times))
    return {
        "delay": delay_s,
        "owners": owners,
        "queues": "unequal" if share else "equal",
        "pages": len(times),
        "use": round((len(times) - 1) * delay_s / (times[-1] - times[0]), 3),
        "least gap": round(gaps[0], 4),
        "largest": [round(gap, 3) for gap in gaps[-3:]],
        "scripts a second": round(calls / (times[-1] - times[0]), 1),
    }


async def commands(space: Space) -> int:
    """The scripts that Redis has carried out so far: nearly all round trips but blocking reads."""
    statistics = await space._connection.command("INFO", "commandstats")  # type: ignore[attr-defined]
    return int(statistics["cmdstat_evalsha"]["calls"]) if "cmdstat_evalsha" in statistics else 0


def plan_of(names: tuple[str, ...], share: float, pages: list[str]) -> Plan:
    keys = sorted(map(sort_key, pages))
    first = share or 1 / len(names)
    ends = [first + (1 - first) * at / max(len(names) - 1, 1) for at in range(len(names))]
    cuts = (b"", *(keys[int(end * len(keys))] for end in ends[:-1] if end < 1))
    return Plan(1, names, cuts, tuple(range(len(cuts))), lost=((b"", LAST_KEY),))


async def crawl(home: Path, web: FakeWebProcess, url: str, space: Space, plan: Plan, delay_s: float) -> None:
    changes = {
        "crawl.scope": "any",
        "fetch.allow_private": True,
        "politeness.delay_s": delay_s,
        "summary.depth": "links",
        "frontier.fsync": False,
        "store.warc": False,
    }
    settings = load(None, {}, changes)
    running = []
    for name in plan.gatherers:
        access = assembly.TeamAccess(await open_space(url, crawl="c", name=name))
        gatherer = assembly.gatherer(home / "crawl", name, settings, list(web.seeds), access)
        running.append(asyncio.create_task(gatherer.run([])))
    await space.out(PlanPosted(1, 1, plan.encode()))
    while sum(member.settled_epoch == 1 for member in await space.scan(template(Member))) < len(running):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    await space.out(PlanPosted(1, 1, plan.encode(), committed=True))
    known = sorted(survey(web.web).pages)
    await space.out(Seeds(known), to="seeds")
    while await asyncio.to_thread(lambda: web.log.requests) < len(known):
        await asyncio.sleep(0.5)
        assert not any(task.done() for task in running)
    await space.out(Control(CrawlState.DONE))
    await asyncio.gather(*running)


if __name__ == "__main__":
    main()
