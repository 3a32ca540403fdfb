"""Downloads, and archived pages: opened by a ticket, a path that nobody can guess and that is good for some minutes.

A browser sends no token with a link, so the page asks for a ticket (with its token) and opens that. What is archived is
shown as `archived_pages` allows; everything else is sent as a file to be saved.

Invariant: a ticket opens what was asked for, of a page also what that needs, and nothing else; no name that a caller
gives becomes a path.
"""

import asyncio
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import unquote

import msgspec
from aiohttp import web

from gcs.core.helpers.access import Role
from gcs.core.page.spreadsheet import harmless
from gcs.core.page.values import PageRecord
from gcs.core.url.canonical import UrlRules
from gcs.errors import CodecError, GcsError, StoreError, UsageError
from gcs.events import Events
from gcs.ports.catalogue import Catalogue
from gcs.ports.records import reading
from gcs.ports.records.page import Page
from gcs.ports.records.wacz import write_wacz
from gcs.ports.records.warc_reading import raw_record
from gcs.ports.tables import TABLES, table_rows
from gcs.roles.station.browse import found
from gcs.roles.station.browse.archived_pages import ArchiveView
from gcs.roles.station.browse.crawl_calls import settings_of
from gcs.roles.station.browse.page_calls import reader_of, record_of
from gcs.roles.station.http.auth import public
from gcs.roles.station.http.endpoint import CrawlCall, Endpoint
from gcs.roles.station.http.problems import NotHereError, problem
from gcs.version import __version__

events = Events("station")
#: seconds for which a ticket is good, tickets at a time, and bytes that are sent at once
TICKET_S, MOST_TICKETS, CHUNK_BYTES = 300.0, 1_000, 1 << 18
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class _Opened:
    """What a ticket opens."""

    call: CrawlCall
    wanted: found.DownloadWanted
    name: str
    until: float


class Downloads:
    """The tickets of one station. Filled by `POST tickets`; emptied by age."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tickets: dict[str, _Opened] = {}

    def endpoints(self) -> list[Endpoint]:
        wanted = found.DownloadWanted
        return [
            Endpoint("GET", "downloads", "What can be downloaded", found.DownloadList, _downloads),
            Endpoint(
                *("POST", "tickets", "A path for a download, or for an archived page", found.Ticket, self._ticket),
                *(wanted, True, Role.VIEW, True),
            ),
        ]

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/ticket/{ticket}/{name}", self._serve, allow_head=False),
            web.get(r"/needs/{ticket}/{level:\d}", self._serve_needed, allow_head=False),
        ]

    async def _ticket(self, call: CrawlCall, wanted: found.DownloadWanted) -> found.Ticket:
        name = await reader_of(call).ask(lambda catalogue, _: _name_of(call, catalogue, wanted))
        now = self._clock()
        self._tickets = {key: each for key, each in self._tickets.items() if each.until > now}
        if len(self._tickets) >= MOST_TICKETS:
            raise UsageError("too many downloads at once: try again in some minutes")
        ticket = secrets.token_urlsafe(24)
        self._tickets[ticket] = _Opened(call, wanted, name, now + TICKET_S)
        return found.Ticket(f"/ticket/{ticket}/{name}", name)

    @public
    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if (opened := self._opened(request)) is None:
            return problem(404, "this link is too old: make another one")
        try:
            return await self._answer(request, opened)
        except (StoreError, CodecError) as error:
            events.warning("archive-unread", reason=error)
            return problem(404, "its WARC record is not here any more, or is damaged: see gcs verify")

    async def _answer(self, request: web.Request, opened: _Opened) -> web.StreamResponse:
        reader, query = reader_of(opened.call), found.OneQuery(opened.wanted.name or "?", opened.wanted.session)
        if opened.wanted.what == "archived":
            body, media = await reader.ask(lambda catalogue, _: _page_bytes(reader.place, record_of(catalogue, query)))
            return _view(request, opened).page(query.url, body, media) or _saved(body, opened.name)
        if opened.wanted.what in ("body", "record"):
            read = raw_record if opened.wanted.what == "record" else lambda *at: _page_bytes(*at)[0]
            return _saved(
                await reader.ask(lambda catalogue, _: read(reader.place, record_of(catalogue, query))), opened.name
            )
        return await _stream(request, reader.place, opened)

    @public
    async def _serve_needed(self, request: web.Request) -> web.StreamResponse:
        opened = self._opened(request)
        if opened is None or opened.wanted.what != "archived":
            return problem(404, "this link is too old: make another one")
        reader, view, url = reader_of(opened.call), _view(request, opened), unquote(request.rel_url.raw_query_string)
        return await reader.ask(lambda catalogue, _: view.needed(catalogue, reader.place, url))

    def _opened(self, request: web.Request) -> "_Opened | None":
        opened = self._tickets.get(request.match_info["ticket"])
        return opened if opened and opened.until >= self._clock() else None


def _name_of(call: CrawlCall, catalogue: Catalogue, wanted: found.DownloadWanted) -> str:
    """What the file is called; UsageError if there is no such thing."""
    crawl = _NO_NAME.sub("-", call.crawl.poller.board.crawl or call.crawl.id).strip("-") or "crawl"
    match wanted.what:
        case "wacz" | "jsonl":
            return f"{crawl}.{wanted.what}"
        case "csv":
            return f"{crawl}-pages.csv"
        case "links":
            return f"{crawl}-links.csv"
        case "warc":
            names = {download.name for download in _warcs(reader_of(call).place)}
            if wanted.name not in names:
                raise NotHereError("there is no such WARC file: see `downloads`")
            return wanted.name
    record = record_of(catalogue, found.OneQuery(wanted.name or "?", wanted.session))
    if not record.warc_file:
        raise NotHereError("there is no WARC record of this URL")
    page = _NO_NAME.sub("-", record.url.partition("://")[2])[:80].strip("-.") or "page"
    return f"{page}.warc.gz" if wanted.what == "record" else page


async def _downloads(call: CrawlCall, _: None) -> found.DownloadList:
    place = reader_of(call).place
    tables = [
        found.Download("wacz", "", 0, "All WARC files with index and list of pages in one file, for ReplayWeb.page"),
        found.Download("csv", "", 0, "A row for each page, for spreadsheets"),
        found.Download("jsonl", "", 0, "A line of JSON for each page, with its text and links"),
        found.Download("links", "", 0, "A row for each link: page, link, anchor"),
    ]
    return found.DownloadList([*tables, *await asyncio.to_thread(_warcs, place)])


def _warcs(place: Path | str) -> list[found.Download]:
    files = []
    for name, file in reading.warc_files(place):
        files.append(found.Download("warc", name, file.seek(0, 2), "WARC file"))
    return files


def _view(request: web.Request, opened: _Opened) -> ArchiveView:
    settings = settings_of(opened.call.crawl)
    path, level = f"/needs/{request.match_info['ticket']}", int(request.match_info.get("level", 0))
    return ArchiveView(request.host, path, level, opened.wanted.session, settings.urls if settings else UrlRules())


def _page_bytes(place: Path | str, record: PageRecord) -> tuple[bytes, str]:
    return Page(record, place).content, record.content_type


def _saved(body: bytes, name: str) -> web.Response:
    return web.Response(body=body, headers=_file_headers(name))


def _file_headers(name: str) -> dict[str, str]:
    return {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }


async def _stream(request: web.Request, place: Path | str, opened: _Opened) -> web.StreamResponse:
    response = web.StreamResponse(headers=_file_headers(opened.name))
    pieces = await asyncio.to_thread(_pieces, place, opened.wanted)
    await response.prepare(request)
    while piece := await asyncio.to_thread(next, pieces, b""):
        await response.write(piece)
    await response.write_eof()
    return response


def _pieces(place: Path | str, wanted: found.DownloadWanted) -> Iterator[bytes]:
    """What is sent, piece by piece; never an empty one before the end."""
    if wanted.what == "warc":
        return _warc_pieces(place, wanted.name)
    if wanted.what == "wacz":
        return _wacz_pieces(place)
    table = "links" if wanted.what == "links" else "pages"
    return _gathered(_jsonl(place) if wanted.what == "jsonl" else _csv(place, table))


def _warc_pieces(place: Path | str, wanted: str) -> Iterator[bytes]:
    for name, file in reading.warc_files(place):
        if name == wanted:
            yield from iter(partial(file.read, CHUNK_BYTES), b"")
            return


def _wacz_pieces(place: Path | str) -> Iterator[bytes]:
    with tempfile.TemporaryFile() as made:
        write_wacz(str(place), cast(BinaryIO, made), f"gcs/{__version__}", Path(str(place)).name)
        made.seek(0)
        yield from iter(lambda: made.read(CHUNK_BYTES), b"")


def _jsonl(place: Path | str) -> Iterator[bytes]:
    columns = list(TABLES["pages"].columns)
    for row in table_rows(place, "pages"):
        yield msgspec.json.encode(dict(zip(columns, row))) + b"\n"


def _csv(place: Path | str, table: str) -> Iterator[bytes]:
    columns = list(TABLES[table].columns)
    wanted = [name for name in columns if name not in ("text", "markdown", "thumbnail", "headers")]
    at = [columns.index(name) for name in wanted]
    yield ",".join(wanted).encode() + b"\r\n"
    for row in table_rows(place, table):
        yield ",".join(_cell(row[each]) for each in at).encode("utf-8", "replace") + b"\r\n"


def _cell(value: object) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = str(harmless(text)) if isinstance(value, str | list) else text
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if any(mark in text for mark in ',"\r\n') else text


def _gathered(lines: Iterator[bytes]) -> Iterator[bytes]:
    piece = bytearray()
    try:
        for line in lines:
            piece += line
            if len(piece) >= CHUNK_BYTES:
                yield bytes(piece)
                piece.clear()
    except GcsError as error:  # the answer has begun: what is sent tells that it is not whole
        piece += f"\n# not whole: {error}\n".encode()
    if piece:
        yield bytes(piece)
