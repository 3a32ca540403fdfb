"""Canonical URLs: the one spelling under which a page is known, and the joining of a page's links.

Parsing and resolution are the WHATWG standard's, done by ada. On top of it the canonical form is a valid
RFC 3986 URI with no fragment, no user info, no trailing dot of the host, its percent-escapes in the one
normal form of RFC 3986 6.2.2, and without the parameters that only name a visit (`Rules`).

Invariants: canonical(canonical(u)) == canonical(u); a canonical URL holds only ASCII above the space and
always has a path; joining is exactly WHATWG resolution followed by `canonical`.

Nothing here judges whether a URL is wanted (`core.scope`, `core.traps`, `core.robots`).
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from can_ada import parse

from gcs.core.sortkey import split_port

#: parameters that tell a site where its visitor came from; never part of what a page is
_TRACKING = (
    "utm_[^=]*|itm_[^=]*|mtm_[^=]*|hsa_[^=]*|pk_(?:campaign|kwd|source|medium|content)|piwik_[^=]*|"
    "gclid|gclsrc|dclid|gbraid|wbraid|gad_(?:source|campaignid)|fbclid|fb_action_ids|fb_action_types|"
    "msclkid|mc_cid|mc_eid|yclid|ysclid|_openstat|twclid|ttclid|igshid|li_fat_id|epik|srsltid|"
    "_ga|_gl|_hsenc|_hsmi|__hssc|__hstc|__hsfp|hsctatracking|mkt_tok|vero_id|vero_conv|oly_anon_id|"
    "oly_enc_id|rb_clickid|s_cid|wickedid|ml_subscriber(?:_hash)?|_branch_match_id|_kx|s_kwcid|ef_id"
)
#: names that are nothing but session ids, and names that are when the value looks like a token (a news
#: site may well have articles at ?sid=1742, and a conference talks at ?session=12)
_SESSION = (
    "(?:jsessionid|phpsessid|aspsessionid[a-z]*|asp\\.net_sessionid|cfid|cftoken|oscsid|zenid|"
    "bv_(?:session|engine)id)|"
    "(?:sid|sess|sessid|session|sessionid|session_id|session-id)"
    "(?==(?:[0-9a-f]{16,}|(?=[a-z]*[0-9])[0-9a-z]{24,})$)"
)
#: the same in a path: /page;jsessionid=1A2B and the cookie-less sessions of ASP.NET, /(S(24 characters))/page
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid)=[^/;]*|(?<=/)(?:\([A-Z]\([0-9a-z]{24}\)\))+/", re.IGNORECASE)
#: a URL from ada in which at most the query is to be tidied
_PLAIN = re.compile(
    r"https?://[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?::[0-9]+)?/[A-Za-z0-9/._~!$&'*+,=:@-]*"
    r"(?:\?([A-Za-z0-9/._~!$&'()*+,;=:@?-]*))?"
).fullmatch
#: characters that no step changes, wherever in a path they stand
_CLEAN = re.compile(r"[A-Za-z0-9/._~!$&'*+,=:@-]*").fullmatch
#: an escape, a percent sign that begins none, or a character that RFC 3986 keeps out of paths and queries
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?|[^A-Za-z0-9/._~!$&'()*+,;=:@?%-]")
#: the characters that RFC 3986 calls unreserved, as escapes in any case
_UNRESERVED = {
    f"{ord(char):02X}": char for char in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
}
#: what the WHATWG parser cuts off both ends of its input
_BLANK = "".join(map(chr, range(0x21)))
#: after the first slash these make "/x" something else than a path of the same host, or hide the second slash
_SLASH_LIKE = frozenset("\\\t\n\r")
_WEB = ("http://", "https://")
#: characters of an href that is not worth remembering
_LONG = 1024


@dataclass(frozen=True, slots=True)
class Rules:
    """Which differences between two URLs do not make two pages. The names of parameters ignore case."""

    #: leave out the parameters of advertisers and statistics (utm_source, gclid, fbclid…)
    strip_tracking: bool = True
    #: leave out session ids, in the query (PHPSESSID) and in the path (;jsessionid=)
    strip_session_ids: bool = True
    #: names of further query parameters to leave out
    drop_params: tuple[str, ...] = ()
    #: put the query parameters in the order of their names (those of one name keep their order)
    sort_query: bool = False


DEFAULT = Rules()


def canonical(url: str, rules: Rules = DEFAULT) -> str | None:
    """The canonical form of an absolute URL; None where it cannot be crawled by HTTP (or is no URL)."""
    return _canonizer(rules).absolute(url) or None


def origin(url: str) -> str:
    """Scheme, host and port of a canonical URL: what stands before its path."""
    return url[: url.index("/", 8)]


def host(url: str) -> str:
    """The host of a canonical URL, without the port."""
    return split_port(url[url.index("/") + 2 : url.index("/", 8)])[0]


class Joiner:
    """Makes the links of pages absolute and canonical. Not for use by two threads at once.

    Pages of a site repeat most of their links, spelled alike, so the answers are kept per origin. The memory
    is bounded: once `memo_entries` answers are held (some 300 bytes each), all are forgotten.
    """

    def __init__(self, rules: Rules = DEFAULT, memo_entries: int = 1 << 16) -> None:
        self._canonizer = _canonizer(rules)
        self._memo_entries = memo_entries
        self._memos: dict[str, _Memo] = {}
        self._origins: set[str] = set()
        self._held = 0

    def join(self, base: str, hrefs: Iterable[str]) -> list[str]:
        """The canonical URLs of a page's hrefs, in order, each once. `base` must be canonical."""
        site = base[: base.index("/", 8)]
        memo = self._memos.get(site)
        if memo is None:
            memo = self._memos[site] = _Memo(site, self._origins, self._canonizer)
            self._held += 4  # an empty memo is about as large as a few answers
        before = len(memo)
        memo.page, memo.folder = base, ""
        # a dict keeps the order and drops what comes twice; the loop over the links runs in C
        urls = dict.fromkeys(map(memo.__getitem__, hrefs))
        urls.pop("", None)
        self._held += len(memo) - before
        if self._held > self._memo_entries:
            self._memos.clear()
            self._origins.clear()
            self._held = 0
        return list(urls)


class _Memo(dict[str, str]):
    """Raw href → canonical URL ("" where it is none), for the pages of one origin.

    It keeps an answer only if every page of the origin would get the same. A string is joined only where
    that provably equals WHATWG resolution; the parser is spared only where it provably changes nothing:
    behind a canonical origin, a path of `_CLEAN` characters without a segment that begins with a dot.
    """

    __slots__ = ("_canonize", "_origins", "_resolve", "_scheme", "_site", "folder", "page")

    def __init__(self, site: str, origins: set[str], canonizer: "_Canonizer") -> None:
        self._site = site
        self._scheme = site[: site.index("/")]
        self._origins = origins  # canonical ones, known to all memos of the joiner
        self._origins.add(site)
        self._canonize = canonizer.absolute
        self._resolve = canonizer.relative
        #: the page whose links are asked for, set by the Joiner; and its folder, once it was needed
        self.page = self.folder = ""

    def __missing__(self, href: str) -> str:
        if len(href) > _LONG:  # a data: URL may be a whole picture
            return self._resolve(self.page, href)
        if "#" in href:
            return self._without_fragment(href)
        first = href[:1]
        if first == "/":
            second = href[1:2]
            if second == "/":
                url = self[self._scheme + href]
            elif second in _SLASH_LIKE:
                return self._odd(href)
            else:
                url = self._site + href
                if "/." in href or not _CLEAN(href):
                    url = self._canonize(url)
            self[href] = url
            return url
        if href.startswith(_WEB):
            slash = href.find("/", 8)
            origin = href[:slash]
            if slash > 0 and origin in self._origins and "/." not in href and _CLEAN(href):
                self[href] = href
                return href
            url = self[href] = self._canonize(href)
            if url.startswith(origin + "/"):
                self._origins.add(origin)
            return url
        if (first.isalnum() or first == ".") and ":" not in href:
            folder = self.folder or self._find_folder()
            while href[:3] == "../":
                href = href[3:]
                parent = folder.rindex("/", 0, -1)
                if parent >= len(self._site):
                    folder = folder[: parent + 1]
            url = folder + href
            return url if href[:1] != "." and "/." not in href and _CLEAN(href) else self[url]
        return self._odd(href)

    def _find_folder(self) -> str:
        query = self.page.find("?")
        self.folder = self.page[: self.page.rindex("/", 0, query if query > 0 else None) + 1]
        return self.folder

    def _without_fragment(self, href: str) -> str:
        head = href[: href.index("#")]
        if not head:
            return self.page
        # a blank before the fragment belongs to the path; at the end of an href it would not count
        return self[head] if head[-1] > " " else self._odd(href)

    def _odd(self, href: str) -> str:
        bare = href.strip(_BLANK)
        if bare != href:
            return self[bare]
        url = self._resolve(self.page, href)
        if not url:  # only an href with its own scheme or authority fails, so it does so on every page
            self[href] = url
        return url


class _Canonizer:
    """`canonical` under fixed rules, with "" for None."""

    __slots__ = ("_drops", "_sort", "_strip_path")

    def __init__(self, rules: Rules) -> None:
        names = [re.escape(name) for name in rules.drop_params]
        names += [_TRACKING] if rules.strip_tracking else []
        names += [_SESSION] if rules.strip_session_ids else []
        pattern = re.compile(f"(?:{'|'.join(names)})(?:=|$)", re.IGNORECASE) if names else None
        self._drops: Callable[[str], object] | None = pattern.match if pattern else None
        self._sort = rules.sort_query
        self._strip_path = rules.strip_session_ids

    def absolute(self, url: str) -> str:
        """The canonical form of an absolute URL."""
        try:
            return self._tidy(parse(url).href)
        except ValueError:
            return ""
        except TypeError:  # a lone surrogate, which ada cannot take
            return self.absolute(_scalar(url))

    def relative(self, base: str, href: str) -> str:
        """The canonical URL of an href on a page with that canonical URL."""
        try:
            return self._tidy((parse(base) + href).href)
        except ValueError:
            return ""
        except TypeError:
            return self.relative(base, _scalar(href))

    def _tidy(self, href: str) -> str:
        """The canonical form of what ada wrote."""
        plain = _PLAIN(href)
        if plain:
            query = plain[1]
            if not query:
                return href if query is None else href[:-1]
            tidy = self._tidy_query(query)
            return href if tidy == query else _with_query(href[: -len(query) - 1], tidy)
        if not href.startswith(_WEB):
            return ""
        start = href.index("/") + 2
        slash = href.index("/", start)
        hostname, port = split_port(href[start:slash].rpartition("@")[2])
        hostname = hostname.removesuffix(".")
        if "" in hostname.split("."):  # no name server can know such a host
            return ""
        path, _, query = _ESCAPE.sub(_normal_escape, href[slash:].partition("#")[0]).partition("?")
        bare = _PATH_SESSION.sub("", path) if self._strip_path else path
        url = _with_query(f"{href[:start]}{hostname}{port}{bare}", self._tidy_query(query))
        # what is left may be a dot segment (/..;jsessionid=1/), or a session of the other kind
        return url if bare == path else self.absolute(url)

    def _tidy_query(self, query: str) -> str:
        pairs = query.split("&")
        if self._drops:
            pairs = [pair for pair in pairs if not self._drops(pair)]
        if self._sort:
            pairs = sorted(filter(None, pairs), key=_name)
        return "&".join(pairs)


@lru_cache(maxsize=32)
def _canonizer(rules: Rules) -> _Canonizer:
    return _Canonizer(rules)


def _with_query(url: str, query: str) -> str:
    return f"{url}?{query}" if query else url


def _name(pair: str) -> str:
    return pair.partition("=")[0]


def _normal_escape(match: re.Match[str]) -> str:
    digits = match[1]
    if digits is None:
        return f"%{ord(match[0]):02X}"
    digits = digits.upper()
    return _UNRESERVED.get(digits) or "%" + digits


def _scalar(text: str) -> str:
    """The text with its lone surrogates replaced, as a browser does before it parses."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
