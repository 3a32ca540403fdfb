"""A page as a program sees it: what its record says, and its bytes, which are read from the WARC when they are used."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from gcs.core.page.values import PageRecord
from gcs.errors import UsageError
from gcs.ports.records.warc_reading import Exchange, read_exchange
from gcs.ports.summarise.encoding import as_utf8
from gcs.ports.summarise.markup_guard import bounded

#: columns of the record that are the metadata of a page
_METADATA = ("description", "author", "published", "modified", "site_name", "page_type", "keywords")


class Page:
    """A page, or a URL that ended without one (`failure`).

    Nothing is kept in memory but the record. `content`, `headers` and `warc` are read from the crawl directory each
    time.
    """

    __slots__ = ("_keeper", "_place", "_record")

    def __init__(self, record: PageRecord, place: str | Path, keeper: object = None) -> None:
        """`keeper`: whatever must live as long as the page, such as a temporary directory."""
        self._record, self._place, self._keeper = record, place, keeper

    def __repr__(self) -> str:
        return f"<Page {self.url} {self.failure or self.status}>"

    @property
    def id(self) -> str:
        """An id that a URL keeps within a session, also if a crash has its page delivered twice."""
        return page_id(self._record)

    @property
    def url(self) -> str:
        """The canonical URL that was asked for."""
        return self._record.url

    @property
    def final_url(self) -> str:
        """Where the content belongs: what the page calls its canonical URL, or the URL itself."""
        return self._record.final_url

    @property
    def status(self) -> int:
        """The HTTP status; 0 where no server answered."""
        return self._record.status

    @property
    def failure(self) -> str:
        """Why there is no page ("http-404", "dns", "timeout"…); "" for a page."""
        return self._record.failure

    @property
    def is_page(self) -> bool:
        """Whether it is a page, not a redirect, a failure, a sitemap, or the word of a server that nothing changed."""
        return self._record.is_page

    @property
    def title(self) -> str:
        """The `<title>`, or what stands for it in another format."""
        return self._record.title

    @property
    def description(self) -> str:
        """What the page says of itself in a sentence."""
        return self._record.description

    @property
    def summary(self) -> str:
        """The description, or the first sentences of the text."""
        return self._record.summary

    @property
    def text(self) -> str:
        """The main text, without navigation; "" with `summary="links"`, and where the page asks not to be indexed."""
        return self._record.text

    @property
    def markdown(self) -> str:
        """The main content as Markdown: headings, lists, tables, code, links; the text of what is no HTML."""
        if self._record.markdown:
            return self._record.markdown
        record = self._record
        if record.noindex or not record.is_page or not record.warc_file or "html" not in record.content_type:
            return record.text
        return markdown_of(self.content, record.content_type)

    @property
    def language(self) -> str:
        """ISO 639 code of the language; "" where it is not known."""
        return self._record.language

    @property
    def outlinks(self) -> list[str]:
        """The canonical URLs that it links to, in the order of the page."""
        return self._record.outlinks

    @property
    def depth(self) -> int:
        """Links from the nearest seed."""
        return self._record.depth

    @property
    def parent(self) -> str:
        """The page on which the URL was found first; "" for a seed."""
        return self._record.parent

    @property
    def change(self) -> str:
        """Against the session before: new, changed, same or gone; "" where there is nothing to compare."""
        return self._record.change

    @property
    def session(self) -> int:
        """The number of the session that stored it; the first is 1."""
        return self._record.session

    @property
    def fetched_at(self) -> datetime:
        """When the request began, in UTC."""
        return datetime.fromtimestamp(self._record.fetched_at, UTC)

    @property
    def content_type(self) -> str:
        """The Content-Type header."""
        return self._record.content_type

    @property
    def digest(self) -> str:
        """Of the body as it was sent, as in the WARC: sha1:BASE32."""
        return self._record.digest

    @property
    def fields(self) -> dict[str, Any]:
        """What plug-ins have added."""
        return msgspec.json.decode(self._record.fields, type=dict[str, Any]) if self._record.fields else {}

    @property
    def metadata(self) -> dict[str, Any]:
        """What the page says of itself in its head: author, published, modified, site_name, page_type, keywords.

        Only what it says. From Open Graph, JSON-LD, microdata and meta elements.
        """
        told = {name: getattr(self._record, name) for name in _METADATA}
        return {name: value for name, value in told.items() if value}

    @property
    def record(self) -> PageRecord:
        """All that is stored of the page, under the names of the Parquet columns."""
        return self._record

    @property
    def warc(self) -> Exchange:
        """The record of the WARC: its heads, and the body as it was sent."""
        record = self._record
        if not record.warc_file:
            why = "the crawl kept none (warc=False)" if not record.failure else "no server answered"
            raise UsageError(f"{record.url}: there is no WARC record: {why}")
        return read_exchange(self._place, record)

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the answer by lower-case name; of several of one name, the first."""
        return self.warc.headers

    @property
    def content(self) -> bytes:
        """The body, without content coding (gzip…)."""
        return self.warc.content


def page_id(record: PageRecord) -> str:
    """The id of a record for those who may see it twice."""
    return xxhash.xxh3_128_hexdigest(f"{record.session} {record.url}".encode("utf-8", "surrogatepass"))


def markdown_of(content: bytes, content_type: str) -> str:
    """The main content of an HTML page."""
    from turbohtml import parse

    tree = parse(bounded(as_utf8(content, content_type)), encoding="utf-8", positions=False)
    main = tree.main_content()
    return main.to_markdown().strip() if main is not None else ""
