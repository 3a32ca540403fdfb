"""`gcs plan`: plans the next session from the graph of the last one, and says what each choice would cost."""

import math
import time
from pathlib import Path

import click
import msgspec

from gcs.app import crawl_dir
from gcs.app.coordination import write_blueprint
from gcs.app.crawl_dir import PredictedSuperstep
from gcs.app.say import say
from gcs.app.terminal import columns
from gcs.core.ordering.superstep import predict, replay_of
from gcs.core.plan.blueprint import MODELS, BlueprintRequest, CutSites, Forecast, draw, forecast
from gcs.core.plan.team_settings import TeamSettings
from gcs.errors import UsageError
from gcs.ports.records.crawl_graph import read_graph

#: models that are compared, besides the chosen one
COMPARED = ("superpages", "metis-site", "metis-page", "site-hash", "url-hash")
#: links from which on metis-page takes minutes and gigabytes, and is compared only when asked for
MANY_LINKS = 5_000_000


class Planned(msgspec.Struct, frozen=True):
    """What --json prints."""

    session: int
    pages: int
    hosts: int
    links: int
    model: str
    file: str
    seconds: float
    choices: list[Forecast]
    superstep: PredictedSuperstep


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), default=Path("crawl"), metavar="[DIR]")
@click.option("-k", "parts", type=click.IntRange(min=1), required=True, metavar="K", help="Gatherers to plan for.")
@click.option("--model", type=click.Choice(MODELS), default="metis-site", show_default=True, help="Who crawls what.")
@click.option("--compare", metavar="A,B", help="Models in the table; none for none. [all that are quick]")
@click.option("--tolerance", type=float, default=0.05, show_default=True, help="Imbalance that a part may have.")
@click.option(
    "--hot-pages", type=click.IntRange(min=0), default=TeamSettings().hot_pages, show_default=True, metavar="N",
    help="Pages that most others name: everybody is told of them, nobody posts them, and the rest is partitioned.",
)  # fmt: skip
@click.option(
    "--unlisted", type=click.Choice(["tree", "finder"]), default="tree", show_default=True,
    help="Pages (metis-page) or hosts that are new: to the owner of their neighbours, or to whoever finds them.",
)  # fmt: skip
@click.option(
    "--cut-sites", type=click.Choice(["never", "needed", "always"]), default="needed", show_default=True,
    help="Whether metis-site cuts sites: never; where whole ones cannot be balanced, first those that outweigh a part;"
    " or all large ones.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Where the plan goes. [DIR, for --next]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def plan(
    directory: Path,
    parts: int,
    model: str,
    compare: str | None,
    tolerance: float,
    hot_pages: int,
    unlisted: str,
    cut_sites: CutSites,
    output: Path | None,
    as_json: bool,
) -> None:
    """Plan the next session of the crawl in DIR; gcs crawl --next -n K takes the plan."""
    started_at = time.monotonic()
    if not 0 <= tolerance < math.inf:
        raise UsageError(f"--tolerance {tolerance:g} is no imbalance: give a share of a part, such as 0.05")
    named = _named(compare)
    if output:
        hot_pages = 0  # who is given a plan by --plan may never have heard of them, and must name them
    data = read_graph(directory)
    request = BlueprintRequest(model, parts, tolerance, hot_pages, unlisted == "finder", cut_sites=cut_sites)
    blueprint = draw(data, request)
    number = crawl_dir.current_session(directory) + 1
    file = output or crawl_dir.plan_file(directory, number)
    write_blueprint(file, blueprint, is_named=output is not None)
    many = len(data.session.sources) > MANY_LINKS
    quick = [name for name in COMPARED if not (many and name == "metis-page")]
    compared = quick if named is None else named
    others = [BlueprintRequest(other, parts, tolerance, hot_pages) for other in compared if other != model]
    choices = [forecast(data, blueprint), *(forecast(data, draw(data, other)) for other in others)]
    session = data.session
    step = predict(replay_of(session.sources, session.targets, blueprint.owners_of(data)))
    predicted = PredictedSuperstep(parts, step.pages, step.messages, step.error)
    crawl_dir.write_prediction(directory, predicted)
    seconds = round(time.monotonic() - started_at, 2)
    planned = Planned(
        number, session.pages, data.hosts, len(session.sources), model, str(file), seconds, choices, predicted
    )
    use = f"gcs crawl --next -n {parts} -o {directory}" + (f" --plan {output}" if output else "")
    say(msgspec.json.encode(planned) if as_json else _table(planned, use))


def _named(names: str | None) -> list[str] | None:
    """The models that the user wants to see; None where that is left to us."""
    if names is None:
        return None
    found = [] if names == "none" else [name.strip() for name in names.split(",")]
    for name in found:
        if name not in MODELS:
            raise UsageError(f"--compare: no model is called {name!r}; there are {', '.join(MODELS)}, or none")
    return found


def _table(planned: Planned, use: str) -> str:
    head = ("", "superpages", "imbalance: pages", "bytes", "URLs exchanged", "KB", "URLs/page", "shared hosts")
    rows = [
        (
            ("* " if row.model == planned.model else "  ") + row.model,
            f"{row.superpages:,}",
            f"{row.imbalance_pages:.1%}",
            f"{row.imbalance_bytes:.1%}",
            f"{row.exchanged_urls:,}",
            f"{row.exchanged_bytes / 1000:,.1f}",
            f"{row.urls_per_page:.3f}",
            f"{row.shared_hosts:,}",
        )
        for row in planned.choices
    ]
    k, step = planned.choices[0].parts, planned.superstep
    return "\n".join(
        [
            f"{planned.pages:,} pages, {planned.links:,} links, hosts: {planned.hosts:,}; "
            f"session {planned.session} for {k} gatherers ({planned.seconds:.1f} s)",
            *columns([head, *rows], left=1),
            f"superstep: {step.pages:,} pages, or {step.urls:,} URLs for one gatherer ({step.error:.1%} come late)",
            f"* is the plan, in {planned.file}; {use} takes it",
        ]
    )
