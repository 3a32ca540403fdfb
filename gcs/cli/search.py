"""`gcs search`: finds pages of crawls, by their index or, where there is none, by a look at all of them."""

import os
import re
from pathlib import Path

import click
import msgspec

from gcs.app.crawl_dir import running_gatherers
from gcs.app.say import say
from gcs.core.search.query import parse
from gcs.core.search.results import MOST_RESULTS, Asked, SearchResults
from gcs.errors import UsageError
from gcs.ports.search.find_pages import IndexView, find_pages

#: a word that must not be there: click would take its letters for options
_WITHOUT = re.compile(r"-(?!-|h$|n\d*$).+", re.DOTALL)


class Words(click.Command):
    """A command to which -word is a word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move such words behind all options."""
        if "--" not in args:
            args = [*(arg for arg in args if not _WITHOUT.match(arg)), "--", *filter(_WITHOUT.match, args)]
        return super().parse_args(ctx, args)


@click.command(cls=Words)
@click.argument("words", nargs=-1, required=True, metavar="DIR WORD…")
@click.option(
    "-n", "--most", type=click.IntRange(1, MOST_RESULTS), default=10, show_default=True, help="Pages to show."
)
@click.option("--skip", type=click.IntRange(0, MOST_RESULTS), default=0, help="Leave out so many of the best.")
@click.option("--also", multiple=True, metavar="DIR", help="Ask this crawl, too; can be given several times.")
@click.option("--all", "unfolded", is_flag=True, help="Show pages that are nearly the same one by one.")
@click.option("--scan", is_flag=True, help="Look at all records, though there is an index.")
@click.option("--space", "url", metavar="URL", help="In place of DIR: ask all indexes of the team at this whiteboard.")
@click.option("--team", is_flag=True, help="The same, at the whiteboard of the environment variable GCS_SPACE.")
@click.option("--crawl", metavar="NAME", help="Name of the crawl there. [the only one]")
@click.option("--json", "as_json", is_flag=True, help="Print the pages as JSON.")
def search(
    words: tuple[str, ...],
    most: int,
    skip: int,
    also: tuple[str, ...],
    unfolded: bool,
    scan: bool,
    url: str | None,
    team: bool,
    crawl: str | None,
    as_json: bool,
) -> int:
    """Find pages of the crawl in DIR (a directory, an index or s3://…), as they were found last.

    "two words" must stand together (quote them for the shell too), -word must not be there, a OR b is one of both,
    crawl* begins a word. title:word, site:example.org, lang:en, type:pdf, date:2024-05..2025, depth:<=2.
    With --summary links there are no texts to find anything in.
    """
    if team and not url and not (url := os.environ.get("GCS_SPACE")):
        raise UsageError("--team: the environment variable GCS_SPACE names no whiteboard; give it with --space URL")
    place, query = ("", " ".join(words)) if url else (words[0], " ".join(words[1:]))
    asked = Asked(parse(query), most, skip, fold=not unfolded)
    views = [] if url else [IndexView(each, scan) for each in (place, *also)]
    if url:
        from gcs.app.find_crawl import CrawlAddress, visit  # the whiteboard's client is slow to load
        from gcs.ports.search.team_search import ask_team

        found = visit(CrawlAddress(Path(), url, crawl), lambda space: ask_team(space, asked, query))
    else:
        found = find_pages(asked, views)
    if as_json:
        say(msgspec.json.encode(found))
        return 0
    _show(found)
    for view in views:
        if view.is_behind() and not running_gatherers(Path(view.place)):
            say(f"{view.place} holds newer pages than its index: gcs index {view.place}", err=True)
    return 0


def _show(found: SearchResults) -> None:
    for hit in found.pages:
        say(hit.title or "(no title)", bold=True)
        say(f"  {hit.url}\n  {hit.excerpt}{f'  (and {hit.similar:,} nearly the same)' if hit.similar else ''}")
    shown = len(found.pages)
    say(f"{found.found:,} pages found" + (f", the best {shown} shown" if shown < found.found else ""))
    if found.missing:
        say(f"no answer from {', '.join(found.missing)}: their pages are missing", err=True)
    for name, values in found.facets.items():
        if len(values) > 1:
            say(f"  {name}: " + ", ".join(f"{each.value} {each.pages:,}" for each in values[:5]))
