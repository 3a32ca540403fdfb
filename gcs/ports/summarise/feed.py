"""Feeds: RSS 0.9x and 2.0, RSS 1.0 (RDF), Atom. Their entries are links; their titles and summaries the text.

An entry's date is when it was updated, else when it was published.

Links that a reader would open count: an entry's page and the feed's own site, the next page of a paged
feed (RFC 5005); not enclosures, edit links or the feed itself.
"""

import html
import re
from typing import Any

from gcs.core.page.simhash import simhash
from gcs.core.page.site_dates import kept_date, kept_moment
from gcs.core.page.values import Document
from gcs.core.polite.politeness import seconds_of_date
from gcs.ports.summarise import Source
from gcs.ports.summarise.html import primary_language
from gcs.ports.summarise.xml_stream import elements, local_name, text_of

_ENTRIES = ("item", "entry")
#: what holds the entries, and says of itself what it is
_FEEDS = ("channel", "feed")
_HEADINGS = frozenset(("title", "description", "subtitle", "tagline", "language"))
#: what holds the date of an entry, the best first
_DATES = ("updated", "modified", "date", "published", "pubDate", "issued")
_FOLLOWED = frozenset(("", "alternate", "next", "related", "via"))
_MARKUP = re.compile(r"<[^<>]*>")
#: the number of a character; one of thousands of digits is none that Python would make an int of
_NUMBER = re.compile(r"&#(?=[0-9])0*+([0-9]*+)")
_DIGITS = 8
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_URL = re.compile(r"https?://\S+", re.I)


def summarise_feed(source: Source) -> Document:
    options = source.options
    sites: list[str] = []
    hrefs: list[str] = []
    dates: list[str] = []
    found: dict[str, str] = {}
    lines: list[str] = []
    room = options.max_text_bytes if source.depth != "links" else 0
    for element in elements(source.content, source.content_type, (*_ENTRIES, *_FEEDS)):
        if local_name(element) in _FEEDS:
            if len(sites) < options.max_links:
                sites += _links(element)
            for child in element:
                if (name := local_name(child)) in _HEADINGS:
                    found.setdefault(name, text_of(child))
            found.setdefault("language", element.get(_XML_LANG) or "")
        elif len(hrefs) < options.max_links:
            links = _links(element) or _identifiers(element)
            hrefs += links
            dates += [_date(element)] * len(links)
            if room > 0:
                entry = _entry_text(element)
                lines += entry
                room -= sum(map(len, entry))
    text = "\n".join(lines)[: options.max_text_bytes]
    return Document(
        hrefs=[*sites, *hrefs][: options.max_links],
        dates=[*[""] * len(sites), *dates][: options.max_links] if any(dates) else [],
        title=found.get("title", ""),
        description=_plain(found.get("description") or found.get("subtitle") or found.get("tagline") or ""),
        language=primary_language(found.get("language", "")),
        text=text,
        simhash=simhash(text) if text else 0,
    )


def _links(element: Any) -> list[str]:
    """The links of a feed or an entry. RSS writes the URL as text, Atom as an attribute."""
    links = (
        child.get("href") or text_of(child)
        for child in element
        if local_name(child) == "link" and (child.get("rel") or "").lower() in _FOLLOWED
    )
    return [href for href in links if href]


def _identifiers(entry: Any) -> list[str]:
    """Where an entry has no link, its identifier often is one, whatever isPermaLink says."""
    texts = (text_of(child) for child in entry if local_name(child) in ("guid", "id"))
    return [text for text in texts if _URL.fullmatch(text)]


def _date(entry: Any) -> str:
    """When an entry was changed last, in ISO 8601 (Atom, Dublin Core) or as mails write dates (RSS)."""
    parts = {name: text_of(child) for child in entry if (name := local_name(child)) in _DATES}
    told = next((parts[name] for name in _DATES if parts.get(name)), "")
    return kept_date(told) or kept_moment(seconds_of_date(told))


def _entry_text(entry: Any) -> list[str]:
    parts = {local_name(child): child for child in entry}
    lines = (_plain(text_of(parts[name])) for name in ("title", "description", "summary") if name in parts)
    return [line for line in lines if line]


def _plain(text: str) -> str:
    """Summaries hold escaped HTML: tags away, entities resolved."""
    text = _NUMBER.sub(lambda number: f"&#{number[1][:_DIGITS] or 0}", _MARKUP.sub(" ", text))
    return " ".join(html.unescape(text).split())
