"""Sitemaps, feeds and HTTP dates decide what goes first in the next session, as far as they proved true."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gcs.app import assembly
from gcs.core.page.values import PageRecord
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.ports.records.reading import read_records
from gcs.roles.gatherer import GathererState
from gcs.roles.gatherer.record import recrawl
from gcs.roles.gatherer.record.dated_pages import TrustBook
from gcs.settings import load
from tests.roles.gatherer.strange_site import StrangeSite, html, strange_site

#: one page at a time, without a delay
QUICK = {
    "fetch.allow_private": True,
    "politeness.delay_s": 0.0,
    "politeness.host_connections": 1,
    "summary.depth": "links",
    "frontier.fsync": False,
}
PAGES = [f"/p{number}" for number in range(12)]
#: later than any copy, in every time zone
NEW = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}"
OLD = "2001-02-03"
HOST = "127.0.0.1"


def sitemap(origin: str, dates: dict[str, str]) -> Any:
    entries = "".join(f"<url><loc>{origin}{path}</loc><lastmod>{date}</lastmod></url>" for path, date in dates.items())
    return 200, {"Content-Type": "text/xml"}, f"<urlset>{entries}</urlset>".encode()


def feed(origin: str, dates: dict[str, str]) -> Any:
    entries = ""
    for path, date in dates.items():
        at = f"{datetime.fromisoformat(date):%a, %d %b %Y %H:%M:%S} GMT"
        entries += f"<item><link>{origin}{path}</link><pubDate>{at}</pubDate></item>"
    return 200, {"Content-Type": "application/rss+xml"}, f"<rss><channel>{entries}</channel></rss>".encode()


async def crawl(directory: Path, site: StrangeSite, session: int, **changes: Any) -> list[str]:
    """The paths that were asked for, in their order."""
    settings = load(None, {}, QUICK | {key.replace("__", "."): value for key, value in changes.items()})
    gatherer = assembly.gatherer(directory, "g0", settings, [f"{site.origin}/"])
    site.log.clear()
    ended = await gatherer.run([f"{site.origin}/"], session)
    assert ended is (GathererState.LIMIT if changes else GathererState.DONE)
    return [path for path, _ in site.log]


def trust_of(directory: Path) -> Any:
    frontier = Frontier(directory / "state" / "g0" / "frontier", FrontierSettings())
    try:
        return TrustBook(frontier.note, frontier.set_note).of(HOST)
    finally:
        frontier.close()


def a_site(**answers: Any) -> dict[str, Any]:
    return {"/": html(*PAGES)} | {path: html(head=f"<!-- {path} -->") for path in PAGES} | answers


def dated(**newer: str) -> dict[str, str]:
    return dict.fromkeys(PAGES, OLD) | {f"/{name}": date for name, date in newer.items()}


@pytest.mark.parametrize("make", [sitemap, feed])
async def test_what_a_sitemap_or_feed_calls_changed_goes_first_and_the_rest_waits(tmp_path: Path, make: Any) -> None:
    async with strange_site(a_site()) as site:
        site.answers["/robots.txt"] = (200, {}, f"Sitemap: {site.origin}/list.xml".encode())
        site.answers["/list.xml"] = make(site.origin, dated())
        await crawl(tmp_path, site, 1)
        changed = {"p9": NEW, "p4": NEW}
        site.answers["/list.xml"] = make(site.origin, dated(**changed))
        for path in ("/p9", "/p4"):
            site.answers[path] = html(head="another")
        second = await crawl(tmp_path, site, 2, crawl__max_pages=5)
        at = second.index("/list.xml")
        assert set(second[at + 1 : at + 3]) == {"/p4", "/p9"}, second
        assert len([path for path in second if path in PAGES]) < len(PAGES), "the others wait"
        records = [record for record in read_records(tmp_path) if record.session == 2]
        [listed] = [record for record in records if record.url.endswith("/list.xml")]
        said = dict(zip(listed.outlinks, listed.dates))
        assert said[f"{site.origin}/p9"].startswith(NEW)
        # the third session asks for all that waited; nothing is ever left out
        third = await crawl(tmp_path, site, 3)
        assert {path for path in third if path in PAGES} == set(PAGES)


async def test_site_that_lies_about_its_dates_is_not_believed_for_long(tmp_path: Path) -> None:
    """It calls what rests changed, and what changes old; soon the pages go as their own history says."""
    async with strange_site(a_site()) as site:
        lies = dated(**{path[1:]: NEW for path in PAGES[:6]})
        site.answers["/robots.txt"] = (200, {}, f"Sitemap: {site.origin}/list.xml".encode())
        site.answers["/list.xml"] = sitemap(site.origin, dated())
        await crawl(tmp_path, site, 1)
        for session in range(2, 5):
            site.answers["/list.xml"] = sitemap(site.origin, lies)
            for path in PAGES[6:]:
                site.answers[path] = html(head=f"<!-- {session} -->")
            await crawl(tmp_path, site, session)
        trust = trust_of(tmp_path)
        assert trust.listed_change.belief < 0.1 and trust.listed_rest.belief < 0.1
        for path in PAGES[6:]:
            site.answers[path] = html(head="<!-- at last -->")
        last = await crawl(tmp_path, site, 5)
        asked = [path for path in last[last.index("/list.xml") :] if path in PAGES]
        assert set(asked[:6]) == set(PAGES[6:]), last


async def test_true_dates_are_believed_more_with_each_session(tmp_path: Path) -> None:
    async with strange_site(a_site()) as site:
        site.answers["/robots.txt"] = (200, {}, f"Sitemap: {site.origin}/list.xml".encode())
        site.answers["/list.xml"] = sitemap(site.origin, dated())
        await crawl(tmp_path, site, 1)
        for session in (2, 3):
            await crawl(tmp_path, site, session)
        trust = trust_of(tmp_path)
        assert trust.listed_rest.true == 2 * len(PAGES) and trust.listed_rest.false == 0


async def test_pages_that_were_modified_long_ago_are_asked_for_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(modified: datetime, body: str) -> Any:
        return html(head=f"<!-- {body} -->", Last_Modified=f"{modified:%a, %d %b %Y %H:%M:%S} GMT")

    now = datetime.now(UTC)
    async with strange_site(a_site()) as site:
        for number, path in enumerate(PAGES):
            age = timedelta(seconds=1) if number % 2 else timedelta(days=4_000)
            site.answers[path] = page(now - age, path)
        await crawl(tmp_path, site, 1)
        records: list[PageRecord] = [record for record in read_records(tmp_path) if record.last_modified]
        assert len(records) == len(PAGES)
        tomorrow = now + timedelta(days=1)
        monkeypatch.setattr(recrawl, "time", SimpleNamespace(time=tomorrow.timestamp))
        second = await crawl(tmp_path, site, 2)
    asked = [path for path in second if path in PAGES]
    young = {path for number, path in enumerate(PAGES) if number % 2}
    assert set(asked[:6]) == young, asked
