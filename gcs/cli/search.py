"""`gcs search`: finds pages of a crawl by their words. Reads the summaries once; there is no index to keep."""

import re
from collections.abc import Iterator

import click
import msgspec

from gcs.app.say import say
from gcs.core.page.search import Query, Search
from gcs.core.url.sortkey import host_name, host_of_key, sort_key
from gcs.ports.records.reading import latest

FIELDS = ("url", "title", "summary", "text", "fields")
#: a word that must not be there: click would take its letters for options
_WITHOUT = re.compile(r"-(?!-|h$|n\d*$).+", re.DOTALL)


def _values(value: object) -> Iterator[str]:
    """What a plug-in has added, without names and structure."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _values(each)
    elif value is not None:
        yield str(value)


class Words(click.Command):
    """A command to which -word is a word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move such words behind all options."""
        if "--" not in args:
            args = [*(arg for arg in args if not _WITHOUT.match(arg)), "--", *filter(_WITHOUT.match, args)]
        return super().parse_args(ctx, args)


@click.command(cls=Words)
@click.argument("place", metavar="DIR")
@click.argument("words", nargs=-1, required=True, metavar="WORD…")
@click.option("-n", "--most", type=click.IntRange(min=1), default=10, show_default=True, help="Pages to show.")
@click.option("--json", "as_json", is_flag=True, help="Print the pages as JSON.")
def search(place: str, words: tuple[str, ...], most: int, as_json: bool) -> int:
    """Find pages of the crawl in DIR (a directory or s3://…), as they were found last, that have all words.

    "two words" must stand together (quote them for the shell too), -word must not be there, site:HOST is one site.
    With --summary links there are no texts to find anything in.
    """
    searching = Search(Query.parse(" ".join(words)))
    for url, title, summary, text, fields in latest(place, FIELDS):
        words_of_fields = " ".join(_values(msgspec.json.decode(fields))) if fields else ""
        searching.add(
            url, host_name(host_of_key(sort_key(url))), title, f"{text or summary}\n{words_of_fields}".rstrip()
        )
    hits = searching.best(most)
    if as_json:
        say(msgspec.json.encode({"found": searching.found, "pages": hits}))
        return 0
    for hit in hits:
        say(hit.title or "(no title)", bold=True)
        say(f"  {hit.url}\n  {hit.excerpt}")
    say(f"{searching.found:,} pages found" + (f", the best {len(hits)} shown" if len(hits) < searching.found else ""))
    return 0
