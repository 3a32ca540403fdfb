"""Archived markup: a stored page or style sheet, changed so that what it needs is asked for where its archive is.

Each URL that a browser would load for the page (see `requisites`) is replaced; links become absolute; all else stays as
it was sent. What is not replaced, because it was not recognised or is too much, must be refused by the policy that the
page is shown under: this module makes archives look right, it does not make them safe.

Never raises, whatever the bytes; linear in them.
"""

from collections.abc import Callable, Iterable

from turbohtml.rewrite import Element, rewrite

from gcs.core.url.canonical import DEFAULT, UrlRules
from gcs.core.url.join import Joiner
from gcs.ports.summarise.encoding import as_text
from gcs.ports.summarise.html import srcset_places
from gcs.ports.summarise.requisites import ATTRIBUTES, MOST_STYLE, is_fetched, style_urls

#: bytes of a page that is changed; a larger one stays as it is
MOST_BYTES = 8 << 20
#: URLs that are made absolute or replaced: each may grow by the length of the base
MOST_URLS = 5_000
_LINKS = frozenset(("a", "area"))
_FRAMES = frozenset(("iframe", "frame"))
#: what keeps a browser from loading what is here: the hash of a style sheet that was changed, for one
_DROPPED = ("integrity", "crossorigin", "loading")
_META = frozenset(("content-security-policy", "refresh"))


class ArchivedMarkup:
    """The markup of one URL. For one use."""

    def __init__(self, url: str, place_of: Callable[[str, bool], str], rules: UrlRules = DEFAULT) -> None:
        """`place_of`: a URL, and whether a frame needs it → where it is archived. In it: no blank, quote or bracket."""
        self._base, self._place_of = url, place_of
        self._joiner = Joiner(rules)
        self._left = MOST_URLS
        #: the element whose text comes next; what stands in a <noscript> is markup, of which none is looked into again
        self._tag, self._is_noscript = "", False

    def page(self, content: bytes, content_type: str) -> str:
        """The page."""
        text = as_text(content, content_type)
        if len(content) > MOST_BYTES:
            return text
        try:
            return self._changed(text)
        except ValueError:  # a text that cannot be where it is
            return text

    def style(self, content: bytes, content_type: str) -> str:
        """The style sheet."""
        return self._styled(as_text(content[:MOST_STYLE], content_type))

    def _changed(self, markup: str) -> str:
        return rewrite(markup, elements=[("*", self._element)], text=self._text)

    def _element(self, element: Element) -> None:
        get, tag = element.get, element.tag or ""
        self._tag = tag
        if tag == "base":
            self._base = self._absolute(get("href") or "") or self._base
            element.remove()
        elif tag == "meta" and (get("http-equiv") or "").strip().lower() in _META:
            element.remove()
        elif tag in _LINKS:
            if (href := get("href")) and not href.startswith("#") and (url := self._absolute(href)):
                element.set_attribute("href", url)
        elif tag == "link" or tag in ATTRIBUTES:
            if tag == "img" and not is_fetched(get("src") or "") and (later := get("data-src")):
                element.set_attribute("src", later)  # a script of the page would have done so
            for name in filter(element.has_attribute, _DROPPED):
                element.remove_attribute(name)
            single, several = ATTRIBUTES.get(tag, (("href",), ("imagesrcset",)))
            for name in single:
                if href := get(name):
                    element.set_attribute(name, self._place(href, tag in _FRAMES))
            for name in several:
                if srcset := get(name):
                    element.set_attribute(name, self._replaced(srcset, srcset_places(srcset)))
        if style := get("style"):
            element.set_attribute("style", self._styled(style[:MOST_STYLE]))

    def _text(self, text: Element) -> None:
        tag, self._tag = self._tag, ""
        if tag == "style":
            text.set_text(self._styled((text.text or "")[:MOST_STYLE]))
        elif tag == "noscript" and not self._is_noscript:  # no script runs where this is shown
            self._is_noscript = True
            text.set_text(self._changed(text.text or ""))
            self._is_noscript = False

    def _styled(self, style: str) -> str:
        return self._replaced(style, style_urls(style))

    def _replaced(self, text: str, places: Iterable[tuple[int, int]]) -> str:
        parts, end = list[str](), 0
        for start, last in places:
            parts += [text[end:start], self._place(text[start:last].strip())]
            end = last
        return "".join([*parts, text[end:]])

    def _place(self, href: str, is_frame: bool = False) -> str:
        if not is_fetched(href) or not (url := self._absolute(href)):
            return href
        _, mark, fragment = href.partition("#")
        return self._place_of(url, is_frame) + (f"#{fragment}" if mark and fragment.isalnum() else "")

    def _absolute(self, href: str) -> str:
        """The canonical URL; "" if there is none, or if there were too many."""
        self._left -= 1
        return next(iter(self._joiner.join(self._base, (href,))), "") if self._left >= 0 else ""
