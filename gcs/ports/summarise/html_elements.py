"""Reading: what the elements of an HTML page mean to a crawler, whichever parser found them.

Filled by the walkers (`html.py`, `maintext.py`) in document order, emptied by `document()`. The first
title, base, canonical, description and refresh count; robots directives add up. Knows no parser.
"""

import re
from collections.abc import Callable, Iterator

from gcs.core.page.values import Document
from gcs.ports.summarise import Options

_NOT_NOFOLLOW = ':not([rel~="nofollow" i])'
#: the elements that a Reading wants to see
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
        """The value that leaves."""
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
