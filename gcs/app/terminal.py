"""What a crawl shows at its end: tables and the report, as text or as JSON. While it runs: `progress`."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gcs.app.crawl_dir import stored_elsewhere, write_whole
from gcs.app.say import say
from gcs.core.report.estimate import STORED, pace
from gcs.core.report.report import Report, Supersteps

MEGABYTE = 1_000_000
EXIT_CODES = {"done": 0, "limit": 3, "stopped": 3, "failed": 1, "stuck": 4}
#: kind of failure → what to do when a crawl has fetched nothing
ADVICE = {
    "dns": "no such host: look at the spelling of the seeds, and whether this machine can resolve names",
    "connect": "nobody answers there: look at host and port",
    "tls": "its certificate is not trusted (--set fetch.ca_file=FILE names others), or it speaks plain http",
    "timeout": "the server is too slow, or a firewall is in between",
    "proxy": "the proxy does not answer, or refuses; look at --proxy",
    "forbidden-address": "private, loopback and link-local addresses are crawled only with --allow-private",
    "protocol": "what answers there does not speak HTTP, or hangs up",
    "too-large": "--set fetch.max_body_bytes=N and fetch.max_content_bytes=N allow more",
    "robots-unreachable": "without its robots.txt a site is not crawled; try again later",
}


def columns(lines: Iterable[Sequence[str]], left: int = 0) -> list[str]:
    """Lines of cells as a table: the first `left` columns are aligned on the left, the others on the right."""
    aligned = [
        [cell.ljust(width) if at < left else cell.rjust(width) for cell in column]
        for at, column in enumerate(zip(*lines))
        for width in [max(map(len, column))]
    ]
    return ["  ".join(line) for line in zip(*aligned)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a crawl ended."""

    report: Report
    interrupted: bool
    #: why the crawl is stuck, and what to do
    detail: str = ""


def save_report(report: Report, file: Path, *, is_named: bool = False) -> None:
    """Write report.json in one step; `is_named`: the user has named the file."""
    text = msgspec.json.format(msgspec.json.encode(report), indent=1)
    write_whole(file, text + b"\n", "give another place with --report FILE", is_named=is_named)


def finish(outcome: Outcome, directory: Path, as_json: bool) -> int:
    """Print the outcome; returns the exit code."""
    report = outcome.report
    try:
        _tell(outcome, directory, as_json)
    except BrokenPipeError:  # the reader of the output has gone: the exit code stays the same
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if outcome.interrupted:
        return 130
    if report.dead_letters and report.state == "done":
        return EXIT_CODES["stuck"]
    return 1 if report.is_barren else EXIT_CODES[report.state]


def _tell(outcome: Outcome, directory: Path, as_json: bool) -> None:
    report = outcome.report
    if as_json:
        say(msgspec.json.encode(report))
    else:
        say(summary(report, directory))
        say(f"stored in {directory}/")
        if away := stored_elsewhere(directory, report):
            say(away)
        if report.queued and not outcome.interrupted:
            verb = "is" if report.queued == 1 else "are"
            say(f"{counted(report.queued, 'URL')} {verb} still queued; to go on: gcs crawl -o {directory}")
    if outcome.interrupted:
        say(f"interrupted, nothing lost; to go on: gcs crawl -o {directory}", err=as_json)
    elif report.state == "stuck":
        say(f"gcs: the crawl is stuck: {outcome.detail}; nothing is lost: then gcs crawl -o {directory}", err=True)
    elif report.dead_letters:
        say(
            f"gcs: {report.dead_letters:,} messages were damaged and set aside, pages may be missing:"
            " gcs space ls shows where, gcs space peek dead INBOX why, gcs space rm dead INBOX forgets them",
            err=True,
        )
    elif report.is_barren:
        flag = " --allow-private" if _main_failure(report) == "forbidden-address" else ""
        say(f"gcs: {why_nothing(report, directory)}; to try again: gcs crawl{flag} -o {directory}", err=True)


def why_nothing(report: Report, directory: Path) -> str:
    """Why a crawl has no page at all, and what may help."""
    if report.failures:
        advice = ADVICE.get(_main_failure(report), "look at the seeds")
        return f"not one page was fetched: {_failures(report)}; {advice}"
    if report.denied_by_robots:
        return (
            "not one page was fetched: robots.txt denies the seeds; ask who runs the site, "
            "or, where that is you, --set politeness.robots=false"
        )
    if report.redirects:
        return (
            "not one page was fetched: the seeds redirect in a circle, or out of the scope"
            f"{_whereto(directory)}; give the right seed, or see --scope"
        )
    return "not one page was fetched: the seeds hold none, or are taken for traps (see `gcs settings`, traps)"


def summary(report: Report, directory: Path | None = None) -> str:
    """The report as a few lines of text; `directory`: that of the crawl, for commands that are proposed."""
    pages = counted(report.pages, "page")
    if report.session > 1:  # a page that was asked for and not sent again is a page, too
        confirmed = f"{report.revisits:,} confirmed without sending"
        pages = f"{counted(report.held, 'page')} held ({report.pages:,} fetched, {confirmed})"
    lines = [
        f"{report.state}: {pages}, {_size(report.bytes)} in {report.seconds:,.1f} s "
        f"({pace(report.pages_per_s)} pages/s, {report.cpu_s:,.1f} s CPU, {report.peak_rss_mb:,.0f} MB memory)",
        f"known {counted(report.known_urls, 'URL')}, {report.queued:,} queued; {report.failed:,} failed, "
        f"{report.denied_by_robots:,} denied by robots.txt, {counted(report.redirects, 'redirect')}",
    ]
    if report.state == STORED:  # what was known, what waits and how long it took is not there
        lines = [
            f"{STORED}: {pages}, {_size(report.bytes)}; {report.failed:,} failed, "
            f"{counted(report.redirects, 'redirect')}"
        ]
    if report.requisites:
        lines.append(
            f"{counted(report.requisites, 'requisite')} of pages (style sheets, images, scripts…), "
            f"{_size(report.requisite_bytes)}"
        )
    if report.session > 1:
        lines.append(
            f"session {report.session}: {counted(report.new, 'page')} new, {report.changed:,} changed, "
            f"{report.same:,} the same, {report.gone:,} gone"
        )
    if report.coverage_by == "list":
        lines.append(f"{report.coverage:.1%} of the list of expected pages are stored")
    if report.quality is not None and report.quality < 1:
        lines.append(
            f"quality {report.quality:.2f}: that share of the {counted(report.unique, 'most linked page')} is stored"
        )
    if report.supersteps.count:
        lines.append(_supersteps(report.supersteps))
    if report.failures:
        lines.append(f"failed: {_failures(report)}")
    if report.shells:
        lines.append(
            f"{report.shells:,} page{'s are empty shells' if report.shells > 1 else ' is an empty shell'}, written by"
            f" scripts: to read them, add --browser (gcs crawl --next {directory or 'DIR'} --browser)"
        )
    if report.outlook.text and report.state != STORED:
        lines.append(report.outlook.text)
    return "\n".join(lines)


def _supersteps(steps: Supersteps) -> str:
    all_s = max(steps.computation_s + steps.communication_s + steps.waiting_s, 0.001)
    return (
        f"{counted(steps.count, 'superstep')}: {steps.computation_s / all_s:.0%} of the gatherers' time computing,"
        f" {steps.communication_s / all_s:.0%} communicating, {steps.waiting_s / all_s:.0%} waiting for the others"
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 page, 2 pages."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= MEGABYTE / 10 else f"{size / 1e3:,.1f} kB"


def _main_failure(report: Report) -> str:
    return max(report.failures, key=lambda kind: report.failures[kind], default="")


def _whereto(directory: Path) -> str:
    """The last redirect that was stored, for a person."""
    from gcs.ports.records.reading import rows  # hardly any crawl needs it

    found = [(url, to) for url, to in rows(directory, ("url", "final_url")) if to != url]
    return f" ({found[-1][0]} leads to {found[-1][1]})" if found else ""


def _failures(report: Report) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in report.failures.items())
