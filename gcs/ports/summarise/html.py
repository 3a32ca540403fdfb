"""HTML: from the bytes of a page to its links and its text. One file, in the order of a page's way.

- Its encoding, in the order of the HTML standard: byte order mark, Content-Type header, what the document declares in
  its first 1,024 bytes; then UTF-8 where the bytes are valid UTF-8, a declaration further down (browsers start again
  when they meet one), and detection for what is left. UTF-8, nearly every page, is never decoded: lexbor reads its
  bytes. An unknown label counts as none. Encodings are named by their Python codec. `as_text` serves all formats.
- Its length: lexbor takes quadratic time for deep nesting and for many attributes. `bounded` cuts a page before the
  point where parsing it would take more than a moment. It also renames formatting elements where they could grow to
  hundreds of megabytes: the standard has those that are not closed opened again in every paragraph.
- Depth `links`: one lexbor parse and one selector walk. This is the hot path of a crawl: everything but the walk works
  on the few nodes that it returns.
- Depth `fast`: resiliparse parses (it is lexbor too), and links and text come from that one tree. Depth `full`:
  trafilatura extracts the text. Both extractors are imported when the first page needs them: they are slow to load.
  Neither is told what language a page is in; where the page does not say, the text is asked.
- `HtmlElements`: what the elements mean to a crawler. It knows no parser: it is filled by the walk of either parser, in
  document order, and emptied by `document()`. The first title, base, canonical, description and refresh count; robots
  directives add up.

Never raises, whatever the bytes. Knows nothing of URLs: links leave as they are written.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from msgspec.structs import replace
from selectolax.lexbor import LexborCSSSelector, LexborHTMLParser

from gcs.core.page.simhash import simhash
from gcs.core.page.values import Document
from gcs.events import Events
from gcs.ports.summarise import DEFAULT, Options, Source

events = Events("text")

# encoding
UTF_8 = "utf-8"
#: bytes in which the standard looks for a declaration
_PRESCAN_BYTES = 1024
#: bytes looked at to tell an undeclared encoding
_DETECT_BYTES = 128 * 1024
_BOMS = ((b"\xef\xbb\xbf", UTF_8), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_UTF_8_LABELS = frozenset(("utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"))
#: the encodings of the standard are supersets of what Python calls by the same name
_SUPERSETS = {"big5": "big5hkscs", "euc_kr": "cp949", "gbk": "gb18030", "iso8859-11": "cp874", "shift_jis": "cp932"}
#: labels of the standard that resiliparse does not know; Python has no codec for the last one
_MORE_LABELS = {"x-mac-cyrillic": "mac-cyrillic", "x-mac-ukrainian": "mac-cyrillic", "x-user-defined": "cp1252"}

_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.I)
_CONTENT_CHARSET = re.compile(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|(?!["'])([^\t\n\f\r ;]+))""", re.I
)
_XML_DECLARATION = re.compile(rb"<\?xml[^>]*+")
_XML_ENCODING = re.compile(rb"""\bencoding\s*+=\s*+["']([^"'>]*+)["']""")
_PRESCANNED = re.compile(rb"<(?:!--|(meta)[\t\n\f\r /]|/?[a-z][^\t\n\f\r >]*|[!/?])", re.I)
_META_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*(?:(=?[^\t\n\f\r />=]+)[\t\n\f\r ]*
    (?:=[\t\n\f\r ]*(?:"([^"]*)(?:"|\Z)|'([^']*)(?:'|\Z)|([^\t\n\f\r >]*)))?)?""",
    re.X,
)

# nesting
#: pages below this cannot grow, nor nest deeply
_TINY_BYTES = 8 * 1024
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
#: elements and attributes of a page: the tree takes some 250 bytes for each
_MAX_NODES = 500_000
#: a page from here on is tidied, however few its tags seem: one tag could have any number of attributes
_LARGE_BYTES = 256 * 1024
#: a tag longer than two of these has its attributes counted
_STRIDE_BYTES = 8 * 1024

#: bytes that formatting elements may grow to by being opened again, and bytes of one without its attributes
_BUDGET_BYTES, _ELEMENT_BYTES = 180 << 20, 360
#: start and end tags of formatting elements, wherever they stand; at most one <a> or <nobr> is opened again
_FORMATTING = re.compile(rb"<(/?)(?:[bisu]|font|em|tt|big|code|small|strike|strong)(?=[\s/>])", re.I)
#: start tags with attributes of formatting elements, and of some others: to tell the names exactly takes longer.
#: Of elements without attributes, three of a name are opened again
_MAYBE_FORMATTING = re.compile(rb"<(?:[bisuBISU]|[fcestbFCESTB][oOmMtTiI][a-zA-Z]{0,4}+)[\s/]")
_PLAIN_ELEMENTS = 3 * 12
#: the name that they get: it means as little
_PLAIN_ELEMENT = rb"<\1span"

_ATTRIBUTE = rb"""[^\t\n\f\r />][^\t\n\f\r />=]*+
    (?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*+"?|'[^']*+'?|[^\t\n\f\r >"'][^\t\n\f\r >]*+)?)?"""
_ATTRIBUTES = rb"(?:[\t\n\f\r /]++|" + _ATTRIBUTE + rb")*+"
_TAG = re.compile(rb"<[a-z]" + _ATTRIBUTES, re.I | re.X)
#: comments and their like; elements without markup inside; tags
_TAGS = re.compile(
    rb"<!--(?:-?>|.*?--!?>|.*+)|<[!?][^>]*+>?|</(?![a-z])[^>]*+>?"
    rb"|<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[\t\n\f\r />])(?P<raw_attributes>"
    + _ATTRIBUTES
    + rb")>?(?P<inside>.*?(?=</(?P=raw)[\t\n\f\r />])|.*+)"
    rb"|<(?P<end>/?)(?P<name>[a-z][^\t\n\f\r />]*+)(?P<attributes>" + _ATTRIBUTES + rb")>?",
    re.S | re.I | re.X,
)
#: elements without markup inside whose text is read
_READ_INSIDE = (b"title", b"textarea")
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE, re.X)
#: elements that never hold others, or that the next of their kind closes
_FLAT = frozenset(
    b"a area base br button col dd dt embed frame hr img input li link meta nobr optgroup option p param "
    b"source tbody td tfoot th thead tr track wbr".split()
)

# links and other elements
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
    r"\s*+(?:text/html|application/(?:xhtml|rss|atom|rdf)\+xml|(?:text|application)/xml)?+\s*+(?:;|$)", re.I
)
#: the content of <meta http-equiv=refresh>: seconds, then the target, perhaps quoted
_REFRESH = re.compile(
    r"""\s*+\.?\d[\d.]*+(?:\s*+[;,]|\s)\s*+(?:url\s*+=\s*+)?+(?:"([^"]*+)|'([^']*+)|([^\s"'].*+))""", re.I | re.S
)
#: elements <title> among which that of the page is looked for
_MAX_TITLES = 100
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_,]|\s*$)")
#: the next URL of a srcset; spaces and commas come before it
_CANDIDATE = re.compile(r"[^ \t\n\f\r,][^ \t\n\f\r]*+")
_DESCRIPTORS = re.compile(r"(?:[^(,]|\([^)]*\)?)*+")

#: how an element is asked for one of its attributes: each parser has its own way
Attribute = Callable[[str], str | None]

#: lexbor skips DOM mutation events, which only scripts could observe
_WITHOUT_EVENTS = 1

# text
#: letters of the text that tell its language
_SAMPLE_LETTERS = 2_000
#: the search for the main part is quadratic in the depth of the tree: pages with fewer tags cannot be deep,
#: others are tested against these depths (the first test is cheap and passes nearly all of them)
_SHALLOW_TAGS = 500
_DEPTHS = (64, 256)

# One selector engine for all pages: selectolax would build one per document (5 µs). Not thread-safe,
# which is why summaries are made on the event loop or in worker processes, never in threads.
_selector = LexborCSSSelector()  # type: ignore[no-untyped-call]


def _tag_id(name: str) -> int:
    """The number that this build of lexbor gives to a tag: cheaper to compare than its name."""
    return LexborHTMLParser("").create_node(name).tag_id


_A, _AREA, _LINK, _META = _tag_id("a"), _tag_id("area"), _tag_id("link"), _tag_id("meta")
_BASE, _TITLE, _FRAMES = _tag_id("base"), _tag_id("title"), (_tag_id("iframe"), _tag_id("frame"))


def summarise_html(source: Source) -> Document:
    """The Document of a page, as deep as is asked for."""
    markup = bounded(as_utf8(source.content, source.content_type))
    if source.depth == "links":
        return summarise_links(markup, source.options)
    if source.depth == "fast":
        return summarise_fast(markup, source.options)
    return summarise_full(markup, source.url, source.options)


# -- encoding


def as_utf8(content: bytes, content_type: str) -> bytes:
    """The document in UTF-8, without byte order mark: nearly always its own bytes, which may be invalid."""
    encoding = encoding_of(content, content_type)
    if encoding == UTF_8:
        return content.removeprefix(b"\xef\xbb\xbf")
    return content.decode(encoding, "replace").removeprefix("\ufeff").encode("utf-8", "replace")


def as_text(content: bytes, content_type: str) -> str:
    """The document as text; what is not valid in its encoding becomes U+FFFD."""
    return content.decode(encoding_of(content, content_type), "replace").removeprefix("\ufeff")


def encoding_of(content: bytes, content_type: str) -> str:
    """The Python codec that reads this document."""
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return encoding
    encoding_or_none = _header_encoding(content_type)
    if encoding_or_none is None:
        encoding_or_none = declared_encoding(content[:_PRESCAN_BYTES])
    return encoding_or_none or _detected_encoding(content[:_DETECT_BYTES])


@lru_cache(maxsize=1024)
def codec_of(label: str) -> str | None:
    """The codec that an encoding label of the WHATWG registry stands for; None for an unknown one."""
    label = label.strip().lower()
    if label in _UTF_8_LABELS:
        return UTF_8
    from resiliparse.parse.encoding import map_encoding_to_html5

    codec: str | None = _MORE_LABELS.get(label) or map_encoding_to_html5(label, fallback_utf8=False)
    return _SUPERSETS.get(codec, codec) if codec else None


def declared_encoding(head: bytes) -> str | None:
    """What <meta> (or the XML declaration) in the head of a document says: the standard's prescan."""
    lowered = head.lower()
    if b"charset" not in lowered and b"encoding" not in lowered:
        return None
    declaration = _XML_DECLARATION.match(head)
    named = _XML_ENCODING.search(declaration[0]) if declaration else None
    fallback = _declared_codec(named[1]) if named else None
    position = 0
    while match := _PRESCANNED.search(head, position):
        position = match.end()
        if match[0] == b"<!--":
            end = head.find(b"-->", match.start() + 2)
            if end < 0:
                break
            position = end + 3
        elif match[0] in (b"<!", b"</", b"<?"):
            end = head.find(b">", position)
            if end < 0:
                break
            position = end + 1
        else:
            attributes, position = _read_attributes(head, position)
            if position == len(head):  # the tag may go on behind the window
                break
            if match[1] and (codec := _meta_codec(attributes)):
                return codec
    return fallback


@lru_cache(maxsize=1024)
def _header_encoding(content_type: str) -> str | None:
    match = _HEADER_CHARSET.search(content_type)
    return codec_of(match[1]) if match else None


def _read_attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    attributes: dict[bytes, bytes] = {}
    while True:
        match = _META_ATTRIBUTE.match(head, position)
        assert match is not None, "every part of the pattern is optional"
        position = match.end()
        if match[1] is None:
            return attributes, position
        attributes.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")


def _meta_codec(attributes: dict[bytes, bytes]) -> str | None:
    if b"charset" in attributes:
        return _declared_codec(attributes[b"charset"])
    if attributes.get(b"http-equiv", b"").lower() == b"content-type":
        match = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
        if match:
            return _declared_codec(match[1] or match[2] or match[3] or b"")
    return None


def _declared_codec(label: bytes) -> str | None:
    codec = codec_of(label.decode("latin-1"))
    if codec is not None and codec.startswith("utf-16"):  # then we could not have read the declaration
        return UTF_8
    return codec


def _detected_encoding(sample: bytes) -> str:
    try:
        sample.decode()
        return UTF_8
    except UnicodeDecodeError as damage:
        if damage.start >= len(sample) - 3:  # only the cut at the end of the sample
            return UTF_8
    late = declared_encoding(sample)
    if late:
        return late
    from resiliparse.parse.encoding import detect_encoding

    codec: str = detect_encoding(sample)
    return _SUPERSETS.get(codec, codec)


# -- nesting


def bounded(markup: bytes) -> bytes:
    """The markup, or as much of its beginning as can be parsed in about a tenth of a second, and in little memory."""
    if len(markup) < _TINY_BYTES:
        return markup
    tags = markup.count(b"<")
    # the worst: half of the tags are formatting elements with all the attributes, and each other tag opens all again
    if tags * (tags * _ELEMENT_BYTES // 8 + len(markup) // 4) > _BUDGET_BYTES and _may_grow(markup, tags):
        markup = _FORMATTING.sub(_PLAIN_ELEMENT, markup)
    if len(markup) < _HARMLESS_BYTES:
        return markup
    if tags > _HARMLESS_TAGS:
        tags -= markup.count(b"</")
    if tags <= _HARMLESS_TAGS and len(markup) < _LARGE_BYTES and not _has_long_tag(markup):
        return markup
    return _tidied(markup)


def _may_grow(markup: bytes, tags: int) -> bool:
    """Whether formatting elements that are opened again could pass their budget."""
    formatting = len(_MAYBE_FORMATTING.findall(markup))
    if not formatting:
        return False
    return tags * ((formatting + _PLAIN_ELEMENTS) * _ELEMENT_BYTES + len(markup)) // 4 > _BUDGET_BYTES


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


def _tidied(markup: bytes) -> bytes:
    """The tags and the text of the markup up to where the budget ends; no other "<" is left.

    So a parser sees the same tags as this function. Where a comment or a title ends depends on what surrounds it, and
    a stranger could hide tags from one of the two.
    """
    pieces: list[bytes] = []
    stack: list[bytes] = []
    open_names: dict[bytes, int] = {}
    steps = nodes = at = 0
    for tag in _TAGS.finditer(markup):
        pieces.append(markup[at : tag.start()].replace(b"<", b"&lt;"))
        at = tag.end()
        attributes = tag["attributes"] or tag["raw_attributes"] or b""
        count = _count(attributes) if attributes else 0
        nodes += 1 + count
        if count > _MAX_ATTRIBUTES or nodes > _MAX_NODES:
            return b"".join(pieces)
        if raw := tag["raw"]:
            inside = tag["inside"].replace(b"<", b"&lt;") if raw.lower() in _READ_INSIDE else b""
            pieces.append(b"<%b%b>%b</%b>" % (raw, attributes, inside, raw))
        elif tag[0][:9].lower() == b"<!doctype" and b"<" not in tag[0][1:]:
            pieces.append(tag[0])
        name = tag["name"]
        if name is None or tag[0][-1:] != b">":  # no tag, or one that the page ends in
            continue
        pieces.append(tag[0])
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
                return b"".join(pieces)
        if name not in _FLAT:
            stack.append(name)
            open_names[name] = open_names.get(name, 0) + 1
    pieces.append(markup[at:].replace(b"<", b"&lt;"))
    return b"".join(pieces)


def _count(attributes: bytes) -> int:
    return sum(1 for _ in islice(_ONE_ATTRIBUTE.finditer(attributes), _MAX_ATTRIBUTES + 1))


# -- links


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
            if reading.wants_title() and not inside_svg(node):
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
    for _ in range(_USUAL_DEPTH):
        if ancestor is None or ancestor.tag == "head":
            return False
        if ancestor.tag == "svg":
            return True
        ancestor = ancestor.parent
    return True  # or so deep that it names nothing


# -- text


def summarise_fast(markup: bytes, options: Options) -> Document:
    """The Document of a page in UTF-8, with its main text."""
    from resiliparse.parse.html import HTMLTree

    if len(markup) > options.max_text_bytes:
        return _with_text(summarise_links(markup, options), fast_text(markup, options))
    tree = HTMLTree.parse(markup.decode("utf-8", "replace"))
    reading = HtmlElements()
    declared = _read(tree.document, reading, options)
    text = _text_of(tree, markup)
    language = reading.language(declared) or language_of(text)
    return reading.document(options, language=language, text=text, simhash=simhash(text))


def summarise_full(markup: bytes, url: str, options: Options) -> Document:
    """The Document of a page in UTF-8, with its main text by trafilatura: milliseconds. See `TextPool`."""
    return _with_text(summarise_links(markup, options), full_text(markup, url, options))


def fast_text(markup: bytes, options: Options) -> str:
    """The main text by resiliparse, of at most the first `max_text_bytes`."""
    from resiliparse.parse.html import HTMLTree

    markup = markup[: options.max_text_bytes]
    return _text_of(HTMLTree.parse(markup.decode("utf-8", "replace")), markup)


def full_text(markup: bytes, url: str, options: Options) -> str:
    """The main text by trafilatura; by resiliparse where that finds none."""
    import trafilatura

    page = markup[: options.max_text_bytes].decode("utf-8", "replace")
    try:
        text: str | None = trafilatura.extract(page, url=url, include_comments=False)
    except Exception as error:  # a third-party parser on hostile input: its failures are not known beforehand
        events.warning("failed", url=url, cause=error)
        text = None
    return text or fast_text(markup, options)


def language_of(text: str) -> str:
    """The language of a text as ISO 639-1, or "" where it cannot be told."""
    from resiliparse.parse.lang import detect_fast

    if not text:
        return ""
    language: str = detect_fast(text[:_SAMPLE_LETTERS])[0]
    return "" if language == "unknown" else language


def _with_text(document: Document, text: str) -> Document:
    language = document.language or language_of(text)
    return replace(document, text=text, language=language, simhash=simhash(text))


def _read(document: Any, reading: "HtmlElements", options: Options) -> str | None:
    """Fill the reading from resiliparse's tree; the twin of `summarise_links`. Returns the root's lang."""
    hrefs = reading.hrefs
    for node in document.query_selector_all(QUERY_WITH_IMAGES if options.images else QUERY):
        tag = node.tag
        if tag in ("a", "area"):
            hrefs.append(node.getattr("href") or "")
        elif tag == "meta":
            reading.meta(node.getattr, options.agent)
        elif tag == "link":
            reading.link(node.getattr)
        elif tag == "title":
            if reading.wants_title() and not inside_svg(node):
                reading.title(node.text)
        elif tag == "base":
            reading.base(node.getattr("href") or "")
        elif tag in ("iframe", "frame"):
            hrefs.append(node.getattr("src") or "")
        else:
            reading.image(node.getattr)
    root = document.first_element_child
    return (root.getattr("lang") or root.getattr("xml:lang")) if root else None


def _text_of(tree: Any, markup: bytes) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    deep = markup.count(b"<") > _SHALLOW_TAGS and all(
        tree.document.query_selector(">".join("*" * depth)) is not None for depth in _DEPTHS
    )
    text: str = extract_plain_text(tree, main_content=not deep, links=False)
    return text.strip()


# -- elements


class HtmlElements:
    """What is known of a page so far."""

    __slots__ = ("_directives", "_found", "_titles", "hrefs")

    def __init__(self) -> None:
        self.hrefs: list[str] = []
        self._titles = 0
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

    def wants_title(self) -> bool:
        """Whether this <title> may be the page's: it has none yet, and only so many drawings came before."""
        self._titles += 1
        return "title" not in self._found and self._titles <= _MAX_TITLES

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
    position = 0
    while candidate := _CANDIDATE.search(srcset, position):
        url, position = candidate[0], candidate.end()
        if url.endswith(","):  # no descriptor: the comma ends the candidate
            url = url.rstrip(",")
        else:
            descriptors = _DESCRIPTORS.match(srcset, position)
            assert descriptors is not None, "the pattern matches nothing too"
            position = descriptors.end()
        yield url
