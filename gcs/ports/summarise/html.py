"""HTML: from the bytes of a page to its links, its text and what it says of itself, with one parse.

In the order of a page's way: its encoding (`encoding`), the guard against hostile markup (`markup_guard`), one parse by
turbohtml, one walk over the few elements that mean something to a crawler (here), its metadata (`page_metadata`), its
main part as text and as Markdown (`main_text`). Depth `links` ends after the walk: it is the hot path of a crawl.
Depth `full` has trafilatura find the main part.

`HtmlElements`: what the elements mean. Filled by the walk, in document order, and emptied by `document()`. The first
title, base, canonical, description and refresh count; robots directives add up.

Never raises, whatever the bytes. Knows nothing of URLs: links leave as they are written.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from turbohtml import Document as Tree
from turbohtml import Element, Namespace, parse

from gcs.core.page.ai_preferences import MOST_STATEMENTS, statement
from gcs.core.page.language import detect
from gcs.core.page.simhash import simhash
from gcs.core.page.site_dates import unavailable_after
from gcs.core.page.values import LINE_LENGTH, MOST_KEYWORDS, Document
from gcs.ports.summarise import Depth, Options, Source
from gcs.ports.summarise.encoding import as_utf8
from gcs.ports.summarise.main_text import NO_PART, MainPart, main_part, trafilatura_part
from gcs.ports.summarise.markup_guard import bounded, guarded
from gcs.ports.summarise.page_metadata import JSON_LD, MAX_SCRIPTS, METAS, Metadata, metadata_of

#: the elements that are looked at
_TAGS = ("a", "area", "link", "meta", "base", "iframe", "frame", "title", "template")
_IMAGE_TAGS, _MORE_TAGS = ("img", "source"), ("embed", "object", "option", "noframes")
#: how the value of an <option> begins that is a URL, and characters of such a value
_URL_BEGINNINGS, _URL_CHARS = ("http://", "https://", "/", "./", "../"), 2_000
#: characters of a <noframes> that are read
_NOFRAMES_CHARS = 1 << 16
#: relations of <link> that lead to other documents
_FOLLOWED = frozenset(("alternate", "next", "prev", "previous"))
#: what an alternate may be where it says so; the others are oEmbed and JSON endpoints
_FOLLOWED_TYPE = re.compile(
    r"\s*+(?:text/html|application/(?:xhtml|rss|atom|rdf)\+xml|(?:text|application)/xml)?+\s*+(?:;|$)", re.I
)
#: the content of <meta http-equiv=refresh>: seconds, then the target, perhaps quoted
_REFRESH = re.compile(
    r"""\s*+\.?\d[\d.]*+(?:\s*+[;,]|\s)\s*+(?:url\s*+=\s*+)?+(?:"([^"]*+)|'([^']*+)|([^\s"'].*+))""", re.I | re.S
)
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_,]|\s*$)")
#: the next URL of a srcset; spaces and commas come before it
_CANDIDATE = re.compile(r"[^ \t\n\f\r,][^ \t\n\f\r]*+")
_DESCRIPTORS = re.compile(r"(?:[^(,]|\([^)]*\)?)*+")

#: letters of a title, a description, a rel or the like that are read: words of megabytes take twenty times as much
_LINE_LETTERS = 4 * LINE_LENGTH
#: contents of <meta> of one name, and robots directives, that are looked at: a date takes microseconds
_MOST_CONTENTS, _MOST_DIRECTIVES = MOST_KEYWORDS, 1_000
#: letters that are kept of the text of a link, and read of all of a page
_ANCHOR_LENGTH, _ANCHOR_LETTERS = 300, 1 << 20

_DESCRIPTIONS = frozenset(("description", "og:description"))

#: how an element is asked for one of its attributes
Attribute = Callable[[str], str | None]


def summarise_html(source: Source) -> Document:
    """The Document of a page, as deep as is asked for."""
    markup, tags = guarded(as_utf8(source.content, source.content_type))
    tree = parse(markup, encoding="utf-8", positions=False)
    if source.parsed:
        source.parsed.tree = tree
    reading = _read(tree, source.options, source.depth)
    if source.depth == "links":
        return reading.document(source.options, Metadata())
    metadata = metadata_of(tree, reading.metas, reading.data)
    if source.depth == "fast":
        return reading.document(source.options, metadata, main_part(tree, tags, source))
    return reading.document(source.options, metadata, trafilatura_part(tree, tags, source))


def _read(tree: Tree, options: Options, depth: Depth = "links") -> "HtmlElements":
    """What the elements of a page say, but for its text."""
    reading = HtmlElements()
    hrefs = reading.hrefs
    tags = (*_TAGS, *(_IMAGE_TAGS if options.images else ()), *(_MORE_TAGS if options.more_links else ()))
    if depth != "links":
        tags = (*tags, "script")
    agent, anchors, inside_template = options.agent, options.anchors, 0
    for node in tree.iter_elements(tags):
        if inside_template:  # what only a script may bring onto the page
            inside_template -= 1
            continue
        tag, attribute = node.tag, node.attr
        if tag in ("a", "area"):
            href = attribute("href")
            rel = attribute("rel")
            if href is not None and not (rel and "nofollow" in rel[:_LINE_LETTERS].lower().split()):
                hrefs.append(href)
                if anchors:
                    reading.anchor(node, rel or "")
        elif tag == "meta":
            reading.meta(attribute, agent)
        elif tag == "link":
            reading.link(attribute)
        elif tag == "script":
            if (attribute("type") or "")[:_LINE_LETTERS].lower() == JSON_LD and len(reading.data) < MAX_SCRIPTS:
                reading.data.append(node)
        elif tag == "title":
            if node.namespace is Namespace.HTML:
                reading.title(node)
        elif tag == "base":
            href = node.attr("href")
            if href is not None:
                reading.base(href)
        elif tag in ("iframe", "frame"):
            href = node.attr("src")
            if href is not None:
                hrefs.append(href)
        elif tag == "template":
            inside_template = sum(1 for _ in node.iter_elements(tags))
        elif tag in _MORE_TAGS:
            hrefs.extend(_more_links(node, options))
        else:
            reading.image(node.attr)
    root = tree.root
    if root is not None:
        reading.root(root.attr("lang") or root.attr("xml:lang") or "")
    return reading


def _more_links(node: Element, options: Options) -> list[str]:
    """The links of an element that few crawlers follow."""
    if node.tag == "noframes":  # text to the parser: only browsers without frames show it
        markup = node.text[:_NOFRAMES_CHARS].encode("utf-8", "replace")
        inner = parse(bounded(markup), encoding="utf-8", positions=False)
        return _read(inner, replace(options, more_links=False, anchors=False)).hrefs[: options.max_links]
    if node.tag == "option":
        value = (node.attr("value") or "").strip()
        return [value] if _is_url(value) else []
    target = node.attr("src" if node.tag == "embed" else "data")
    return [target] if target else []


def _is_url(value: str) -> bool:
    """Whether the value of an <option> is a URL, and no number or word."""
    if len(value) > _URL_CHARS or len(value.split()) != 1:
        return False
    name, _, extension = value.partition("?")[0].partition("#")[0].rpartition(".")
    is_file = bool(name) and 2 <= len(extension) <= 5 and extension.isascii() and extension.isalpha()
    return is_file or value.startswith(_URL_BEGINNINGS)


class HtmlElements:
    """What is known of a page so far."""

    __slots__ = ("_anchor_letters", "_directives", "_found", "anchors", "data", "hrefs", "metas", "rels", "stated")

    def __init__(self) -> None:
        self.hrefs: list[str] = []
        #: text and rel of the hrefs, as far as there are any
        self.anchors: list[str] = []
        self.rels: list[str] = []
        self._anchor_letters = 0
        #: the contents of <meta> that are metadata, by name
        self.metas: dict[str, list[str]] = {}
        #: scripts that hold metadata
        self.data: list[Element] = []
        #: AI preferences
        self.stated: list[str] = []
        self._found: dict[str, str] = {}
        self._directives: list[str] = []

    def anchor(self, node: Element, rel: str) -> None:
        """The text and the rel of the link that was found last."""
        missing = len(self.hrefs) - 1 - len(self.anchors)
        text = node.text if self._anchor_letters < _ANCHOR_LETTERS else ""
        self._anchor_letters += len(text)
        self.anchors += [*[""] * missing, " ".join(text[: 10 * _ANCHOR_LENGTH].split())[:_ANCHOR_LENGTH]]
        self.rels += [*[""] * missing, rel[:_ANCHOR_LENGTH]]

    def meta(self, get: Attribute, agent: str) -> None:
        name = get("name") or get("property")
        if name:
            name = name.lower()
            if name in METAS:
                if len(said := self.metas.setdefault(name, [])) < _MOST_CONTENTS:
                    said.append(get("content") or "")
            elif name in _DESCRIPTIONS:
                self._found.setdefault(name, _one_line(get("content") or ""))
            elif name in ("robots", "tdm-reservation", agent):
                self._directive(name, get("content") or "")
            return
        content = get("content") or ""
        http_equiv = (get("http-equiv") or "").lower()
        if http_equiv == "refresh":
            target = refresh_target(content)
            if target:
                self._found.setdefault("refresh", target)
        elif http_equiv == "content-language":
            self._found.setdefault("language", content)

    def _directive(self, name: str, content: str) -> None:
        lower = content[:_LINE_LETTERS].lower()
        is_stated = name == "tdm-reservation" or "noai" in lower or "noimageai" in lower
        if is_stated and len(self.stated) < MOST_STATEMENTS:
            self.stated.append(statement(f"meta {name}", content[:_LINE_LETTERS]))
        if name != "tdm-reservation" and len(self._directives) < _MOST_DIRECTIVES:
            self._directives += map(str.strip, lower.split(","))
            if (end := unavailable_after(content)) is not None and end < time.time():
                self._directives.append("noindex")

    def link(self, get: Attribute) -> None:
        rel = get("rel")
        if not rel or rel == "stylesheet":  # the usual one, first
            return
        relations = rel[:_LINE_LETTERS].lower().split()
        if "stylesheet" in relations:
            return
        href = get("href") or ""
        if "canonical" in relations:
            self._found.setdefault("canonical", href)
        elif (
            not _FOLLOWED.isdisjoint(relations)
            and "nofollow" not in relations
            and _FOLLOWED_TYPE.match(get("type") or "")
        ):
            self.hrefs.append(href)

    def image(self, get: Attribute) -> None:
        source = get("src")
        if source:
            self.hrefs.append(source)
        self.hrefs.extend(srcset_urls(get("srcset") or ""))

    def base(self, href: str) -> None:
        self._found.setdefault("base", href)

    def title(self, node: Any) -> None:
        """The <title> of the page, not of a drawing in it."""
        if "title" not in self._found:
            self._found["title"] = _one_line(node.text)

    def root(self, language: str) -> None:
        """What the root element says: its language goes before that of a <meta>."""
        if language:
            self._found["language"] = language

    def document(self, options: Options, metadata: Metadata, main: MainPart = NO_PART) -> Document:
        found, directives = self._found, self._directives
        text, declared = main.text, primary_language(found.get("language", ""))
        return Document(
            self.hrefs[: options.max_links],
            found.get("base"),
            found.get("refresh"),
            found.get("canonical"),
            "noindex" in directives or "none" in directives,
            "nofollow" in directives or "none" in directives,
            found.get("title", ""),
            found.get("description") or found.get("og:description", ""),
            detect(text, declared) if text else declared,
            text,
            simhash(text) if text else 0,
            markdown=main.markdown,
            text_cut=main.is_cut,
            anchors=self.anchors[: options.max_links],
            rels=self.rels[: options.max_links],
            stated=self.stated,
            **metadata._asdict(),
        )


def _one_line(text: str) -> str:
    return " ".join(text[:_LINE_LETTERS].split())


def primary_language(tag: str) -> str:
    """The primary subtag of a language tag ("en" of "en-GB"), or "" where it is none."""
    match = _LANGUAGE.match(tag)
    return match[1].lower() if match else ""


def refresh_target(content: str) -> str:
    """Where a refresh leads, as written; "" where it only reloads the page."""
    match = _REFRESH.match(content)
    return (match[1] or match[2] or match[3] or "").strip() if match else ""


def srcset_urls(srcset: str) -> Iterator[str]:
    """The image candidates of a srcset."""
    return (srcset[start:end] for start, end in srcset_places(srcset))


def srcset_places(srcset: str) -> Iterator[tuple[int, int]]:
    """Where they are: start and end of each, by the algorithm of the HTML standard (URLs may hold commas)."""
    position = 0
    while candidate := _CANDIDATE.search(srcset, position):
        url, position = candidate[0], candidate.end()
        if url.endswith(","):  # no descriptor: the comma ends the candidate
            url = url.rstrip(",")
        else:
            descriptors = _DESCRIPTORS.match(srcset, position)
            assert descriptors is not None, "the pattern matches nothing too"
            position = descriptors.end()
        yield candidate.start(), candidate.start() + len(url)
