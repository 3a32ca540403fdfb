"""Joining: makes the links of a page absolute and canonical; with them, `facts_of` makes the facts kept of a page.

Invariant: joining is exactly WHATWG resolution followed by `canonical`. It is the hottest pure code of a
gatherer (some 40 links a page), so a string is joined wherever that provably equals resolution, the parser is
spared wherever it provably changes nothing, and answers are remembered. It must not judge URLs (`core.url.scope`).

Gatherers, helpers and the gateway (for claims) all go through `facts_of`, so that a page means the same to each.
"""

import re
from collections.abc import Iterable
from itertools import accumulate

from gcs.core.page.values import LINE_LENGTH, URL_LENGTH, Document, PageFacts
from gcs.core.url.canonical import DEFAULT, Canonicaliser, UrlRules, canonicaliser
from gcs.core.url.sources import source_url

#: characters that no step changes, wherever in a path they stand
_CLEAN = re.compile(r"[A-Za-z0-9/._~!$&'*+,=:@-]*").fullmatch
#: an origin that no step changes, unless a label of it is Punycode: no address, no port
_PLAIN_ORIGIN = re.compile(r"https?://(?:[a-z0-9_-]{1,63}+\.){1,20}+[a-z]{2,63}+").fullmatch
#: what the WHATWG parser cuts off both ends of its input
_BLANK = "".join(map(chr, range(0x21)))
#: after the first slash these make "/x" something else than a path of the same host, or hide the second slash
_SLASH_LIKE = frozenset("\\\t\n\r")
_WEB = ("http://", "https://")
#: characters of an href that is not worth remembering
_LONG = 1024
#: so many links are within the limit below, whatever their length
_FEW = 50
#: characters of all links of a page together: a sitemap of 50,000 usual URLs has a third of it
LINKS_LENGTH = 16 << 20
#: characters of answers that count as one more of them in the memory of a joiner
_HELD_LENGTH = 512


def facts_of(
    document: Document, url: str, joiner: "Joiner", *, heed: bool, noindex: bool = False, nofollow: bool = False
) -> PageFacts:
    """From a document as written to the facts of the page at this URL: links become canonical, directives are heeded.

    `heed`: the crawl heeds robots directives; `noindex` and `nofollow`: those of the response's headers.
    """
    final_url, outlinks = url, list[str]()
    anchors, rels, dates = list[str](), list[str](), list[str]()
    if not (heed and (nofollow or document.nofollow)):
        base = (document.base and _first(joiner, url, document.base)) or url
        hrefs = document.hrefs
        if document.canonical or document.refresh:
            final_url = (document.canonical and _first(joiner, base, document.canonical)) or url
            hrefs = [*filter(None, (document.refresh, document.canonical)), *hrefs]
        # each link may grow by the length of the base: a page of 700 KB could become 800 MB
        outlinks = _bounded(joiner.join(base, hrefs[: LINKS_LENGTH // len(base)]))
        if len(document.anchors) == len(document.rels) > 0:
            anchors, rels = _anchors(document, base, joiner, outlinks)
        if document.dates:
            dates = _dates(document, base, joiner, outlinks)
    return PageFacts(
        final_url,
        document.title[:LINE_LENGTH],
        document.description[:LINE_LENGTH],
        document.language,
        document.text,
        document.simhash,
        outlinks,
        heed and (noindex or document.noindex),
        document.source,
        document.shell,
        document.thumbnail,
        document.markdown,
        document.text_cut,
        document.author[:LINE_LENGTH],
        document.published[:LINE_LENGTH],
        document.modified[:LINE_LENGTH],
        document.site_name[:LINE_LENGTH],
        document.page_type[:LINE_LENGTH],
        document.keywords,
        anchors,
        rels,
        dates=dates,
        stated=document.stated,
    )


def _anchors(document: Document, base: str, joiner: "Joiner", outlinks: list[str]) -> tuple[list[str], list[str]]:
    """Text and rel of each out-link: those of the first link to it that has a text."""
    found: dict[str, tuple[str, str]] = {}
    for href, text, rel in zip(document.hrefs, document.anchors, document.rels):
        url = _first(joiner, base, href)
        if url is not None and not found.get(url, ("", ""))[0]:
            found[url] = text, rel
    both = [found.get(url, ("", "")) for url in outlinks]
    return [text for text, _ in both], [rel for _, rel in both]


def _dates(document: Document, base: str, joiner: "Joiner", outlinks: list[str]) -> list[str]:
    """The date of each out-link: the first that the document gives it. Empty if there is none at all."""
    found: dict[str, str] = {}
    for href, date in zip(document.hrefs, document.dates):
        if date and (url := _first(joiner, base, href)) is not None:
            found.setdefault(url, date)
    return [found.get(url, "") for url in outlinks] if found else []


def _first(joiner: "Joiner", base: str, href: str) -> str | None:
    """One link as a canonical URL; None if it is none."""
    return next(iter(joiner.join(base, (href,))), None)


def _bounded(urls: list[str]) -> list[str]:
    """The first of the URLs, as many as have LINKS_LENGTH characters together."""
    if len(urls) < _FEW or sum(map(len, urls)) <= LINKS_LENGTH:
        return urls
    return urls[: sum(total <= LINKS_LENGTH for total in accumulate(map(len, urls)))]


class Joiner:
    """Makes the links of pages absolute and canonical. Not for use by two threads at once.

    Pages of a site repeat most of their links, spelled alike, so the answers are kept: per origin, and those to
    document-relative hrefs per folder. The memory is bounded: once `memo_entries` answers are held (some 300
    bytes each), all are forgotten.
    """

    def __init__(self, rules: UrlRules = DEFAULT, memo_entries: int = 1 << 16) -> None:
        self._canonicaliser = canonicaliser(rules)
        self._memo_entries = memo_entries
        self._held = 0
        self._memos: dict[str, _Memo] = {}
        self._origins: set[str] = set()
        self._absolutes: dict[str, str] = {}
        #: by folder; None after its first page, because most folders of most sites have but one
        self._nearby: dict[str, dict[str, str] | None] = {}

    def join(self, base: str, hrefs: Iterable[str]) -> list[str]:
        """The canonical URLs of a page's hrefs, in order, each once. `base` must be canonical."""
        if not base.startswith(_WEB):
            return self._join_source(base, hrefs)
        slash = base.index("/", 8)
        memo = self._memos.get(base[:slash])
        if memo is None:
            memo = self._memos[base[:slash]] = _Memo(base[:slash], self._origins, self._absolutes, self._canonicaliser)
            self._held += 4  # an empty memo is about as large as a few answers
        query = base.find("?", slash)
        folder = base[: (base.rindex("/", slash, query) if query > 0 else base.rindex("/", slash)) + 1]
        near = self._nearby.get(folder)
        if near is None:
            near = {}
            self._nearby[folder] = near if folder in self._nearby else None
            self._held += 1 + len(folder) // _HELD_LENGTH
        memo.page, memo.folder, memo.near = base, folder, near
        before, near_before = len(memo), len(near)
        # a dict keeps the order and drops what comes twice; the loop over the links runs in C
        urls = dict.fromkeys(map(memo.__getitem__, hrefs))
        urls.pop("", None)
        if new := len(memo) - before + (len(near) - near_before if self._nearby[folder] is not None else 0):
            self._held += new + sum(map(len, urls)) // _HELD_LENGTH
        if self._held > self._memo_entries:
            self._memos.clear()
            self._nearby.clear()
            self._origins.clear()
            self._absolutes.clear()
            self._held = 0
        return list(urls)

    def _join_source(self, base: str, hrefs: Iterable[str]) -> list[str]:
        """Join the links of a page that is none of the web: only such a page can link to sources."""
        short = (href for href in hrefs if len(href) <= URL_LENGTH)
        joined = (source_url(href, base) or self._canonicaliser.relative(base, href) for href in short)
        return list(dict.fromkeys(filter(None, joined)))


class _Memo(dict[str, str]):
    """Raw href → canonical URL ("" where it is none), for the pages of one origin.

    It keeps an answer only if every page of the origin would get the same; answers that hold for a folder go
    to `near`. The parser is spared behind a canonical origin or folder for a path of `_CLEAN` characters
    without a segment that begins with a dot.
    """

    __slots__ = ("_absolutes", "_canonicaliser", "_origins", "_scheme", "_site", "folder", "near", "page")

    def __init__(self, site: str, origins: set[str], absolutes: dict[str, str], canonicaliser: Canonicaliser) -> None:
        self._site = site
        self._scheme = site[: site.index("/")]
        self._origins = origins  # canonical ones, known to all memos of the joiner
        self._origins.add(site)
        self._absolutes = absolutes  # answers to absolute hrefs, shared alike
        self._canonicaliser = canonicaliser
        # set by the Joiner: the page whose links are asked for, its folder, and what is known in that folder
        self.page = self.folder = ""
        self.near: dict[str, str] = {}

    def __missing__(self, href: str) -> str:
        if href.startswith(_WEB) and "#" not in href and len(href) <= _LONG:
            url = self._absolutes.get(href)
            if url is None:
                url = self._absolutes[href] = self._absolute(href)
            self[href] = url
            return url
        url = self.near.get(href)
        if url is not None:
            return url
        first = href[:1]
        if first == "#":
            return self.page
        if "#" in href or len(href) > _LONG:
            return self._shortened(href)
        if first == "/":
            second = href[1:2]
            if second == "/":
                url = self[self._scheme + href]
            elif second in _SLASH_LIKE:
                return self._odd(href)
            else:
                url = self._site + href
                if "/." in href or not _CLEAN(href):
                    url = self._canonicaliser.ending(url, href)
            self[href] = url
            return url
        if (first.isalnum() or first == ".") and ":" not in href:
            url = self.near[href] = self._beside(href)
            return url
        return self._odd(href)

    def _absolute(self, href: str) -> str:
        slash = href.find("/", 8)
        origin = href[:slash]
        if slash > 0 and (origin in self._origins or self._is_plain(origin)):
            return href if "/." not in href and _CLEAN(href) else self._canonicaliser.ending(href, href[slash:])
        url = self._canonicaliser.absolute(href)
        if url.startswith(origin + "/"):
            self._origins.add(origin)
        return url

    def _is_plain(self, origin: str) -> bool:
        """Whether the parser would change nothing in an origin. Then it is known from now on."""
        if not _PLAIN_ORIGIN(origin) or "xn--" in origin:
            return False
        self._origins.add(origin)
        return True

    def _beside(self, href: str) -> str:
        folder = self.folder
        while href[:3] == "../":
            href = href[3:]
            parent = folder.rindex("/", 0, -1)
            if parent >= len(self._site):
                folder = folder[: parent + 1]
        if href[:1] != "." and "/." not in href and _CLEAN(href):
            return folder + href
        return self._canonicaliser.ending(folder + href, href)

    def _shortened(self, href: str) -> str:
        if len(href) > _LONG:  # a data: URL may be a whole picture
            return "" if len(href) > URL_LENGTH else self._canonicaliser.relative(self.page, href)
        head = href[: href.index("#")]
        if head[-1] <= " ":  # before a fragment a blank belongs to the path; at the end it would not count
            return self._odd(href)
        url = self[head]
        if head in self.near:
            self.near[href] = url
        return url

    def _odd(self, href: str) -> str:
        bare = href.strip(_BLANK)
        if bare != href:
            return self[bare]
        url = self._canonicaliser.relative(self.page, href)
        if not url:  # only an href with its own scheme or authority fails, so it does so on every page
            self[href] = url
        return url
