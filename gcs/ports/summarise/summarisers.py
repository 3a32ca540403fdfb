"""The registry of summarisers: which one reads which format, and where (a gatherer's pluggable summarisers).

The built-in ones are always there. A package adds its own through the entry-point group
`gcs.summarisers`: each entry point names a `Summariser`. The one with the longest matching URL prefix
wins, then the one added last. A summariser that raises costs its page the summary, never the crawl.
"""

import logging
from collections.abc import Iterable

import msgspec

from gcs.core.page.recognise import Format, recognise
from gcs.core.page.values import Document
from gcs.errors import UsageError
from gcs.ports.summarise import DEFAULT, Depth, Options, Source, Summariser
from gcs.ports.summarise.archive import ArchiveMember, gunzip, summarise_archive
from gcs.ports.summarise.feed import summarise_feed
from gcs.ports.summarise.html import summarise_html
from gcs.ports.summarise.sitemap import summarise_sitemap, summarise_uri_list, summarise_url_list
from gcs.ports.summarise.text import message, summarise_pdf, summarise_text

log = logging.getLogger(__name__)

ENTRY_POINTS = "gcs.summarisers"
_ARCHIVES = (Format.ZIP, Format.TAR)


def _mail(source: Source) -> Document:
    part, content_type, title = message(source.content)
    read = summarise_html if content_type.startswith("text/html") else summarise_text
    document = read(msgspec.structs.replace(source, content=part, content_type=content_type))
    return msgspec.structs.replace(document, title=title or document.title)


BUILT_IN = (
    Summariser(Format.HTML, summarise_html),
    Summariser(Format.SITEMAP, summarise_sitemap),
    Summariser(Format.URL_LIST, summarise_url_list),
    Summariser(Format.FEED, summarise_feed),
    Summariser(Format.TEXT, summarise_text),
    Summariser(Format.PDF, summarise_pdf),
    Summariser("message/rfc822", _mail),
    Summariser("text/uri-list", summarise_uri_list),
)


class Summarisers:
    """The summarisers of one process."""

    def __init__(self, added: Iterable[Summariser] = ()) -> None:
        self._by_format: dict[str, list[Summariser]] = {}
        for summariser in (*BUILT_IN, *added):
            self.add(summariser)

    @classmethod
    def with_plugins(cls) -> "Summarisers":
        """The built-in summarisers and those of installed packages."""
        from importlib.metadata import entry_points  # 30 ms

        registry = cls()
        for entry_point in entry_points(group=ENTRY_POINTS):
            summariser = entry_point.load()
            if not isinstance(summariser, Summariser):
                raise UsageError(
                    f"entry point {entry_point.name} of {ENTRY_POINTS} is not a gcs.ports.summarise.Summariser: "
                    f"correct or uninstall the package that brings it ({entry_point.value})"
                )
            registry.add(summariser)
        return registry

    def add(self, summariser: Summariser) -> None:
        """Let a summariser take part, before those of the same or a shorter prefix."""
        known = self._by_format.setdefault(summariser.format, [])
        known.insert(0, summariser)
        known.sort(key=lambda each: -len(each.prefix))

    def summariser(self, format: str, url: str) -> Summariser | None:
        """The one that reads this format at this place."""
        for summariser in self._by_format.get(format, ()):
            if url.startswith(summariser.prefix):
                return summariser
        return None

    def summarise(
        self, content: bytes, content_type: str, url: str, depth: Depth, options: Options = DEFAULT
    ) -> Document:
        """What a document says. Never raises: an unreadable one says nothing."""
        try:
            return self.read(Source(content, content_type, url, depth, options))
        except Exception:  # a plug-in, or a native parser on hostile bytes: anything may come
            log.warning("summarise.failed", exc_info=True, extra={"url": url})
            return Document(hrefs=[])

    def read(self, source: Source) -> Document:
        """The same, where the caller wants to know what a summariser raised."""
        limit = source.options.max_bytes
        if len(source.content) > limit:
            source = msgspec.structs.replace(source, content=source.content[:limit])
        found = recognise(source.content_type, source.content)
        archive = source.content
        if found is Format.GZIP:  # sitemaps come like this
            source = msgspec.structs.replace(source, content=gunzip(source.content, limit), content_type="")
            found = recognise("", source.content)
        media_type = source.content_type.partition(";")[0].strip().lower()
        summariser = self.summariser(media_type, source.url) or self.summariser(found, source.url)
        if summariser:
            return summariser.summarise(source)
        if found in _ARCHIVES:
            return summarise_archive(archive, source.options, lambda member: self._inside(member, source))
        return Document(hrefs=[])

    def _inside(self, member: ArchiveMember, archive: Source) -> Document:
        """What a file in an archive says; one that is an archive itself says nothing."""
        if recognise(member.content_type, member.content) in (*_ARCHIVES, Format.GZIP):
            return Document(hrefs=[])
        return self.summarise(member.content, member.content_type, archive.url, archive.depth, archive.options)
