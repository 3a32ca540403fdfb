"""`gcs duplicates`: pages of a crawl that are nearly the same."""

import click
import msgspec

from gcs.app.say import say
from gcs.ports.duplicates import METHODS, duplicate_report


@click.command()
@click.argument("place", metavar="DIR")
@click.option(
    "--by", "method", type=click.Choice(METHODS), default=METHODS[0], show_default=True,
    help="simhash: by the signatures that are stored; minhash: by the words of the texts (gcs-crawler[dedup]).",
)  # fmt: skip
@click.option("-n", "--most", type=click.IntRange(min=0), default=10, show_default=True, help="Groups to show.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def duplicates(place: str, method: str, most: int, as_json: bool) -> int:
    """Report the pages in DIR (a directory or s3://…) that are nearly the same, the largest groups first.

    gcs export --dedup leaves out all but the first of each group.
    """
    report = duplicate_report(place, method, most)
    if as_json:
        say(msgspec.json.encode(report))
        return 0
    for group in report.largest:
        say(f"{group.pages:,} pages: {group.title or '(no title)'}", bold=True)
        for url in (group.url, *group.others):
            say(f"  {url}")
        if group.pages > len(group.others) + 1:
            say(f"  and {group.pages - len(group.others) - 1:,} more")
    say(f"{report.pages:,} pages, {report.unique:,} without near-duplicates; {report.groups:,} groups")
    return 0
