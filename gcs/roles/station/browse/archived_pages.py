"""Archived pages, shown as they looked: what they need comes from the archive, too, and nothing from the network.

What is archived is hostile. It is a document of no origin (`sandbox`): no scripts, no forms, nothing of the station.
Its policy lets it load what lies under the path of its ticket, and that is what the crawl fetched because pages need it
(`--requisites`), or a picture, a style sheet or a font; frames in frames only so deep. All of it is read from the WARC.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from gcs.core.page.values import URL_LENGTH, PageRecord
from gcs.core.url.canonical import UrlRules
from gcs.core.url.join import Joiner
from gcs.errors import GcsError
from gcs.ports.catalogue import Catalogue
from gcs.ports.records.page import Page
from gcs.ports.summarise.archived_markup import ArchivedMarkup
from gcs.roles.station.http.problems import problem

#: bytes of what is shown; frames in one another; redirects to what a page needs
MOST_BYTES, MOST_LEVELS, MOST_STEPS = 32 << 20, 3, 5
#: media types that a browser shows in a sandbox; anything else is saved
_SHOWN = re.compile(r"text/(html|plain|xml)|application/(xhtml\+xml|xml|json)|image/(png|jpeg|gif|webp)")
#: and those that a page may need, besides frames
_NEEDED = re.compile(r"text/css|image/[a-z0-9.+-]{1,40}|font/[a-z0-9.+-]{1,40}|application/(x-)?font-[a-z0-9.+-]{1,40}")
_CHARSET = re.compile(r"charset=\"?([A-Za-z0-9_:.-]{1,40})")
#: a host and port, as a policy can name them: no IPv6 address
_NAMED = re.compile(r"[A-Za-z0-9.-]+(:\d+)?")
#: of a record, what is needed to serve its body
_FIELDS = (
    *("url", "parent", "depth", "status", "fetched_at", "gatherer", "content_type", "digest", "headers"),
    *("warc_file", "warc_offset", "warc_bytes", "failure", "session", "requisite"),
)


@dataclass(frozen=True, slots=True)
class ArchiveView:
    """How one document is shown: a page, or a frame in it."""

    #: of the station, as the browser calls it
    host: str
    #: under which this ticket opens what the page needs
    path: str
    #: frames around it
    level: int
    session: int
    rules: UrlRules

    def page(self, url: str, body: bytes, media: str) -> web.Response | None:
        """A page as it was stored; None if a browser should not show it."""
        kind = _plain(media)
        if not _SHOWN.fullmatch(kind) or len(body) > MOST_BYTES:
            return None
        if kind == "text/html":
            body, charset = self._markup(url).page(body, media).encode("utf-8", "replace"), "utf-8"
        else:
            found = _CHARSET.search(media[:500])
            charset = found[1] if found and kind.startswith("text/") else ""
        return web.Response(body=body, headers=self._headers(kind + (f"; charset={charset}" if charset else "")))

    def needed(self, catalogue: Catalogue, place: Path | str, url: str) -> web.Response:
        """What a page needs, as it was when the page was stored, or else as it is known."""
        try:
            record = self._found(catalogue, url) if 0 < len(url) <= URL_LENGTH else None
            body = Page(record, place).content if record else b""
        except GcsError:  # its WARC may have gone
            record = None
        if record is None or len(body) > MOST_BYTES:
            return problem(404, "this is not in the archive, or no page needs it")
        media = record.content_type
        kind = _plain(media)
        if kind == "text/css":
            body, media = (
                self._markup(record.url).style(body, media).encode("utf-8", "replace"),
                "text/css; charset=utf-8",
            )
        elif _SHOWN.fullmatch(kind) and self.level:
            if shown := self.page(record.url, body, media):
                return shown
        else:  # what a picture or a font is, its reader sees
            media = kind if _NEEDED.fullmatch(kind) else "application/octet-stream"
        return web.Response(body=body, headers=self._headers(media))

    def _found(self, catalogue: Catalogue, url: str) -> PageRecord | None:
        """The record at the end of the redirects; None if no page may need it."""
        for _ in range(MOST_STEPS):
            record = catalogue.record(url, self.session, _FIELDS) or catalogue.record(url, 0, _FIELDS)
            if record is None or not (record.requisite or _NEEDED.fullmatch(_plain(record.content_type))):
                return None
            if not 300 <= record.status < 400 or record.failure:
                return record if record.warc_file and not record.failure else None
            location = next((line[9:].strip() for line in record.headers if line[:9].lower() == "location:"), "")
            url = next(iter(Joiner(self.rules).join(record.url, (location,))), "") if location else ""
        return None

    def _markup(self, url: str) -> ArchivedMarkup:
        def place_of(needed: str, is_frame: bool) -> str:
            if is_frame and self.level >= MOST_LEVELS:
                return "about:blank"
            return f"{self.path}/{self.level + is_frame}?{quote(needed, safe='')}"

        return ArchivedMarkup(url, place_of, self.rules)

    def _headers(self, media: str) -> dict[str, str]:
        here = f"{self.host}{self.path}/" if _NAMED.fullmatch(self.host) else "'self'"
        policy = (
            f"sandbox; default-src 'none'; style-src 'unsafe-inline' data: {here}; img-src data: {here}; "
            f"font-src data: {here}; media-src data:; frame-src {here}; form-action 'none'; base-uri 'none'; "
        )
        headers = {"Content-Type": media, "Content-Security-Policy": policy}
        if self.level:  # the document around it has no origin that could be named
            headers["X-Frame-Options"] = "ALLOWALL"
        else:
            headers["Content-Security-Policy"] += "frame-ancestors 'none'"
        # for that document, whatever it loads is of another origin
        return headers | {"Cross-Origin-Resource-Policy": "cross-origin", "Access-Control-Allow-Origin": "*"}


def _plain(media: str) -> str:
    return media.partition(";")[0].strip().lower()
