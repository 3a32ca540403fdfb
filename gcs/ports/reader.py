"""The reader: what a response means, for gatherers and helpers. A response in, its PageFacts out.

`Reader` has its document read by the summariser of its format (`Summarisers`), joins the links, and heeds the
directives of the headers. It decides nothing about the crawl and keeps nothing but the joiner's memo.

`Summarisers` knows which summariser reads which format, and where. The built-in ones are always there. A package adds
its own through the entry-point group `gcs.summarisers`: each entry point names a `Summariser`. The one with the longest
matching URL prefix wins, then the one added last. A summariser that raises costs its page the summary, never the crawl.

An empty shell (`is_shell`) says next to nothing until its scripts have run: it needs a browser.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Literal

import msgspec

from gcs.core.page.link_headers import header_links
from gcs.core.page.recognise import Format, recognise
from gcs.core.page.simhash import simhash
from gcs.core.page.site_dates import unavailable_after
from gcs.core.page.values import Document, PageFacts, Response
from gcs.core.polite.politeness import seconds_of_date
from gcs.core.url.canonical import UrlRules
from gcs.core.url.join import LINKS_LENGTH, Joiner, facts_of
from gcs.core.url.query_encoding import in_page_encoding
from gcs.errors import UsageError
from gcs.events import Events
from gcs.ports.summarise import DEFAULT, Depth, Options, ParsedPage, Source, Summariser
from gcs.ports.summarise.archive import (
    LIMITS,
    ArchiveBudget,
    ArchiveMember,
    gunzip,
    members,
    summarise_members,
    type_of_name,
)
from gcs.ports.summarise.encoding import encoding_of
from gcs.ports.summarise.feed import summarise_feed
from gcs.ports.summarise.formats.csv_table import summarise_csv
from gcs.ports.summarise.formats.docx import summarise_docx
from gcs.ports.summarise.formats.epub import summarise_epub
from gcs.ports.summarise.formats.image import summarise_image
from gcs.ports.summarise.formats.json_data import summarise_json
from gcs.ports.summarise.formats.media import summarise_media
from gcs.ports.summarise.formats.mhtml import summarise_mhtml
from gcs.ports.summarise.formats.opendocument import summarise_opendocument
from gcs.ports.summarise.formats.pdf import summarise_pdf
from gcs.ports.summarise.formats.pptx import summarise_pptx
from gcs.ports.summarise.formats.rtf import summarise_rtf
from gcs.ports.summarise.formats.xlsx import summarise_xlsx
from gcs.ports.summarise.formats.xml_data import summarise_xml
from gcs.ports.summarise.html import summarise_html
from gcs.ports.summarise.mail import attachments, summarise_mail
from gcs.ports.summarise.markdown import is_markdown_name, summarise_markdown
from gcs.ports.summarise.requisites import requisites_of_css, requisites_of_html
from gcs.ports.summarise.sitemap import summarise_sitemap, summarise_uri_list, summarise_url_list
from gcs.ports.summarise.text import summarise_text
from gcs.ports.summarise.text_pool import TextPool

events = Events("summarise")

ENTRY_POINTS = "gcs.summarisers"
#: what a worker finds of a page whose links were read here
_OF_TEXT = (
    *("text", "simhash", "markdown", "text_cut", "author", "published", "modified", "site_name", "page_type"),
    "keywords",
)
_ARCHIVES = (Format.ZIP, Format.TAR)
#: what an archive inside of an archive may be; documents that are zip files are read
_PACKED = (*_ARCHIVES, Format.GZIP)
#: stands for a document that is to be read in a worker
_ELSEWHERE = Document()
_MAIL = "message/rfc822"
#: archives inside of an archive, or of a message, that are read
_LEVELS = 1
BUILT_IN = (
    Summariser(Format.HTML, summarise_html),
    Summariser(Format.SITEMAP, summarise_sitemap),
    Summariser(Format.URL_LIST, summarise_url_list),
    Summariser(Format.FEED, summarise_feed),
    Summariser(Format.TEXT, summarise_text),
    Summariser(Format.MARKDOWN, summarise_markdown),
    Summariser(Format.PDF, summarise_pdf, in_worker=True),
    Summariser(Format.DOCX, summarise_docx, in_worker=True),
    Summariser(Format.XLSX, summarise_xlsx, in_worker=True),
    Summariser(Format.PPTX, summarise_pptx, in_worker=True),
    Summariser(Format.OPEN_DOCUMENT, summarise_opendocument, in_worker=True),
    Summariser(Format.EPUB, summarise_epub, in_worker=True),
    Summariser(Format.RTF, summarise_rtf, in_worker=True),
    Summariser(Format.CSV, summarise_csv, in_worker=True),
    Summariser(Format.JSON, summarise_json, in_worker=True),
    Summariser(Format.XML, summarise_xml, in_worker=True),
    Summariser(Format.SVG, summarise_xml, in_worker=True),
    Summariser(Format.MHTML, summarise_mhtml, in_worker=True),
    Summariser(Format.IMAGE, summarise_image, in_worker=True),
    Summariser(Format.MEDIA, summarise_media, in_worker=True),
    Summariser(_MAIL, summarise_mail, in_worker=True),
    Summariser("text/uri-list", summarise_uri_list),
)

#: no empty shell: a page with more links, or more characters to read, speaks for itself
_SHELL_LINKS, _SHELL_CHARS = 2, 200
#: bytes of a page in which `is_shell` looks
_SHELL_BYTES = 1 << 18
#: elements whose content a reader does not see
_UNSEEN = re.compile(rb"<(script|style|noscript|template|head|svg)\b|<!--", re.I)
#: bytes of a header that are no ASCII (one character each): browsers escape them as they are, in whatever encoding
_BEYOND_ASCII = re.compile("[\x80-\xff]")
_TAG = re.compile(rb"<[^<>]*>|&#?\w+;|\s+")

#: a gist: sentences taken from the text where the page does not describe itself
_SENTENCES = 3
#: letters of a gist at most
_LETTERS = 400
#: shorter lines are headings, dates, bylines and crumbs
_LINE_LETTERS = 40
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s|$)|[。！？]++")


class Reader:
    """Reads responses for one gatherer or helper."""

    def __init__(
        self,
        urls: UrlRules,
        registry: "Summarisers",
        options: Options,
        depth: Depth,
        heed: bool,
        texts: TextPool | None = None,
    ) -> None:
        self._joiner = Joiner(urls)
        self._registry = registry
        self._options, self._heed, self._depth = options, heed, depth
        #: processes that read what the loop cannot wait for, or not trust: documents, and text where the depth is full
        self.texts = texts
        #: whether every page is read there
        self.all_in_pool = texts is not None and depth == "full"

    def read(self, response: Response) -> PageFacts:
        """The content of a 2xx response, read here and now."""
        return self._facts(response, self._registry.document_of(self._source(response, self._depth)))

    def look(self, response: Response, parsed: ParsedPage | None = None) -> "Glance":
        """What can be read of a 2xx response without waiting for a worker, and what is left for one.

        `parsed` is given the tree of an HTML page.
        """
        if self.texts is None:
            return Glance(self.read(response))
        source = self._source(response, "links" if self.all_in_pool else self._depth, parsed)
        document = self._registry.document_of(source, here=True)
        facts = self._facts(response, document)
        if document is _ELSEWHERE:
            return Glance(facts, "all")
        return Glance(facts, "text" if self.all_in_pool and not facts.source else "")

    def _source(self, response: Response, depth: Depth, parsed: ParsedPage | None = None) -> Source:
        content_type, url = response.header("content-type") or "", response.request.url
        return Source(response.content, content_type, url, depth, self._options, parsed)

    def _facts(self, response: Response, document: Document) -> PageFacts:
        noindex, nofollow = _header_directives(response, self._options.agent)
        url, content_type = response.request.url, response.header("content-type") or ""
        if "html" in content_type.lower() and not "".join(document.hrefs).isascii():
            encoding = encoding_of(response.content, content_type)
            hrefs = [in_page_encoding(href, encoding) for href in document.hrefs]
            document = msgspec.structs.replace(document, hrefs=hrefs)
        facts = facts_of(document, url, self._joiner, heed=self._heed, noindex=noindex, nofollow=nofollow)
        if not (self._heed and (nofollow or document.nofollow)):
            facts = self._with_header_links(response, facts, is_told=bool(document.canonical))
        if response.asked_for or response.picture:
            asked_for = self.join(url, response.asked_for)
            facts = msgspec.structs.replace(facts, requisites=asked_for, thumbnail=response.picture)
        if not document.source and is_shell(response.content, content_type, len(document.hrefs)):
            return msgspec.structs.replace(facts, shell=True)  # noqa: S604 (a page that is an empty shell)
        return facts

    def _with_header_links(self, response: Response, facts: PageFacts, is_told: bool) -> PageFacts:
        """The facts with what the headers link to; `is_told`: the page itself says where its content belongs."""
        found, url = header_links(response.headers), response.request.url
        if not found.hrefs:
            return facts
        outlinks = list(dict.fromkeys([*facts.outlinks, *self.join(url, found.hrefs)]))
        more = [""] * (len(outlinks) - len(facts.outlinks))
        final_url = facts.final_url
        if found.canonical and not is_told:
            final_url = next(iter(self.join(url, (found.canonical,))), final_url)
        beside = {name: [*told, *more] for name in ("anchors", "rels", "dates") if (told := getattr(facts, name))}
        return msgspec.structs.replace(facts, outlinks=outlinks, final_url=final_url, **beside)

    def requisites(self, response: Response, most: int) -> list[str]:
        """What a page or a style sheet needs to look like itself: canonical URLs, at most so many."""
        content, content_type, url = response.content, response.header("content-type") or "", response.request.url
        found = recognise(content_type, content)
        try:
            if found is Format.HTML:
                needs = requisites_of_html(content[: self._options.max_bytes], content_type, most)
            elif "css" in content_type.lower():
                needs = requisites_of_css(content, content_type, most)
            else:
                return []
        except Exception as error:  # a native parser on hostile bytes: anything may come
            events.warning("failed", url=url, cause=error)
            return []
        base = next(iter(self.join(url, (needs.base,))), url) if needs.base else url
        return self.join(base, islice(needs.hrefs, LINKS_LENGTH // len(base)))

    def redirect_target(self, response: Response) -> str | None:
        """Where a 3xx response points, canonical; None if nowhere that can be crawled."""
        location = _BEYOND_ASCII.sub(lambda sent: f"%{ord(sent[0]):02X}", response.header("location") or "")
        return next(iter(self.join(response.request.url, (location,))), None) if location else None

    def join(self, base: str, hrefs: Iterable[str]) -> list[str]:
        """Links of a page or a robots.txt, canonical under the settings of this crawl."""
        return self._joiner.join(base, hrefs)

    async def finish(self, response: Response, glance: "Glance", whole: Callable[[], Response]) -> PageFacts:
        """The facts of the page, with what the pool finds. `whole` makes the response again that was folded."""
        assert self.texts
        content_type, url, is_all = response.header("content-type") or "", response.request.url, glance.left == "all"
        extract = await self.texts.submit(lambda: whole().content, content_type, url, self._depth, links=is_all)
        document, facts = extract.document, glance.facts
        if is_all:
            return self._facts(whole(), document)
        told = {name: getattr(document, name) for name in _OF_TEXT}
        return msgspec.structs.replace(facts, language=document.language or facts.language, **told)


class Glance(msgspec.Struct, frozen=True):
    """What the fetch loop has read of a page."""

    facts: PageFacts
    #: what a worker has to read: nothing, the main text, or all of it
    left: Literal["", "text", "all"] = ""


def _header_directives(response: Response, agent: str) -> tuple[bool, bool]:
    """(noindex, nofollow) of the X-Robots-Tag headers that speak to everybody or to us."""
    noindex = nofollow = False
    for name, value in response.headers:
        if len(name) == 12 and name.lower() == "x-robots-tag":
            words = value.lower()
            addressee, colon, rest = words.partition(":")
            if colon and "," not in addressee and addressee.strip() not in ("unavailable_after", "max-snippet"):
                if addressee.strip() != agent:
                    continue
                words = rest
            noindex |= _is_over(words, response)
            directives = {word.strip() for word in words.split(",")}
            noindex |= bool(directives & {"noindex", "none"})
            nofollow |= bool(directives & {"nofollow", "none"})
    return noindex, nofollow


def _is_over(words: str, response: Response) -> bool:
    """Whether an `unavailable_after` of a header has passed, by the clock of the server if it tells the time."""
    at = unavailable_after(words)
    if at is None:
        return False
    now = seconds_of_date(response.header("date") or "")
    return at < (response.started_at if now is None else now)


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
        return self.document_of(Source(content, content_type, url, depth, options))

    def document_of(self, source: Source, *, here: bool = False) -> Document:
        """The same; with `here`, what a worker has to read says nothing yet."""
        try:
            return self.read(source, here=here)
        except Exception as error:  # a plug-in, or a native parser on hostile bytes: anything may come
            events.warning("failed", url=source.url, cause=error)
            return Document(hrefs=[])

    def read(self, source: Source, *, here: bool = False) -> Document:
        """The same, where the caller wants to know what a summariser raised."""
        limit = source.options.max_bytes
        if len(source.content) > limit:
            source = msgspec.structs.replace(source, content=source.content[:limit])
        found = recognise(source.content_type, source.content)
        archive = source.content
        if found is Format.GZIP:  # sitemaps come like this
            source = msgspec.structs.replace(source, content=gunzip(source.content, limit), content_type="")
            found = recognise("", source.content)
        if found in (Format.TEXT, Format.URL_LIST) and is_markdown_name(source.url):
            found = Format.MARKDOWN
        media_type = source.content_type.partition(";")[0].strip().lower()
        summariser = self.summariser(media_type, source.url) or self.summariser(found, source.url)
        if here and (summariser.in_worker if summariser else found in _ARCHIVES):
            return _ELSEWHERE
        if summariser:
            document = summariser.summarise(source)
            return self._with_attachments(document, source) if summariser.summarise is summarise_mail else document
        if found in _ARCHIVES:
            inside = members(archive, LIMITS)
            return summarise_members(inside, source.options, lambda member: self._inside(member, source, _LEVELS))
        return Document(hrefs=[])

    def _inside(self, member: ArchiveMember, around: Source, levels: int) -> Document:
        """What a file in an archive says; `levels` of archives inside are read."""
        if recognise(member.content_type, member.content) in _PACKED:
            inside = members(member.content, LIMITS, member.budget) if levels else ()
            return summarise_members(inside, around.options, lambda each: self._inside(each, around, levels - 1))
        return self.summarise(member.content, member.content_type, around.url, around.depth, around.options)

    def _with_attachments(self, message: Document, source: Source) -> Document:
        """A message with what is attached to it, as if it were an archive."""
        budget = ArchiveBudget.of(source.content, LIMITS, None)
        attached = [
            ArchiveMember(name, content, type_of_name(name) or kind, budget)
            for name, kind, content in attachments(source.content)
        ]
        if not attached:
            return message
        room = max(source.options.max_text_bytes - len(message.text), 0)
        options = replace(source.options, max_text_bytes=room)
        found = summarise_members(attached, options, lambda member: self._inside(member, source, _LEVELS))
        text = "\n\n".join(filter(None, (message.text, found.text)))
        hrefs = [*message.hrefs, *found.hrefs][: source.options.max_links]
        return msgspec.structs.replace(message, text=text, hrefs=hrefs, simhash=simhash(text) if text else 0)


def is_shell(content: bytes, content_type: str, links: int) -> bool:
    """Whether an HTML page is an empty shell; `links` are those found in it."""
    if links > _SHELL_LINKS or "html" not in content_type.lower():
        return False
    page = content[:_SHELL_BYTES]
    return b"<script" in page.lower() and len(_seen(page)) <= _SHELL_CHARS


def _seen(page: bytes) -> bytes:
    """The characters that a reader sees, without spaces."""
    parts, at, lower = [], 0, page.lower()
    while match := _UNSEEN.search(page, at):
        parts.append(page[at : match.start()])
        end = b"-->" if match[1] is None else b"</" + match[1].lower()
        found = lower.find(end, match.end())
        at = len(page) if found < 0 else found + len(end)
    return _TAG.sub(b"", b"".join([*parts, page[at:]]))


def gist(facts: PageFacts) -> str:
    """A page in a sentence or three, for people: what it says of itself, or the first sentences of its text."""
    if facts.description:
        return clipped(facts.description)
    text = facts.text
    sentences: list[str] = []
    letters = 0
    for line in text[: 20 * _LETTERS].splitlines():
        if len(line) < _LINE_LETTERS:
            continue
        for sentence in _sentences(" ".join(line[: 4 * _LETTERS].split())):
            sentences.append(sentence.strip())
            letters += len(sentence)
            if len(sentences) == _SENTENCES or letters > _LETTERS:
                return clipped(" ".join(sentences))
    return clipped(" ".join(sentences) or " ".join(text[:_LETTERS].split()))


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(line):
        yield line[start : end.end()]
        start = end.end()
    if start < len(line):
        yield line[start:]


def clipped(text: str, most: int = _LETTERS) -> str:
    """The text, cut at the end of a word if it is too long."""
    if len(text) <= most:
        return text
    cut = text[:most]
    return (cut[: cut.rfind(" ")] if " " in cut else cut) + "…"
