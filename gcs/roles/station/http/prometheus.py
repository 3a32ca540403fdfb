"""/metrics: the figures of the crawl in Prometheus' text format. Names end in their unit; counters in _total."""

from collections.abc import Iterable, Iterator, Mapping

from gcs.core.messages.tuples import CrawlState, MemberState
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
_ROWS = {
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
    """The figures of each crawl, with the seconds since it was read. Samples of a name stand together."""
    families: dict[str, list[str]] = {}
    for status, age_s in crawls:
        for line in _lines(status, age_s):
            name = line.split(" ", 3)[2] if line.startswith("#") else line.partition("{")[0]
            lines = families.setdefault(name, [])
            if not line.startswith("#") or line not in lines:
                lines.append(line)
    return "".join(f"{line}\n" for lines in families.values() for line in lines)


def _lines(status: Status, age_s: float) -> Iterator[str]:
    of = {"crawl": status.crawl}
    yield from _family("gcs_up", "gauge", "Whether the whiteboard was read lately.", [(of, float(age_s < 15))])
    states = [({**of, "state": state}, float(state == status.state)) for state in STATES]
    yield from _family("gcs_state", "gauge", "1 for what the crawl does.", states)
    for field, (name, text) in _COUNTERS.items():
        yield from _family(name, "counter", text, [(of, getattr(status.report, field))])
    for field, (name, text) in _GAUGES.items():
        yield from _family(name, "gauge", text, [(of, getattr(status.report, field))])
    yield from _family("gcs_pages_per_second", "gauge", "Pages per second, lately.", [(of, status.now.pages_per_s)])
    if status.outlook.eta_s is not None:
        yield from _family("gcs_eta_seconds", "gauge", "Estimated time to the end.", [(of, status.outlook.eta_s)])
    failures = [({**of, "kind": kind}, count) for kind, count in status.report.failures.items()]
    yield from _family("gcs_failures_total", "counter", "URLs that ended without a page, by kind.", failures)
    there = sum(row.state != MemberState.GONE for row in status.team)
    yield from _family("gcs_gatherers", "gauge", "Gatherers at work.", [(of, there)])
    for field, (name, kind, text) in _ROWS.items():
        rows = [({**of, "gatherer": row.gatherer}, getattr(row, field)) for row in status.team]
        yield from _family(name, kind, text, rows)
    helped = [({**of, "helper": each.helper, "place": each.place}, each.pages) for each in status.helpers]
    yield from _family("gcs_helper_pages_total", "counter", "Pages fetched by a helper.", helped)


def _family(name: str, kind: str, text: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> Iterator[str]:
    found = list(samples)
    if found:
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
    for labels, value in found:
        pairs = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
        yield f"{name}{{{pairs}}} {float(value):.17g}"
