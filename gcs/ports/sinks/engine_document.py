"""A page as a document of a search engine, and what a batch of pages means for one: what is put there, what goes."""

from collections.abc import Sequence

import msgspec
import xxhash

from gcs.core.page.values import PageRecord, tells
from gcs.core.search.searchable import MOST_TEXT, host_of, kind_of
from gcs.ports.records.page import Page


class EngineDocument(msgspec.Struct, frozen=True):
    """A page as an engine holds it. `fetched_at` is in seconds since the epoch."""

    id: str
    url: str
    site: str
    title: str
    summary: str
    text: str
    language: str
    type: str
    author: str
    published: str
    depth: int
    session: int
    change: str
    fetched_at: int
    #: what plug-ins have added, as JSON: engines that guess the types of fields guess wrong
    fields: str

    @classmethod
    def of(cls, record: PageRecord) -> "EngineDocument":
        return cls(
            document_id(record.url), _clean(record.url), host_of(record.url), _clean(record.title),
            _clean(record.summary), _clean(record.text[:MOST_TEXT]), record.language, kind_of(record.content_type),
            _clean(record.author), record.published, record.depth, record.session, record.change,
            int(record.fetched_at), record.fields,
        )  # fmt: skip


class EngineBatch:
    """What is to be done for the pages of a batch: each URL once, as it was stored last."""

    def __init__(self, pages: Sequence[Page]) -> None:
        last: dict[str, PageRecord] = {}
        for page in pages:
            record = page.record
            known = last.get(record.url)
            if tells(record.status, record.failure, record.held_at_us) and (
                known is None or record.session >= known.session
            ):
                last[record.url] = record
        self.stored = [record for record in last.values() if record.is_page and not record.noindex]
        #: pages that were there before
        self.gone = [
            record
            for record in last.values()
            if not (record.is_page and not record.noindex) and (record.change == "gone" or record.noindex)
        ]


def document_id(url: str) -> str:
    """The same for all copies of a page."""
    return xxhash.xxh3_128_hexdigest(url.encode("utf-8", "surrogatepass"))


def _clean(text: str) -> str:
    """Without halves of characters, which JSON cannot hold."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
