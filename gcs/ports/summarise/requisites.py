"""Requisites: what a page needs to look like itself, as it is written there.

Of HTML: style sheets, icons, scripts, images (also those that a script loads later), frames, and what its style
attributes and <style> elements name. Of CSS: imports, fonts, images. Sound and film are left out, for their size.

Never raises, whatever the bytes; linear in them. Knows nothing of URLs: links leave as they are written.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from turbohtml import parse

from gcs.ports.summarise.encoding import as_text, as_utf8
from gcs.ports.summarise.html import srcset_urls
from gcs.ports.summarise.markup_guard import guarded

#: characters of a style sheet, or of all styles in a page, that are read
MOST_STYLE = 2 << 20
#: relations of a <link> to what the page needs
_NEEDED = frozenset((
    "stylesheet", "icon", "apple-touch-icon", "mask-icon", "preload", "modulepreload", "manifest",
))  # fmt: skip
#: element → the attributes that name one URL, and those that name several
ATTRIBUTES = {
    "script": (("src",), ()),
    "img": (("src", "data-src"), ("srcset", "data-srcset")),
    "source": ((), ("srcset", "data-srcset")),
    "video": (("poster",), ()),
    "input": (("src",), ()),
    "iframe": (("src",), ()),
    "frame": (("src",), ()),
    "embed": (("src",), ()),
    "object": (("data",), ()),
    "image": (("href", "xlink:href"), ()),
    "use": (("href", "xlink:href"), ()),
    "body": (("background",), ()),
    "table": (("background",), ()),
    "td": (("background",), ()),
}
_TAGS = (*ATTRIBUTES, "link", "base", "style")
#: url(…), quoted or bare, and @import "…"; comments of CSS, in which they mean nothing
_STYLE_URL = re.compile(
    r"""/\*|url\(\s*+(?:"([^"\n]*+)"|'([^'\n]*+)'|([^)\s"']*+))|@import\s++(?:"([^"\n]*+)"|'([^'\n]*+)')""", re.I
)


class Requisites(NamedTuple):
    """The hrefs in their order, and the base that the document names for them."""

    hrefs: list[str]
    base: str | None = None


def requisites_of_html(content: bytes, content_type: str, most: int) -> Requisites:
    """What a page needs; at most so many hrefs."""
    markup, _ = guarded(as_utf8(content, content_type))
    tree = parse(markup, encoding="utf-8", positions=False)
    base, styles = list[str](), list[str]()

    def found() -> Iterator[str]:
        room = MOST_STYLE
        for node in tree.iter_elements(_TAGS):
            tag = node.tag
            if tag == "base":
                base.append(node.attr("href") or "")
            elif tag == "style":
                if room > 0:  # in a drawing, styles may stand in one another: each has the text of all in it
                    styles.append(node.text[:room])
                    room -= len(styles[-1])
            elif tag == "link":
                yield from _of_link(node.attr)
            else:
                single, several = ATTRIBUTES[tag]
                yield from (href for name in single if (href := node.attr(name)))
                for name in several:
                    yield from srcset_urls(node.attr(name) or "")
        styles.extend(str(node.attr("style")) for node in tree.select("[style]"))
        yield from _style_urls("\n".join(styles)[:MOST_STYLE])

    hrefs = list(islice(dict.fromkeys(filter(is_fetched, found())), most))
    return Requisites(hrefs, next(filter(None, base), None))


def requisites_of_css(content: bytes, content_type: str, most: int) -> Requisites:
    """What a style sheet needs; at most so many hrefs."""
    urls = filter(is_fetched, _style_urls(as_text(content[:MOST_STYLE], content_type)))
    return Requisites(list(islice(dict.fromkeys(urls), most)))


def _of_link(get: Callable[[str], str | None]) -> Iterator[str]:
    if not _NEEDED.isdisjoint((get("rel") or "").lower().split()):
        yield get("href") or ""
        yield from srcset_urls(get("imagesrcset") or "")


def _style_urls(style: str) -> Iterator[str]:
    return (style[start:end].strip() for start, end in style_urls(style))


def style_urls(style: str) -> Iterator[tuple[int, int]]:
    """Where the URLs of a style sheet are: start and end of each."""
    at = 0
    while match := _STYLE_URL.search(style, at):
        at = match.end()
        if match[0] == "/*":
            end = style.find("*/", at)
            at = len(style) if end < 0 else end + 2
        elif match.lastindex:
            yield match.span(match.lastindex)


def is_fetched(href: str) -> bool:
    """Whether there is something to fetch: no part of the page itself, nothing that stands in its own URL."""
    return bool(href) and not href.startswith("#") and href[:5].lower() not in ("data:", "blob:", "about", "javas")
