"""HTML, depth `links`: one lexbor parse and one selector walk.

The hot path of a crawl: everything but the walk works on the few nodes that it returns. Never raises,
whatever the bytes. Knows nothing of URLs: links leave as they are written.
"""

from selectolax.lexbor import LexborCSSSelector, LexborHTMLParser, LexborNode

from gcs.core.page import Document
from gcs.ports.summarise.options import DEFAULT, Options
from gcs.ports.summarise.reading import QUERY, QUERY_WITH_IMAGES, Reading

#: lexbor skips DOM mutation events, which only scripts could observe
_WITHOUT_EVENTS = 1

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
    reading = Reading()
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
            if not _inside_svg(node):
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


def _inside_svg(node: LexborNode) -> bool:
    """Whether a <title> names a drawing and not the page."""
    ancestor = node.parent
    while ancestor is not None:
        tag = ancestor.tag
        if tag == "head" or tag == "svg":
            return tag == "svg"
        ancestor = ancestor.parent
    return False
