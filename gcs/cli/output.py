"""What a crawl says at its end: for a person, or as JSON for a program."""

from pathlib import Path

import click
import msgspec

from gcs.cli.memory import write_whole
from gcs.cli.run import Outcome
from gcs.core.report import Report

EXIT_CODES = {"done": 0, "limit": 3, "stopped": 3, "failed": 1}


def save_report(report: Report, file: Path) -> None:
    """Write report.json in one step."""
    text = msgspec.json.format(msgspec.json.encode(report), indent=1)
    write_whole(file, text + b"\n", "give another place with --report FILE")


def finish(outcome: Outcome, directory: Path, as_json: bool) -> int:
    """Print the outcome and return the exit code."""
    if as_json:
        click.echo(msgspec.json.encode(outcome.report))
    else:
        click.echo(summary(outcome.report))
        click.echo(f"stored in {directory}/")
        if outcome.interrupted:
            click.echo(f"interrupted, nothing lost; to go on: gcs crawl -o {directory}")
        elif outcome.report.queued:
            click.echo(f"{outcome.report.queued:,} URLs are still queued; to go on: gcs crawl -o {directory}")
    return 130 if outcome.interrupted else EXIT_CODES[outcome.report.state]


def summary(report: Report) -> str:
    """The report in a few lines."""
    lines = [
        f"{report.state}: {report.pages:,} pages, {report.bytes / 1e6:,.1f} MB in {report.seconds:,.1f} s "
        f"({report.pages_per_s:,.0f} pages/s, {report.cpu_s:,.1f} s CPU, {report.peak_rss_mb:,.0f} MB memory)",
        f"known {report.known_urls:,} URLs, {report.queued:,} queued, {report.explored_fraction:.0%} explored; "
        f"{report.failed:,} failed, {report.denied_by_robots:,} denied by robots.txt, {report.redirects:,} redirects",
    ]
    if report.failures:
        lines.append("failed: " + ", ".join(f"{count:,} {kind}" for kind, count in report.failures.items()))
    return "\n".join(lines)
