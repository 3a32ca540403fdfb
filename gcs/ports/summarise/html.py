"""HTML: links, base, canonical, refresh, robots directives, title, description and language of a page.

The hot path of a crawl: one lexbor parse and one selector walk, everything else works on the few
nodes that the walk returns. Never raises, whatever the bytes. Knows nothing of URLs: links leave as
they are written. Must not be given anything but text that claims to be HTML.
"""

import re
from collections.abc import Iterable

from selectolax.lexbor import LexborCSSSelector, LexborHTMLParser, LexborNode

from gcs.core.page import Document
from gcs.ports.summarise.options import DEFAULT, Options

#: lexbor skips DOM mutation events, which only scripts could observe
_WITHOUT_EVENTS = 1
_NOT_NOFOLLOW = ':not([rel~="nofollow" i])'
_QUERY = (
    f"a[href]{_NOT_NOFOLLOW},area[href]{_NOT_NOFOLLOW},link[href][rel],meta[content],base[href],"
    "iframe[src],frame[src],title"
)
_QUERY_IMAGES = f"{_QUERY},img,source[srcset]"

#: link relations that lead to other documents
_FOLLOWED = frozenset(("alternate", "next", "prev", "previous"))
#: what an alternate may be, where it says; the others are oEmbed and JSON endpoints
_FOLLOWED_TYPES = re.compile(
    r"\s*(?:$|text/html|application/(?:xhtml|rss|atom|rdf)\+xml|(?:text|application)/xml\b(?!\+))", re.I
)
#: the content of <meta http-equiv=refresh>: seconds, then the target, perhaps quoted
_REFRESH = re.compile(
    r"""\s*[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(?:"(?P<double>[^"]*)|'(?P<single>[^']*)|(?P<bare>\S.*))""", re.I | re.S
)
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_]|\s*$|,)")

# One selector engine for all pages: selectolax would build one per document (5 µs). Not thread-safe,
# which is why summaries are made on the event loop or in worker processes, never in threads.
_selector = LexborCSSSelector()  # type: ignore[no-untyped-call]


def _tag_ids() -> dict[str, int]:
    """The numbers that this build of lexbor gives to the tags: comparing them is cheaper than names."""
    names = ("a", "area", "link", "meta", "base", "iframe", "frame", "title", "img", "source")
    return {name: LexborHTMLParser("").create_node(name).tag_id for name in names}


_TAGS = _tag_ids()
_A, _LINK, _META, _BASE, _TITLE = (_TAGS[name] for name in ("a", "link", "meta", "base", "title"))
_AREA, _FRAMES, _IMAGES = _TAGS["area"], (_TAGS["iframe"], _TAGS["frame"]), (_TAGS["img"], _TAGS["source"])


def summarise_html(markup: bytes | str, options: Options = DEFAULT) -> Document:
    """The Document of a page, without text. Bytes are taken as UTF-8, which saves the way through str."""
    parser = LexborHTMLParser(markup, options=_WITHOUT_EVENTS)
    root = parser.root
    if root is None:
        return Document(hrefs=[])
    hrefs: list[str] = []
    found: dict[str, str] = {}
    directives: list[str] = []
    for node in _selector.find(_QUERY_IMAGES if options.images else _QUERY, root):
        tag = node.tag_id
        if tag == _A:  # the most frequent by far
            hrefs.append(node.attrs.get("href") or "")
        elif tag == _META:
            _read_meta(node.attributes, options.agent, found, directives)
        elif tag == _LINK:
            _read_link(node.attributes, hrefs, found)
        elif tag == _TITLE:
            if "title" not in found and not _inside_svg(node):
                found["title"] = " ".join(node.text().split())
        elif tag == _BASE:
            found.setdefault("base", node.attrs.get("href") or "")
        elif tag == _AREA:
            hrefs.append(node.attrs.get("href") or "")
        elif tag in _FRAMES:
            hrefs.append(node.attrs.get("src") or "")
        else:
            _read_image(node.attributes, hrefs)
    if len(hrefs) > options.max_links:
        del hrefs[options.max_links :]
    language = root.attrs.get("lang") or root.attrs.get("xml:lang") or found.get("language")
    return Document(
        hrefs,
        found.get("base"),
        found.get("refresh"),
        found.get("canonical"),
        "noindex" in directives or "none" in directives,
        "nofollow" in directives or "none" in directives,
        found.get("title", ""),
        found.get("description") or found.get("og:description", ""),
        primary_language(language) if language else "",
    )


def primary_language(tag: str) -> str:
    """The primary subtag of a language tag ("en" of "en-GB"), or "" where it is none."""
    match = _LANGUAGE.match(tag)
    return match[1].lower() if match else ""


def srcset_urls(srcset: str) -> Iterable[str]:
    """The image candidates of a srcset, by the algorithm of the HTML standard (URLs may hold commas)."""
    rest = srcset.lstrip(" \t\n\f\r,")
    while rest:
        parts = rest.split(None, 1)
        url, rest = parts[0], parts[1] if len(parts) > 1 else ""
        if url.endswith(","):  # no descriptor: the comma ends the candidate
            url = url.rstrip(",")
        else:
            rest = re.sub(r"^(?:[^(,]|\([^)]*\)?)*", "", rest, count=1)
        yield url
        rest = rest.lstrip(" \t\n\f\r,")


def _read_meta(attributes: dict[str, str | None], agent: str, found: dict[str, str], directives: list[str]) -> None:
    name = (attributes.get("name") or attributes.get("property") or "").lower()
    content = attributes.get("content") or ""
    if name:
        if name == "description" or name == "og:description":
            found.setdefault(name, " ".join(content.split()))
        elif name == "robots" or name == agent:
            directives += [directive.strip() for directive in content.lower().split(",")]
        return
    http_equiv = (attributes.get("http-equiv") or "").lower()
    if http_equiv == "refresh":
        match = _REFRESH.match(content)
        if match:
            target = match["double"] or match["single"] or match["bare"] or ""
            if target.strip():
                found.setdefault("refresh", target.strip())
    elif http_equiv == "content-language":
        found.setdefault("language", content)


def _read_link(attributes: dict[str, str | None], hrefs: list[str], found: dict[str, str]) -> None:
    href = attributes.get("href") or ""
    relations = (attributes.get("rel") or "").lower().split()
    if "canonical" in relations:
        found.setdefault("canonical", href)
    elif "stylesheet" in relations or "nofollow" in relations:
        return
    elif not _FOLLOWED.isdisjoint(relations) and _FOLLOWED_TYPES.match(attributes.get("type") or ""):
        hrefs.append(href)


def _read_image(attributes: dict[str, str | None], hrefs: list[str]) -> None:
    source = attributes.get("src")
    if source:
        hrefs.append(source)
    hrefs.extend(srcset_urls(attributes.get("srcset") or ""))


def _inside_svg(node: LexborNode) -> bool:
    """Whether a <title> names a drawing and not the page."""
    ancestor = node.parent
    while ancestor is not None:
        tag = ancestor.tag
        if tag == "head" or tag == "svg":
            return tag == "svg"
        ancestor = ancestor.parent
    return False
