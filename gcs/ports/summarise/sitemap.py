"""Sitemaps (sitemaps.org 0.9): URL sets, indexes, and plain lists of URLs.

Read leniently: any namespace, a URL where <loc> is missing, white space anywhere. Images, videos and news
inside an entry are not pages; alternates (xhtml:link) are. Gzip is taken off before (see `Summarisers`). <lastmod>
is the date of the entry's page, or of a sitemap in an index.
"""

import io
import re
from collections.abc import Iterator
from itertools import islice

from gcs.core.page.site_dates import kept_date
from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.encoding import as_text
from gcs.ports.summarise.xml_stream import elements, local_name, text_of

#: entries that the protocol allows in one file
MAX_ENTRIES = 50_000
#: lines of a list that are read
_MAX_LINES = 20 * MAX_ENTRIES
_URL = re.compile(r"https?://\S+", re.I)


def summarise_sitemap(source: Source) -> Document:
    """The Document of an XML sitemap or sitemap index: only links."""
    hrefs: list[str] = []
    dates: list[str] = []
    limit = min(source.options.max_links, MAX_ENTRIES)
    for entry in elements(source.content, source.content_type, ("url", "sitemap")):
        location = date = ""
        alternates = []
        for child in entry:
            name = local_name(child)
            if name == "loc" and not location:
                location = text_of(child)
            elif name == "lastmod" and not date:
                date = kept_date(text_of(child))
            elif name == "link" and "alternate" in (child.get("rel") or "").lower():
                alternates.append(child.get("href") or "")
            elif name == "image" and source.options.images:
                alternates += [text_of(part) for part in child if local_name(part) == "loc"]
        location = location or (entry.text or "").strip()
        found = [href for href in (location, *alternates) if href]
        hrefs += found
        dates += [date if href is location else "" for href in found]
        if len(hrefs) >= limit:
            break
    return Document(hrefs=hrefs[:limit], source=True, dates=dates[:limit] if any(dates) else [])


def summarise_url_list(source: Source) -> Document:
    """The Document of a text sitemap: one URL a line, other lines do not count."""
    hrefs: list[str] = []
    limit = min(source.options.max_links, MAX_ENTRIES)
    for line in _lines(as_text(source.content, source.content_type)):
        if _URL.fullmatch(line):
            hrefs.append(line)
            if len(hrefs) == limit:
                break
    return Document(hrefs=hrefs, source=True)


def summarise_uri_list(source: Source) -> Document:
    """The Document of a text/uri-list (RFC 2483), as sources list what they hold; the links may be relative."""
    lines = _lines(source.content.decode("utf-8", "replace"))
    hrefs = (line for line in lines if line and not line.startswith("#"))
    return Document(hrefs=list(islice(hrefs, min(source.options.max_links, MAX_ENTRIES))), source=True)


def _lines(text: str) -> Iterator[str]:
    """The first lines, one after the other: all of them at once could take hundreds of megabytes."""
    return (line.strip() for line in islice(io.StringIO(text, newline=None), _MAX_LINES))
