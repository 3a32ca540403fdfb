"""HTML: its links by one lexbor parse and one selector walk (depth `links`), and what its elements mean to a crawler.

The hot path of a crawl: everything but the walk works on the few nodes that it returns. Never raises,
whatever the bytes. Knows nothing of URLs: links leave as they are written.

`HtmlElements` knows no parser: it is filled by the walkers, here and in `main_text`, in document order, and emptied by
`document()`. The first title, base, canonical, description and refresh count; robots directives add up.

Lexbor takes quadratic time for deep nesting and for many attributes: `bounded` cuts a page before the point where
parsing it would take more than a moment.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from selectolax.lexbor import LexborCSSSelector, LexborHTMLParser

from gcs.core.page.values import Document
from gcs.ports.summarise import DEFAULT, Options

_NOT_NOFOLLOW = ':not([rel~="nofollow" i])'
#: the elements that are looked at
QUERY = (
    f"a[href]{_NOT_NOFOLLOW},area[href]{_NOT_NOFOLLOW},link[href][rel],meta[content],base[href],"
    "iframe[src],frame[src],title"
)
QUERY_WITH_IMAGES = f"{QUERY},img,source[srcset]"

#: relations of <link> that lead to other documents
_FOLLOWED = frozenset(("alternate", "next", "prev", "previous"))
#: what an alternate may be where it says so; the others are oEmbed and JSON endpoints
_FOLLOWED_TYPE = re.compile(
    r"\s*(?:text/html|application/(?:xhtml|rss|atom|rdf)\+xml|(?:text|application)/xml)?\s*(?:;|$)", re.I
)
#: the content of <meta http-equiv=refresh>: seconds, then the target, perhaps quoted
_REFRESH = re.compile(r"""\s*\.?\d[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?+(?:"([^"]*)|'([^']*)|([^\s"'].*))""", re.I | re.S)
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_,]|\s*$)")
_DESCRIPTORS = re.compile(r"(?:[^(,]|\([^)]*\)?)*+")
_SPACE = " \t\n\f\r"

#: how an element is asked for one of its attributes: each parser has its own way
Attribute = Callable[[str], str | None]

#: lexbor skips DOM mutation events, which only scripts could observe
_WITHOUT_EVENTS = 1
#: start tags that are harmless however they are nested (their parse takes a tenth of a second at most)
_HARMLESS_TAGS = 8_000
#: shortest element that nests: four bytes
_HARMLESS_BYTES = 4 * _HARMLESS_TAGS
#: nesting that does not count: the largest honest pages have it
_USUAL_DEPTH = 200
#: steps along the stack that a page may cost beyond that; lexbor takes about 3 ns for one
_BUDGET_STEPS = 30_000_000
#: attributes that one tag may have
_MAX_ATTRIBUTES = 2_000
#: a tag longer than two of these has its attributes counted
_STRIDE_BYTES = 8 * 1024

_ATTRIBUTE = rb"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>"'][^\s>]*+)?)?"""
_ATTRIBUTES = rb"(?:[\s/]++|" + _ATTRIBUTE + rb")*+"
_TAG = re.compile(rb"<[a-z]" + _ATTRIBUTES, re.I)
_TAGS = re.compile(
    rb"<!--(?:.*?-->|.*+)"
    rb"|<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[\s/>])(?P<raw_attributes>"
    + _ATTRIBUTES
    + rb")>?(?:.*?(?=</(?P=raw))|.*+)"
    rb"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*+)(?P<attributes>" + _ATTRIBUTES + rb")",
    re.S | re.I,
)
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE)
#: elements that never hold others, or that the next of their kind closes
_FLAT = frozenset(
    b"a area base br button col dd dt embed frame hr img input li link meta nobr optgroup option p param "
    b"source tbody td tfoot th thead tr track wbr".split()
)

# One selector engine for all pages: selectolax would build one per document (5 µs). Not thread-safe,
# which is why summaries are made on the event loop or in worker processes, never in threads.
_selector = LexborCSSSelector()  # type: ignore[no-untyped-call]


def _tag_id(name: str) -> int:
    """The number that this build of lexbor gives to a tag: cheaper to compare than its name."""
    return LexborHTMLParser("").create_node(name).tag_id


_A, _AREA, _LINK, _META = _tag_id("a"), _tag_id("area"), _tag_id("link"), _tag_id("meta")
_BASE, _TITLE, _FRAMES = _tag_id("base"), _tag_id("title"), (_tag_id("iframe"), _tag_id("frame"))


def summarise_links(markup: bytes, options: Options = DEFAULT) -> Document:
    """The Document of a page (in UTF-8: lexbor reads bytes, a str would be encoded again), without text."""
    root = LexborHTMLParser(markup, options=_WITHOUT_EVENTS).root
    reading = HtmlElements()
    if root is None:
        return reading.document(options, language="")
    hrefs = reading.hrefs
    for node in _selector.find(QUERY_WITH_IMAGES if options.images else QUERY, root):
        tag = node.tag_id
        if tag == _A:
            hrefs.append(node.attrs.get("href") or "")
        elif tag == _META:
            reading.meta(node.attributes.get, options.agent)
        elif tag == _LINK:
            reading.link(node.attributes.get)
        elif tag == _TITLE:
            if not inside_svg(node):
                reading.title(node.text())
        elif tag == _AREA:
            hrefs.append(node.attrs.get("href") or "")
        elif tag == _BASE:
            reading.base(node.attrs.get("href") or "")
        elif tag in _FRAMES:
            hrefs.append(node.attrs.get("src") or "")
        else:
            reading.image(node.attributes.get)
    declared = root.attrs.get("lang") or root.attrs.get("xml:lang")
    return reading.document(options, language=reading.language(declared))


def inside_svg(node: Any) -> bool:
    """Whether a <title> names a drawing and not the page. The node is one of lexbor or of resiliparse."""
    ancestor = node.parent
    while ancestor is not None and ancestor.tag not in ("head", "svg"):
        ancestor = ancestor.parent
    return ancestor is not None and ancestor.tag == "svg"


# -- elements


class HtmlElements:
    """What is known of a page so far."""

    __slots__ = ("_directives", "_found", "hrefs")

    def __init__(self) -> None:
        self.hrefs: list[str] = []
        self._found: dict[str, str] = {}
        self._directives: list[str] = []

    def meta(self, get: Attribute, agent: str) -> None:
        name = get("name") or get("property")
        content = get("content") or ""
        if name:
            name = name.lower()
            if name in ("description", "og:description"):
                self._found.setdefault(name, " ".join(content.split()))
            elif name in ("robots", agent):
                self._directives += [directive.strip() for directive in content.lower().split(",")]
            return
        http_equiv = (get("http-equiv") or "").lower()
        if http_equiv == "refresh":
            target = refresh_target(content)
            if target:
                self._found.setdefault("refresh", target)
        elif http_equiv == "content-language":
            self._found.setdefault("language", content)

    def link(self, get: Attribute) -> None:
        relations = (get("rel") or "").lower().split()
        if "stylesheet" in relations:  # the usual one, first
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

    def title(self, text: str) -> None:
        """The <title> of the page, not of a drawing in it."""
        self._found.setdefault("title", " ".join(text.split()))

    def language(self, declared: str | None) -> str:
        """The language that the root element or the page declares, or ""."""
        return primary_language(declared or self._found.get("language") or "")

    def document(self, options: Options, *, language: str, text: str = "", simhash: int = 0) -> Document:
        found, directives = self._found, self._directives
        return Document(
            self.hrefs[: options.max_links],
            found.get("base"),
            found.get("refresh"),
            found.get("canonical"),
            "noindex" in directives or "none" in directives,
            "nofollow" in directives or "none" in directives,
            found.get("title", ""),
            found.get("description") or found.get("og:description", ""),
            language,
            text,
            simhash,
        )


def primary_language(tag: str) -> str:
    """The primary subtag of a language tag ("en" of "en-GB"), or "" where it is none."""
    match = _LANGUAGE.match(tag)
    return match[1].lower() if match else ""


def refresh_target(content: str) -> str:
    """Where a refresh leads, as written; "" where it only reloads the page."""
    match = _REFRESH.match(content)
    return (match[1] or match[2] or match[3] or "").strip() if match else ""


def srcset_urls(srcset: str) -> Iterator[str]:
    """The image candidates of a srcset, by the algorithm of the HTML standard (URLs may hold commas)."""
    rest = srcset.lstrip(_SPACE + ",")
    while rest:
        url, _, _ = rest.partition(next((space for space in rest if space in _SPACE), "\0"))
        rest = rest[len(url) :]
        if url.endswith(","):  # no descriptor: the comma ends the candidate
            url = url.rstrip(",")
        else:
            descriptors = _DESCRIPTORS.match(rest)
            assert descriptors is not None, "the pattern matches nothing too"
            rest = rest[descriptors.end() :]
        yield url
        rest = rest.lstrip(_SPACE + ",")


# -- nesting


def bounded(markup: bytes) -> bytes:
    """The markup, or as much of its beginning as can be parsed in about a tenth of a second."""
    if len(markup) < _HARMLESS_BYTES:
        return markup
    tags = markup.count(b"<")
    if tags > _HARMLESS_TAGS:
        tags -= markup.count(b"</")
    if tags <= _HARMLESS_TAGS and not _has_long_tag(markup):
        return markup
    return markup[: _cut(markup)]


def _has_long_tag(markup: bytes) -> bool:
    """Whether a tag spans a whole stride: then there is no other in it."""
    filled = True
    for start in range(0, len(markup), _STRIDE_BYTES):
        before, filled = filled, markup.find(b"<", start, start + _STRIDE_BYTES) >= 0
        if before and not filled:
            tag = _TAG.match(markup, max(markup.rfind(b"<", max(0, start - _STRIDE_BYTES), start), 0))
            if tag and tag.end() - tag.start() > _STRIDE_BYTES:
                return True
    return False


def _cut(markup: bytes) -> int:
    """Where the budget ends."""
    stack: list[bytes] = []
    open_names: dict[bytes, int] = {}
    steps = 0
    for tag in _TAGS.finditer(markup):
        attributes = tag["attributes"] or tag["raw_attributes"] or b""
        if len(attributes) > 2 * _MAX_ATTRIBUTES and _count(attributes) > _MAX_ATTRIBUTES:
            return tag.start()
        name = tag["name"]
        if name is None:  # a comment, or an element without markup inside
            continue
        name = name.lower()
        if tag["end"]:
            if open_names.get(name):
                while stack:
                    closed = stack.pop()
                    open_names[closed] -= 1
                    if closed == name:
                        break
            continue
        if len(stack) > _USUAL_DEPTH:
            steps += len(stack)
            if steps > _BUDGET_STEPS:
                return tag.start()
        if name not in _FLAT:
            stack.append(name)
            open_names[name] = open_names.get(name, 0) + 1
    return len(markup)


def _count(attributes: bytes) -> int:
    return sum(1 for _ in islice(_ONE_ATTRIBUTE.finditer(attributes), _MAX_ATTRIBUTES + 1))
