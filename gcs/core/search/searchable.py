"""A page as search sees it: its words, and the properties that a query may ask for.

Made from a record. The words are taken when they are asked for first, once.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

import msgspec

from gcs.core.page.values import PageRecord
from gcs.core.search.query import day_of
from gcs.core.search.words import words
from gcs.core.url.sortkey import host_name, host_of_key, sort_key

#: of a page's text: what lies behind it is not searched
MOST_TEXT = 1 << 20
#: kinds of documents by their media type; others are called as their subtype
_KINDS = {
    "application/xhtml+xml": "html",
    "application/msword": "word",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "word",
    "application/vnd.oasis.opendocument.text": "word",
    "application/vnd.ms-excel": "table",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "table",
    "application/vnd.oasis.opendocument.spreadsheet": "table",
    "text/csv": "table",
    "application/vnd.ms-powerpoint": "slides",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "slides",
    "application/vnd.oasis.opendocument.presentation": "slides",
    "application/epub+zip": "book",
    "text/plain": "text",
    "text/markdown": "text",
    "text/x-rst": "text",
    "application/rss+xml": "feed",
    "application/atom+xml": "feed",
}
_LONGEST_KIND = 32


class Searchable(msgspec.Struct, frozen=True, dict=True):
    """What is searched of a page."""

    url: str
    host: str
    title: str = ""
    text: str = ""
    lang: str = ""
    kind: str = ""
    #: YYYYMMDD: published, or else modified, or else fetched
    day: int = 0
    depth: int = 0
    change: str = ""
    simhash: int = 0

    @classmethod
    def of(cls, record: PageRecord, fetched_on: int) -> "Searchable":
        """From a record; `fetched_on` is the day of its `fetched_at` (YYYYMMDD)."""
        added = " ".join(_values(msgspec.json.decode(record.fields))) if record.fields else ""
        text = f"{record.text or record.summary}\n{added}".rstrip()[:MOST_TEXT]
        return cls(
            record.url,
            host_of(record.url),
            record.title,
            text,
            record.language,
            kind_of(record.content_type),
            day_of(record.published) or day_of(record.modified) or fetched_on,
            record.depth,
            record.change,
            record.simhash,
        )

    @cached_property
    def title_words(self) -> list[str]:
        return words(self.title)

    @cached_property
    def text_words(self) -> list[str]:
        return words(self.text)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Each word of title and text once."""
        return frozenset(self.title_words).union(self.text_words)

    @cached_property
    def title_line(self) -> str:
        """The words of the title with one space before and behind each: where a phrase is a part of a text."""
        return f" {' '.join(self.title_words)} "

    @cached_property
    def text_line(self) -> str:
        return f" {' '.join(self.text_words)} "


def host_of(url: str) -> str:
    scheme, colon, rest = url.partition("://")
    return _host_of(f"{scheme}{colon}{rest.partition('/')[0]}/" if colon else url)


@lru_cache(4096)
def _host_of(url: str) -> str:
    return host_name(host_of_key(sort_key(url)))


@lru_cache(4096)
def sites_of(host: str) -> Sequence[str]:
    """The host and all domains above it: what `site:` may name."""
    parts = host.split(".")
    return tuple(".".join(parts[at:]) for at in range(len(parts))) if host else ()


def kind_of(content_type: str) -> str:
    """What kind of document it is: html, pdf, text, image, word…"""
    media = content_type.partition(";")[0].strip().lower()
    if kind := _KINDS.get(media):
        return kind
    main, _, sub = media.partition("/")
    return (main if main in ("image", "audio", "video") else sub.removeprefix("x-"))[:_LONGEST_KIND]


def _values(value: object) -> Iterator[str]:
    """What a plug-in has added, without names and structure."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _values(each)
    elif value is not None:
        yield str(value)
