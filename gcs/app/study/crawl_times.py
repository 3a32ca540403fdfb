"""What the directory of a crawl says of its times: the delay and connections that it was given, and what it measured.

Its gatherers have counted how long answers took. Where the crawl has a delay, the pauses between the pages of a host
tell how fast that host is: a pause is as long as the delay and an answer. A host whose robots.txt asks for a longer
delay counts as slow to answer: it takes as long. Where all connections were in use, hosts waited for them, and the
pauses tell nothing.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import quantiles

from gcs.app.crawl_dir import read_shares
from gcs.app.crawl_input import SavedCrawl
from gcs.core.report import report
from gcs.core.report.counters import Counters
from gcs.core.url.canonical import host_of_url
from gcs.ports.records import reading
from gcs.settings import load
from gcs.sim.studies import SeenCrawl, WebTimes

#: pauses of a host, at least, that say how fast it answers
LEAST_PAUSES = 20
#: share of its connections that a gatherer uses, at least, if it has too few of them
FULL = 0.5
#: pages of one gatherer at a host: when it was asked for each
_Visits = dict[tuple[str, str], list[float]]


def crawl_times(directory: Path, usual: WebTimes) -> tuple[WebTimes, SeenCrawl]:
    """The times of a crawl; what its directory does not tell is as `usual`."""
    settings = load(None, {}, {}, SavedCrawl.read(directory).settings)
    shares, _ = read_shares(directory)
    total = sum((share.counters for share in report.current(shares)), Counters())
    answers = total.pages + total.redirects + total.revisits + total.failed
    times = replace(
        usual,
        delay_s=settings.politeness.delay_s,
        connections=settings.fetch.connections,
        host_connections=settings.politeness.host_connections,
        latency_s=total.answer_s / answers if total.answer_s else usual.latency_s,
        cpu_per_page_s=total.cpu_s / total.pages if total.pages else usual.cpu_per_page_s,
    )
    seeds: list[str] = []
    visits: _Visits = {}
    for url, parent, gatherer, asked_at in reading.rows(directory, ["url", "parent", "gatherer", "fetched_at"]):
        if not parent:
            seeds.append(url)
        visits.setdefault((host_of_url(url), gatherer), []).append(asked_at)
    is_full = total.answer_s > FULL * times.connections * total.busy_s
    return times, SeenCrawl(tuple(seeds), () if is_full else tuple(_latencies(visits, times.delay_s)))


def _latencies(visits: _Visits, delay_s: float) -> Iterable[tuple[str, float]]:
    """The hosts that were asked often enough, and how long they take to answer. A pause with nothing to ask is long."""
    for (host, _), moments in visits.items():
        moments.sort()
        pauses = [after - before for before, after in pairwise(moments)]
        if delay_s and len(pauses) >= LEAST_PAUSES:
            yield host, round(max(quantiles(pauses, n=4)[0] - delay_s, 0.0), 4)
