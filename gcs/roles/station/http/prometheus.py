"""/metrics: the figures of the crawl in Prometheus' text format. Names end in their unit; counters in _total."""

from collections.abc import Iterable, Iterator
from typing import Literal

from gcs.core.messages.tuples import CrawlState, MemberState
from gcs.core.report.figures import Figure
from gcs.roles.station.view.schemas import Status

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: states of a crawl, as `views.state_of` names them
STATES = (*CrawlState, "stopped", "waiting")
#: of the text of a label
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

#: (name, type, help) of the figures of the report
_COUNTERS = {
    "pages": ("gcs_pages_total", "Pages stored."),
    "failed": ("gcs_failed_total", "URLs that ended without a page."),
    "denied_by_robots": ("gcs_denied_by_robots_total", "URLs that robots.txt denies."),
    "redirects": ("gcs_redirects_total", "Redirects followed."),
    "retries": ("gcs_retries_total", "Requests that were put off to try again."),
    "bytes": ("gcs_page_bytes_total", "Bytes of pages."),
    "cpu_s": ("gcs_cpu_seconds_total", "CPU time of the gatherers."),
    "exchanged_urls": ("gcs_exchanged_urls_total", "URLs that gatherers sent to one another."),
    "exchanged_bytes": ("gcs_exchanged_bytes_total", "Bytes that gatherers sent to one another."),
    "suppressed_by_hot_pages": ("gcs_suppressed_by_hot_pages_total", "URLs not sent since they are hot pages."),
    "suppressed_by_c_queue": ("gcs_suppressed_by_c_queue_total", "URLs not sent since they were before."),
    "moved_urls": ("gcs_moved_urls_total", "URLs that changed their owner."),
}
_GAUGES = {
    "known_urls": ("gcs_known_urls", "URLs known."),
    "queued": ("gcs_queued_urls", "URLs waiting."),
    "explored_fraction": ("gcs_explored_ratio", "Estimated share of the reachable web that is explored."),
    "overlap": ("gcs_overlap_ratio", "(N - I) / I: pages stored more than once."),
    "helpers": ("gcs_helpers", "Helpers at work."),
    "epoch": ("gcs_plan_epoch", "Epoch of the plan."),
    "peak_rss_mb": ("gcs_peak_memory_megabytes", "Largest memory of a gatherer so far."),
}
_ROWS: dict[str, tuple[str, Literal["counter", "gauge"], str]] = {
    "pages": ("gcs_gatherer_pages_total", "counter", "Pages stored by a gatherer."),
    "queued": ("gcs_gatherer_queued_urls", "gauge", "URLs waiting at a gatherer."),
    "in_flight": ("gcs_gatherer_in_flight", "gauge", "Requests under way."),
    "pages_per_s": ("gcs_gatherer_pages_per_second", "gauge", "Pages per second, lately."),
    "busy": ("gcs_gatherer_busy_ratio", "gauge", "Share of the time in which something was under way."),
    "superpages": ("gcs_gatherer_superpages", "gauge", "Superpages owned."),
    "inbox": ("gcs_gatherer_inbox_blocks", "gauge", "Blocks waiting in its inbox."),
    "outbox": ("gcs_gatherer_outbox_blocks", "gauge", "Blocks not committed by their receivers."),
    "refused": ("gcs_gatherer_refused_tuples_total", "counter", "Tuples refused: not sealed with the team key."),
}


def exposition(crawls: Iterable[tuple[Status, float]]) -> str:
    """The figures of crawls as text."""
    return "".join(f"{line}\n" for figure in figures(crawls) for line in _lines(figure))


def figures(crawls: Iterable[tuple[Status, float]]) -> Iterable[Figure]:
    """The figures of each crawl, with the seconds since it was read. Samples of a name stand together."""
    found: dict[str, Figure] = {}
    for status, age_s in crawls:
        for figure in _figures_of(status, age_s):
            before = found[figure.name].samples if figure.name in found else ()
            found[figure.name] = figure._replace(samples=[*before, *figure.samples])
    return found.values()


def _figures_of(status: Status, age_s: float) -> Iterator[Figure]:
    of = {"crawl": status.crawl}
    yield Figure("gcs_up", "gauge", "Whether the whiteboard was read lately.", [(of, float(age_s < 15))])
    states = [({**of, "state": state}, float(state == status.state)) for state in STATES]
    yield Figure("gcs_state", "gauge", "1 for what the crawl does.", states)
    for field, (name, text) in _COUNTERS.items():
        yield Figure(name, "counter", text, [(of, getattr(status.report, field))])
    for field, (name, text) in _GAUGES.items():
        yield Figure(name, "gauge", text, [(of, getattr(status.report, field))])
    yield Figure("gcs_pages_per_second", "gauge", "Pages per second, lately.", [(of, status.now.pages_per_s)])
    if status.outlook.eta_s is not None:
        yield Figure("gcs_eta_seconds", "gauge", "Estimated time to the end.", [(of, status.outlook.eta_s)])
    failures = [({**of, "kind": kind}, count) for kind, count in status.report.failures.items()]
    yield Figure("gcs_failures_total", "counter", "URLs that ended without a page, by kind.", failures)
    there = sum(row.state != MemberState.GONE for row in status.team)
    yield Figure("gcs_gatherers", "gauge", "Gatherers at work.", [(of, there)])
    for field, (name, kind, text) in _ROWS.items():
        rows = [({**of, "gatherer": row.gatherer}, getattr(row, field)) for row in status.team]
        yield Figure(name, kind, text, rows)
    helped = [({**of, "helper": each.helper, "place": each.place}, each.pages) for each in status.helpers]
    yield Figure("gcs_helper_pages_total", "counter", "Pages fetched by a helper.", helped)


def _lines(figure: Figure) -> Iterator[str]:
    if figure.samples:
        yield f"# HELP {figure.name} {figure.text}"
        yield f"# TYPE {figure.name} {figure.kind}"
    for labels, value in figure.samples:
        pairs = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
        yield f"{figure.name}{{{pairs}}} {float(value):.17g}"
