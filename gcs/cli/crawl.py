"""`gcs crawl`: a whole crawl on this machine."""

import dataclasses
import ipaddress
import sys
from pathlib import Path
from typing import Any

import click

from gcs import events
from gcs.cli import assembly, options
from gcs.cli.output import finish, save_report
from gcs.cli.run import run_crawl
from gcs.core.urls import canonical, host
from gcs.errors import StoreError, UsageError
from gcs.settings import Settings


@click.command()
@click.argument("urls", nargs=-1, metavar="[URL]…")
@click.option("--seeds", "seeds_file", metavar="FILE", help="More seeds, one URL a line; - for standard input.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, metavar="DIR",
    help="Directory of the crawl. Run again on it, the crawl resumes.",
)  # fmt: skip
@options.setting_options
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE", help="Where the report goes. [DIR/report.json]"
)
@click.option("--log", "log_level", default="warning", show_default=True, help="debug, info, warning or error.")
@click.option("--log-json", is_flag=True, help="Log one JSON object a line.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON; no progress.")
def crawl(
    urls: tuple[str, ...],
    seeds_file: str | None,
    output: Path,
    report: Path | None,
    log_level: str,
    log_json: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Crawl from seeds on this machine; run again on the same DIR to resume."""
    events.set_up(log_level, log_json)
    settings = options.read(flags)
    seeds = read_seeds(urls, seeds_file, settings)
    resumes = (output / "state").exists()
    if not seeds and not resumes:
        raise UsageError("no seeds: give URLs, or a file of them with --seeds FILE")
    seeds = remember_seeds(output, seeds)
    settings = ask_contact(settings, seeds)
    outcome = run_crawl(
        lambda: assembly.gatherer(output, "g0", settings, seeds), seeds, crawl=settings.crawl.name, progress=not as_json
    )
    save_report(outcome.report, report or output / "report.json")
    return finish(outcome, output, as_json)


def read_seeds(urls: tuple[str, ...], file: str | None, settings: Settings) -> list[str]:
    """The canonical seeds, each once; a line that is no http(s) URL is an error that names it."""
    found: dict[str, None] = {}
    for place, text in [*(("command line", url) for url in urls), *_lines(file)]:
        url = canonical(text if "://" in text else f"http://{text}", settings.urls)
        if url is None:
            raise UsageError(f"{place}: '{text}' is not an http or https URL")
        found[url] = None
    return list(found)


def remember_seeds(directory: Path, seeds: list[str]) -> list[str]:
    """All seeds that this crawl was ever given: the scope of a resumed crawl is that of the whole."""
    file = directory / "state" / "seeds.txt"
    try:
        known = file.read_text().splitlines() if file.exists() else []
        everything = list(dict.fromkeys([*known, *seeds]))
        if everything != known:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"{seed}\n" for seed in everything))
    except OSError as error:
        raise StoreError(f"{directory}: cannot write here ({error.strerror}); choose another -o DIR") from None
    return everything


def ask_contact(settings: Settings, seeds: list[str]) -> Settings:
    """A crawl of public sites says who answers for it; a crawl of our own machines need not."""
    if settings.crawl.contact or settings.fetch.user_agent or all(map(_is_own, seeds)):
        return settings
    if not sys.stdin.isatty():
        raise UsageError(
            "public sites must be able to complain: give --contact you@example.org (or the page of your crawler)"
        )
    contact = click.prompt("Who may sites complain to? Your e-mail address or web page", err=True)
    return dataclasses.replace(settings, crawl=dataclasses.replace(settings.crawl, contact=contact))


def _is_own(url: str) -> bool:
    name = host(url).strip("[]")
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        return name == "localhost" or name.endswith((".localhost", ".test", ".internal"))


def _lines(file: str | None) -> list[tuple[str, str]]:
    if file is None:
        return []
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
    except OSError as error:
        raise UsageError(f"{file}: cannot read the seeds ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: the seeds are not UTF-8 text, one URL a line") from None
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(f"{file}:{number}", line) for number, line in lines if line and not line.startswith("#")]
