"""The main text of a page: quickly by resiliparse (`fast`), as well as can be by trafilatura (`full`).

At depth `fast` resiliparse parses (it is lexbor too), and links and text come from that one tree. Both
extractors are imported when the first page needs them: they are slow to load. Neither is told what
language a page is in; where the page does not say, the text is asked.
"""

import logging
from typing import Any

from gcs.core.page.simhash import simhash
from gcs.core.page.values import Document
from gcs.ports.summarise import Options
from gcs.ports.summarise.html import QUERY, QUERY_WITH_IMAGES, HtmlElements, inside_svg, summarise_links

log = logging.getLogger(__name__)

#: letters of the text that tell its language
_SAMPLE_LETTERS = 2_000
#: the search for the main part is quadratic in the depth of the tree: pages with fewer tags cannot be deep,
#: others are tested against these depths (the first test is cheap and passes nearly all of them)
_SHALLOW_TAGS = 500
_DEPTHS = (64, 256)


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
    except Exception:  # a third-party parser on hostile input: its failures are not known beforehand
        log.warning("text.failed", exc_info=True, extra={"url": url})
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
    from msgspec.structs import replace

    language = document.language or language_of(text)
    return replace(document, text=text, language=language, simhash=simhash(text))


def _read(document: Any, reading: HtmlElements, options: Options) -> str | None:
    """Fill the reading from resiliparse's tree; the twin of `html.summarise_links`. Returns the root's lang."""
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
            if not inside_svg(node):
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
