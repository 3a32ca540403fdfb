"""The calls about hosts: what was gathered of each, what waits, why it is slow, and its robots.txt."""

import time
from collections.abc import Sequence
from pathlib import Path

from gcs.core.messages.tuples import Bulletin
from gcs.core.report.workload import SlowHost
from gcs.ports.catalogue import Catalogue, HostCount
from gcs.ports.frontier.frontier_view import queued_at, robots_at
from gcs.roles.station.browse import found
from gcs.roles.station.browse.page_calls import reader_of
from gcs.roles.station.http.endpoint import CrawlCall, Endpoint

#: seconds over which a host's rate is counted
RATE_S = 60.0
#: rules of a robots.txt that are shown
MOST_RULES = 1_000


def host_endpoints() -> list[Endpoint]:
    return [
        Endpoint("GET", "hosts", "Hosts: pages, queue, rate, delay", found.FoundHosts, _hosts, found.HostsQuery),
        Endpoint("GET", "host", "One host, with its robots.txt", found.OneHost, _host, found.HostQuery),
    ]


async def _hosts(call: CrawlCall, query: found.HostsQuery) -> found.FoundHosts:
    reader = reader_of(call)
    live = _live(call.crawl.poller.board.bulletins)
    folders = _frontiers(reader.directory)

    def read(catalogue: Catalogue, complete: bool) -> found.FoundHosts:
        total, counts = catalogue.hosts(query.text, query.offset, query.limit)
        return found.FoundHosts(total, _shown(catalogue, counts, live, folders), complete)

    return await reader.ask(read)


async def _host(call: CrawlCall, query: found.HostQuery) -> found.OneHost:
    reader = reader_of(call)
    live = _live(call.crawl.poller.board.bulletins)
    folders = _frontiers(reader.directory)

    def read(catalogue: Catalogue, _complete: bool) -> found.OneHost:
        count = catalogue.host(query.host)
        robots = {}
        for folder in folders:
            for kept in robots_at(folder, query.host):
                rules = [f"{'allow' if rule.allow else 'disallow'}: {rule.pattern}" for rule in kept.robots.rules]
                robots[kept.origin] = found.RobotsOfOrigin(
                    kept.origin,
                    rules[:MOST_RULES],
                    kept.robots.crawl_delay_s,
                    list(kept.robots.sitemaps[:MOST_RULES]),
                    kept.expires_at,
                )
        (shown,) = _shown(catalogue, [count], live, folders)
        return found.OneHost(shown, catalogue.failures_of(query.host), list(robots.values()))

    return await reader.ask(read)


def _shown(
    catalogue: Catalogue, counts: Sequence[HostCount], live: dict[str, SlowHost], folders: list[Path]
) -> list[found.FoundHost]:
    names = [count.host for count in counts]
    lately = catalogue.fetched_since(time.time() - RATE_S)
    waiting = dict.fromkeys(names, 0 if folders else -1)
    for folder in folders:
        for name, urls in queued_at(folder, names).items():
            waiting[name] += urls
    shown = []
    for count in counts:
        pace = live.get(count.host)
        shown.append(
            found.FoundHost(
                *count,
                queued=max(waiting[count.host], pace.queued if pace else -1),
                rate=round(lately.get(count.host, 0) / RATE_S, 3),
                delay_s=pace.delay_s if pace else -1.0,
                why=pace.cause if pace else "",
                wait_s=round(pace.wait_s, 1) if pace else 0.0,
            )
        )
    return shown


def _live(bulletins: Sequence[Bulletin]) -> dict[str, SlowHost]:
    """The paces of the hosts that gatherers show; of a host that several ask, the slowest."""
    paces: dict[str, SlowHost] = {}
    for bulletin in bulletins:
        for pace in bulletin.hosts:
            if pace.host not in paces or pace.delay_s > paces[pace.host].delay_s:
                paces[pace.host] = pace
    return paces


def _frontiers(directory: Path | None) -> list[Path]:
    return sorted(file.parent for file in directory.glob("state/*/frontier/data.mdb")) if directory else []
