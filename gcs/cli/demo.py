"""`gcs demo`: crawls the fake web that ships with the package, and compares the result with the truth."""

import tempfile
from pathlib import Path
from typing import Any

import click
import msgspec

from gcs.app.assembly import run_alone
from gcs.app.crawl_input import CrawlRun, read_settings, setting_options
from gcs.app.say import say
from gcs.app.terminal import EXIT_CODES, save_report, summary
from gcs.core.report.report import Report
from gcs.events import set_up_log
from gcs.fakeweb import FakeWebSpec, RequestLog, Survey, Web, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records

#: defaults for the demo's web: retries that do not make a person wait
DEFAULTS = {
    "crawl.name": "demo",
    "crawl.scope": "any",
    "politeness.retry_s": 0.2,
    "politeness.overload_s": 0.2,
    "fetch.allow_private": True,
    "traps.max_depth": 20,
}


class DemoVerdict(msgspec.Struct, frozen=True):
    """The crawl compared with the truth."""

    #: share of the reachable, allowed pages that were stored
    coverage: float
    missed: int
    #: records of pages that a correct crawl would not have
    unexpected: int
    #: pages stored more than once
    stored_twice: int
    #: requests that robots.txt forbids
    forbidden_requests: int
    #: hosts that saw two requests closer than their delay
    hurried_hosts: int


@click.command()
@click.option("--hosts", default=20, show_default=True, help="Hosts of the demo's web.")
@click.option("--pages", default=600, show_default=True, help="Pages of the demo's web.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Keep the crawl here. [thrown away]"
)
@setting_options
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON; no progress.")
def demo(hosts: int, pages: int, output: Path | None, as_json: bool, **flags: Any) -> int:
    """Crawl a small web that ships with GCS (served on loopback), and print the report."""
    set_up_log("error", as_json=False)
    spec = FakeWebSpec.demo(hosts=hosts, pages=pages)
    settings = read_settings(flags, DEFAULTS | {"politeness.delay_s": spec.delay_s})
    with tempfile.TemporaryDirectory(prefix="gcs-demo-") as scratch, FakeWebProcess(spec) as server:
        directory = output or Path(scratch)
        if not as_json:
            say(f"crawling {hosts} hosts on loopback, from {server.seeds[0]}", err=True)
        outcome = run_alone(CrawlRun(directory, settings, list(server.seeds)), progress=not as_json)
        report = msgspec.structs.replace(outcome.report, crawl="demo")  # --name is for the files
        save_report(report, directory / "report.json")
        verdict = judge(directory, server.web, survey(server.web), server.log)
    if as_json:
        say(msgspec.json.encode(msgspec.to_builtins(report) | msgspec.to_builtins(verdict)))
    else:
        say(summary(report))
        say(explain(report, verdict))
        if output:
            say(f"stored in {output}/")
    if outcome.interrupted:
        return 130
    return EXIT_CODES[report.state] if is_perfect(verdict) or report.state != "done" else 1


def judge(directory: Path, web: Web, truth: Survey, log: RequestLog) -> DemoVerdict:
    """Compare the stored and requested pages with those of the web."""
    stored = [record.url for record in read_records(directory) if record.is_page]
    pages = set(stored)
    unexpected = {url for url in pages - truth.pages - truth.cut_short().keys() if not web.plan(url).is_trap}
    hurried = 0
    for site in web.sites:
        seen = log.hosts.get(site.address)
        if seen and seen.min_gap_s is not None and seen.min_gap_s < web.delay_s(site):
            hurried += 1
    return DemoVerdict(
        coverage=len(pages & truth.pages) / len(truth.pages),
        missed=len(truth.pages - pages),
        unexpected=len(unexpected),
        stored_twice=len(stored) - len(pages),
        forbidden_requests=len(log.forbidden),
        hurried_hosts=hurried,
    )


def is_perfect(verdict: DemoVerdict) -> bool:
    """Whether the crawl fetched every page that it should, once, and nothing that it should not."""
    return verdict.coverage == 1.0 and not any(msgspec.structs.astuple(verdict)[1:])


def explain(report: Report, verdict: DemoVerdict) -> str:
    return (
        f"coverage {verdict.coverage:.1%} of the reachable, allowed pages, overlap {report.overlap:.0%}; "
        f"{verdict.forbidden_requests} requests that robots.txt forbids, {verdict.hurried_hosts} hosts asked too soon"
    )
