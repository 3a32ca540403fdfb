"""The calls about what was gathered: URLs with filters, one page with its versions, links into it."""

import asyncio
import contextlib
from typing import TypeVar

import msgspec

from gcs.core.page.text_diff import difference
from gcs.core.page.values import PageRecord
from gcs.errors import GcsError
from gcs.ports.catalogue import FILTERS, Catalogue, kind_of
from gcs.ports.records import reading
from gcs.ports.records.page import Page
from gcs.roles.station.browse import found
from gcs.roles.station.browse.crawl_reader import CrawlReader
from gcs.roles.station.http.endpoint import CrawlCall, Endpoint
from gcs.roles.station.http.problems import NotHereError

T = TypeVar("T")

#: values of a filter; links, requisites and characters of a page; lines that are compared, and characters of each
MOST_VALUES, MOST_LINKS, MOST_TEXT, MOST_LINES, LINE_CHARACTERS = 40, 1_000, 400_000, 20_000, 2_000
#: pages that link to a URL, and seconds that they are looked for
MOST_IN, IN_S = 200, 4.0
#: lines around a change that are shown
AROUND = 3
_FACETS = ("kind", "status", "type", "language", "change", "host", "failure", "session")


def page_endpoints() -> list[Endpoint]:
    return [
        Endpoint("GET", "urls", "What was gathered, with filters", found.FoundUrls, _urls, found.PagesQuery),
        Endpoint("GET", "facets", "The values of the filters", found.Facets, _facets),
        Endpoint("GET", "page", "One URL: text, links, headers, versions", found.OnePage, _page, found.OneQuery),
        Endpoint("GET", "page/links-in", "Pages that link to a URL", found.LinksIn, _links_in, found.OneQuery),
        Endpoint("GET", "page/diff", "How the text of a page has changed", found.TextDiff, _diff, found.DiffQuery),
    ]


def reader_of(call: CrawlCall) -> CrawlReader:
    """The reader of a crawl; UsageError if its records are not here."""
    if call.crawl.reader is None:
        raise NotHereError("the records of this crawl are not here: they are where its gatherers are")
    return call.crawl.reader


async def _urls(call: CrawlCall, query: found.PagesQuery) -> found.FoundUrls:
    chosen = {name: value for name in FILTERS if (value := getattr(query, name))}

    def read(catalogue: Catalogue, complete: bool) -> found.FoundUrls:
        total, rows = catalogue.find(chosen, query.text, query.order, query.offset, query.limit)
        return found.FoundUrls(total, rows, complete)

    return await reader_of(call).ask(read)


async def _facets(call: CrawlCall, _: None) -> found.Facets:
    def read(catalogue: Catalogue, _complete: bool) -> found.Facets:
        counts = {name: catalogue.facet(name, MOST_VALUES) for name in _FACETS}
        return found.Facets(
            {name: [found.FacetCount(str(value), urls) for value, urls in counts[name]] for name in counts}
        )

    return await reader_of(call).ask(read)


async def _page(call: CrawlCall, query: found.OneQuery) -> found.OnePage:
    reader = reader_of(call)

    def read(catalogue: Catalogue, _complete: bool) -> found.OnePage:
        return _shown(reader, catalogue, record_of(catalogue, query))

    return await reader.ask(read)


def record_of(catalogue: Catalogue, query: found.OneQuery) -> PageRecord:
    """The record that is asked for; NotHereError if there is none."""
    record = catalogue.record(query.url, query.session)
    if record is None:
        raise NotHereError("there is no record of this URL: see `urls`")
    return record


def _shown(reader: CrawlReader, catalogue: Catalogue, record: PageRecord) -> found.OnePage:
    page = Page(record, reader.place)
    markdown = ""
    with contextlib.suppress(GcsError):  # its WARC may have gone
        markdown = page.markdown
    links = [_link(record, at, url) for at, url in enumerate(record.outlinks[:MOST_LINKS])]
    known = catalogue.rows_of([link.url for link in links])
    links = [
        msgspec.structs.replace(link, kind=row.kind, status=row.status, title=row.title)
        if (row := known.get(link.url))
        else link
        for link in links
    ]
    metadata = {
        name: ", ".join(value) if isinstance(value, list) else str(value) for name, value in page.metadata.items()
    }
    sessions: dict[int, found.Version] = {}
    for place in catalogue.versions(record.url):
        told = sessions.get(place.session)
        sessions[place.session] = found.Version(place.session, place.at, place.tells or bool(told and told.tells))
    return found.OnePage(
        url=record.url,
        kind=kind_of(record.status, record.failure, record.source, record.requisite),
        status=record.status,
        failure=record.failure,
        title=record.title[:MOST_TEXT],
        description=record.description[:MOST_TEXT],
        content_type=record.content_type,
        language=record.language,
        change=record.change,
        depth=record.depth,
        parent=record.parent,
        final_url=record.final_url,
        session=record.session,
        at=record.fetched_at,
        bytes=record.bytes,
        digest=record.digest,
        gatherer=record.gatherer,
        helper=record.helper,
        truncated=record.truncated,
        noindex=record.noindex,
        shell=record.shell,
        text=record.text[:MOST_TEXT],
        text_cut=len(record.text) > MOST_TEXT,
        markdown=markdown[:MOST_TEXT],
        metadata=metadata,
        headers=record.headers[:200],
        links=links,
        link_count=len(record.outlinks),
        requisites=record.requisites[:MOST_LINKS],
        versions=sorted(sessions.values(), key=lambda version: version.session),
        warc_file=record.warc_file,
        warc_offset=record.warc_offset,
        warc_bytes=record.warc_bytes,
        thumbnail=record.thumbnail,
    )


def _link(record: PageRecord, at: int, url: str) -> found.OutLink:
    anchors, rels = record.anchors, record.rels
    return found.OutLink(url, anchors[at] if at < len(anchors) else "", rels[at] if at < len(rels) else "")


async def _links_in(call: CrawlCall, query: found.OneQuery) -> found.LinksIn:
    reader = reader_of(call)
    pages, complete = await asyncio.to_thread(reading.links_to, reader.place, query.url, IN_S, MOST_IN)

    def read(catalogue: Catalogue, _complete: bool) -> found.LinksIn:
        known = catalogue.rows_of(pages)
        return found.LinksIn([known[page] for page in pages if page in known], complete)

    return await reader.ask(read)


async def _diff(call: CrawlCall, query: found.DiffQuery) -> found.TextDiff:
    def read(catalogue: Catalogue, _complete: bool) -> found.TextDiff:
        older, newer = (
            record_of(catalogue, found.OneQuery(query.url, session)).text.splitlines()
            for session in (query.older, query.newer)
        )
        cut = max(len(older), len(newer)) > MOST_LINES
        lines = _around(
            [
                found.DiffLine(change.mark, change.line)
                for change in difference(
                    *([line[:LINE_CHARACTERS] for line in text[:MOST_LINES]] for text in (older, newer))
                )
            ]
        )
        return found.TextDiff(query.older, query.newer, lines, cut)

    return await reader_of(call).ask(read)


def _around(lines: list[found.DiffLine]) -> list[found.DiffLine]:
    """The changes, with some lines around each."""
    near = [False] * len(lines)
    for at, line in enumerate(lines):
        if line.mark != " ":
            near[max(at - AROUND, 0) : at + AROUND + 1] = [True] * (
                min(at + AROUND + 1, len(lines)) - max(at - AROUND, 0)
            )
    kept: list[found.DiffLine] = []
    for line, is_near in zip(lines, near):
        if is_near:
            kept.append(line)
        elif not kept or kept[-1].mark != "…":
            kept.append(found.DiffLine("…", ""))
    return kept
