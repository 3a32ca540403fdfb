"""`gcs study`: the papers' experiments on a web graph of your own."""

import math
import os
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click
import msgspec

from gcs.app.crawl_dir import write_whole
from gcs.app.say import say
from gcs.app.study.crawl_costs import crawl_costs
from gcs.app.study.crawl_times import crawl_times
from gcs.app.study.study_results import (
    Result,
    ResultCache,
    described,
    page,
    result,
    shown_picture,
    table,
    verdicts,
    write,
)
from gcs.app.terminal import columns
from gcs.core.ordering import ORDERS
from gcs.core.partition import PARTITIONERS
from gcs.core.queues.queue_maker import QUEUES
from gcs.errors import UsageError
from gcs.ports.records import reading
from gcs.settings import notes
from gcs.sim import plots
from gcs.sim.engine.capacity import NEVER_0, Costs
from gcs.sim.engine.machines import MACHINES, Machine
from gcs.sim.graph.graph_files import from_crawl, has_upstream, is_graph, load
from gcs.sim.graph.synthetic import Shape, synthetic
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies import OWN, STUDIES, Rental, SeenCrawl, Setup, Study, StudyRequest, Tick, WebTimes
from gcs.sim.studies.study import ClaimVerdict

#: names that an option of `gcs study run` takes, where its type in `Setup` is only str
_CHOICES: Mapping[str, Sequence[str]] = {
    "partitioner": tuple(PARTITIONERS),
    "order": tuple(ORDERS),
    "queue": ("scan", *QUEUES),
}
#: what times are without an option, where a crawl does not say it
_USUAL_TIMES: Mapping[str, str] = {"cores": "those of this machine"}


#: study → the dataclass of the options that it alone has
_OWN_OPTIONS: Mapping[str, type] = {"run": Setup, "teams": WebTimes, "scale": Rental}


def own_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each field of `_OWN_OPTIONS`; `read_own` reads them."""
    for study, part in reversed(list(_OWN_OPTIONS.items())):
        types = typing.get_type_hints(part)
        for name, default, text in reversed(list(notes(part))):
            choices = _CHOICES.get(name) or typing.get_args(types[name])
            kinds = {int: click.IntRange(1 if default else 0), float: click.FloatRange(0), str: click.STRING}
            kind = click.Choice(choices) if choices else kinds[types[name]]
            usual = _USUAL_TIMES.get(name, f"that of the crawl, or {default}") if part is WebTimes else default
            help_text = f"For {study}: {text}.  [{usual}]"
            command = click.option(_flag(name), name, type=kind, default=None, metavar=None, help=help_text)(command)
    return command


def read_own(options: Mapping[str, object], study: str) -> dict[str, Any]:
    """The options that the user gave, of those that this study alone has."""
    said: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    for name, value in said.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{_flag(name)} is {value}: give a number")
    for owner, part in _OWN_OPTIONS.items():
        foreign = [name for name, _, _ in notes(part) if name in said and owner != study]
        if foreign:
            raise UsageError(f"{_flag(foreign[0])} is for gcs study {owner}: {study} does not look at it")
    return said


def _flag(name: str) -> str:
    return f"--{name.removesuffix('_s').replace('_', '-')}"


ALL = "all"
SYNTHETIC = "synthetic:"
_NAMES = "\n".join(f"{one.name:18} {one.title}" for one in (*STUDIES.values(), *OWN.values()))
HELP = f"""Repeat an experiment of the papers on a web graph.

A table (CSV), pictures (PNG and SVG; they need the extra gcs-crawler[studies]) and a text are written to DIR
[studies/GRAPH, and nothing with --json].

\b
NAME is one of these, or all (but {" and ".join(OWN)}):
{_NAMES}
"""


class Numbers(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """Whole numbers above 0, apart by commas."""

    name = "N,…"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        try:
            numbers = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            numbers = (0,)
        if min(numbers) < 1:
            self.fail(f"{value!r} is not a list of whole numbers above 0, like 8,16,64", param, ctx)
        return numbers


@click.command(help=HELP)
@click.argument("name", type=click.Choice([*STUDIES, *OWN, ALL]), metavar="NAME")
@click.option(
    "--graph", "place", default=f"{SYNTHETIC}200K", show_default=True, metavar="PLACE",
    help="A list of links (two page numbers or URLs a line, text or .gz), a folder with edges.txt.gz and maybe "
    "urls.txt.gz (line k: URL of page k) and pages.tsv.gz (site_id, bytes), a crawl's directory, or synthetic:PAGES.",
)  # fmt: skip
@click.option(
    "-k", "--gatherers", "ks", type=Numbers(), multiple=True, help="Numbers of gatherers, in place of the study's."
)
@click.option("--runs", type=click.IntRange(1), default=None, help="Repetitions that are averaged. [the study's own]")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of all random choices.")
@click.option("--upstream", is_flag=True, help="Read the links of edges_upstream.txt.gz too.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Where table, pictures and text go."
)
@click.option("--cache", type=click.Path(path_type=Path), metavar="DIR", help="Folder of cached graphs and results.")
@click.option(
    "--pictures", type=click.Choice(["png", "svg"]), multiple=True, default=("png", "svg"), show_default=True,
    help="Formats of the pictures.",
)  # fmt: skip
@click.option("--costs", type=click.Path(path_type=Path), metavar="FILE", help="For scale: measured costs, as JSON.")
@click.option(
    "--prices", type=click.Path(path_type=Path), metavar="FILE",
    help="For scale: kinds of machines and their prices, as TOML (docs/studies/prices.toml).",
)  # fmt: skip
@own_options
@click.option("--fresh", is_flag=True, help="Run again, even if the result is cached.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as one JSON object.")
def study(
    name: str,
    place: str,
    ks: tuple[tuple[int, ...], ...],
    runs: int | None,
    seed: int,
    upstream: bool,
    output: Path | None,
    cache: Path | None,
    pictures: tuple[str, ...],
    costs: Path | None,
    prices: Path | None,
    fresh: bool,
    as_json: bool,
    **own: object,
) -> int:
    cache = cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gcs"
    graph = _graph(place, upstream, cache / "graphs")
    said = read_own(own, name)
    request = StudyRequest(tuple(sorted({k for some in ks for k in some})), runs or 0, seed, _costs(costs))
    if name == "run":
        request = replace(request, setup=Setup(**said))
    elif name == "scale":
        rental = Rental(**said)
        if costs is None and _is_crawl(place):
            request = replace(request, costs=crawl_costs(Path(place), request.costs))
        request = replace(request, machine=_machine(prices, rental.machine), web_pages=rental.web_pages)
    elif name == "teams":
        times, seen = WebTimes(cores=os.cpu_count() or 1), SeenCrawl()
        if _is_crawl(place):
            times, seen = crawl_times(Path(place), times)
        request = replace(request, times=replace(times, **said), seen=seen)
    chosen = list(STUDIES.values()) if name == ALL else [{**STUDIES, **OWN}[name]]
    folder = output or (None if as_json else Path("studies") / graph.name)
    if not as_json:
        say(f"{described(graph)}\n")
    done: list[tuple[Result, str | None]] = []
    for one in _run(chosen, graph, request, ResultCache(cache / "results", fresh)):
        files = write(one, folder, pictures) if folder else []
        done.append((one, shown_picture(file.name for file in files)))
        if not as_json:
            _print(one)
            say(f"written: {', '.join(map(str, files))}\n")
    if folder and name == ALL:
        write_whole(folder / "README.md", page(done).encode(), "choose another -o DIR")
    if as_json:
        say(msgspec.json.encode(done[0][0].json() if name != ALL else _together([one for one, _ in done])))
    elif not plots.available():
        say("no pictures: matplotlib is not installed (pip install 'gcs-crawler[studies]')", err=True)
    return 0


def _graph(place: str, upstream: bool, cache: Path) -> WebGraph:
    graph = _read(place, upstream, cache)
    if not graph.pages:
        raise UsageError(f"{place}: no pages: it has no links, or is the directory of a crawl that has stored nothing")
    return graph


def _read(place: str, upstream: bool, cache: Path) -> WebGraph:
    folder = Path(place)
    if upstream and not has_upstream(folder):
        raise UsageError(f"{place}: there is no edges_upstream.txt.gz in it for --upstream")
    if place.startswith(SYNTHETIC):
        return synthetic(Shape(_count(place.removeprefix(SYNTHETIC))))
    if is_graph(folder):
        return load(folder, upstream, cache)
    if _is_crawl(place) or (folder / "summaries").is_dir() or reading.is_url(place):
        rows = reading.rows(place, ["url", "bytes", "outlinks"])
        return from_crawl(folder.resolve().name, ((url, size or 0, links or ()) for url, size, links in rows))
    raise UsageError(
        f"{place}: neither a graph (a list of links, or a folder with edges.txt.gz) nor the directory of a crawl"
    )


def _is_crawl(place: str) -> bool:
    """Whether this is the directory of a crawl, with the state of its gatherers."""
    return (Path(place) / "state").is_dir()


def _costs(file: Path | None) -> Costs:
    """What things cost: as measured by us, but for what the file says."""
    if file is None:
        return Costs()
    try:
        said = msgspec.json.decode(file.read_bytes(), type=dict[str, float])
        costs = replace(Costs(), **said)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from None
    except (msgspec.DecodeError, TypeError):
        names = ", ".join(field.name for field in fields(Costs))
        raise UsageError(f"{file}: write a JSON object of numbers, with some of these names: {names}") from None
    for name, value in said.items():
        if value < 0 or (value == 0 and name in NEVER_0):
            raise UsageError(f"{file}: {name} is {value:g}; it must be above 0")
    return costs


def _machine(file: Path | None, name: str) -> Machine:
    """A kind of machine, from the user's table or ours."""
    known = dict(MACHINES)
    if file is not None:
        try:
            known |= msgspec.toml.decode(file.read_bytes(), type=dict[str, Machine])
        except OSError as error:
            raise UsageError(f"{file}: cannot be read ({error.strerror})") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{file}: write a table of each kind, as in docs/studies/prices.toml ({error})") from None
    if name not in known:
        raise UsageError(
            f"--machine {name}: no such kind; choose one of {', '.join(known)}, or add it to --prices FILE"
        )
    found = known[name]
    if found.cores < 1 or found.mbit_s <= 0 or min(found.usd_per_hour, found.disk_gb, found.usd_per_tb) < 0:
        raise UsageError(f"{file}: {name}: cores and mbit_s must be above 0, and nothing below it")
    return found


def _count(text: str) -> int:
    """A number of pages, like 40000 or 40M."""
    digits, unit = (text[:-1], text[-1:].upper()) if text[-1:].upper() in ("K", "M") else (text, "")
    pages = int(digits) * {"K": 10**3, "M": 10**6, "": 1}[unit] if digits.isdecimal() else 0
    if not 10 <= pages < 2**31:
        raise UsageError(f"{SYNTHETIC}{text}: write a number of pages from 10 to 2,000M, like {SYNTHETIC}1M")
    return pages


def _run(studies: Sequence[Study], graph: WebGraph, request: StudyRequest, cache: ResultCache) -> Iterator[Result]:
    for one in studies:
        try:
            with _bar(one.name) as tick:
                done = result(one, graph, request, tick, cache)
        except UsageError as error:
            if len(studies) == 1:
                raise
            say(f"{one.name}: left out, {error}", err=True)
        else:  # its bar is gone: what is printed now has the line for itself
            yield done


@contextmanager
def _bar(name: str) -> Iterator[Tick]:
    """A progress bar where somebody watches."""
    if not sys.stderr.isatty():
        yield lambda _share, _what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[what]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(name, total=1.0, what="")
        yield lambda share, what: bars.update(task, completed=share, what=what)


def _together(done: Sequence[Result]) -> dict[str, object]:
    """All studies as one object: a row is a study."""
    return {
        "study": ALL,
        "graph": done[0].graph.name if done else "",
        "rows": [one.json() for one in done],
        "paper": [],
        "seconds": round(sum(one.seconds for one in done), 3),
    }


def _print(done: Result) -> None:
    say(done.study.title, bold=True)
    for line in columns(line.split(",") for line in table(done.rows).splitlines()[:40]):
        say(line)
    if len(done.rows) >= 40:
        say(f"… {len(done.rows):,} rows in all")
    for found, verdict in verdicts(done):
        words = {ClaimVerdict.AGREES: "agrees", ClaimVerdict.DIFFERS: "differs"}.get(verdict, str(verdict))
        say(f"- {found.claim}: paper {found.paper}; here {found.ours} [{words}]")
        if found.why and verdict is not ClaimVerdict.UNSEEN:
            say(f"  {found.why}")
    if advice := done.study.advice(done.rows):
        say(f"{advice[0].upper()}{advice[1:]}.", bold=True)
