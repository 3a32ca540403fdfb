"""The canonical form of a URL: the one spelling under which a page is known.

Parsing is the WHATWG standard's, done by ada. On top of it the canonical form is a valid RFC 3986 URI with no
fragment, no user info, no trailing dot of the host, its percent-escapes in the one normal form of RFC 3986
6.2.2, and without the parameters that only name a visit (`UrlRules`).

A seed is written by a person (`seed_url`): without a scheme it is taken for https, or for http where its host is not
public (loopback, private).

Invariants: canonical(canonical(u)) == canonical(u); a canonical URL holds only ASCII above the space and
always has a path. Nothing here judges whether a URL is wanted (`scope`, `admission`, `page.robots`).
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from can_ada import parse

from gcs.core.url.sortkey import split_port

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
#: an escape, a percent sign that begins none, or a character that RFC 3986 keeps out of paths and queries
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?|[^A-Za-z0-9/._~!$&'()*+,;=:@?%-]")
#: the characters that RFC 3986 calls unreserved, as escapes in any case
_UNRESERVED = {
    f"{ord(char):02X}": char for char in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
}
#: what may follow a canonical origin or folder such that only its query is to be tidied
_CLEAN_QUERY = re.compile(r"[A-Za-z0-9/._~!$&'*+,=:@-]*\?([A-Za-z0-9/._~!$&()*+,;=:@?-]*)").fullmatch
_WEB = ("http://", "https://")
#: what stands where a URL or an href has its host: behind a scheme, or behind two slashes
_HOST = re.compile(r"(?:[^/\\?#:]*+:|[\0- ]*+[/\\][\t\n\r]*+(?=[/\\]))[/\\\t\n\r]*+([^/\\?#]*+)").match
#: characters that it may have, in ASCII and else. Name servers know 253; of others, ada's work grows with the square
_MOST_HOST, _MOST_ODD_HOST = 2_048, 255
#: a scheme at the beginning; "localhost:8080" is none
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d+(?:[/?#]|$))")
_SPACE = re.compile(r"\s").search
#: names that RFC 6761 and custom keep off the public internet
_OWN_NAMES = (".localhost", ".test", ".internal")


@dataclass(frozen=True, slots=True)
class UrlRules:
    """Which differences between two URLs do not make two pages. The names of parameters ignore case."""

    #: leave out the parameters of advertisers and statistics (utm_source, gclid, fbclid…)
    strip_tracking: bool = True
    #: leave out session ids, in the query (PHPSESSID) and in the path (;jsessionid=)
    strip_session_ids: bool = True
    #: names of further query parameters to leave out
    drop_params: tuple[str, ...] = ()
    #: put the query parameters in the order of their names (those of one name keep their order)
    sort_query: bool = False


DEFAULT = UrlRules()


def canonical(url: str, rules: UrlRules = DEFAULT) -> str | None:
    """The canonical form of an absolute URL; None where it cannot be crawled by HTTP (or is no URL)."""
    return canonicaliser(rules).absolute(url) or None


def origin_of_url(url: str) -> str:
    """Scheme, host and port of a canonical URL: what stands before its path."""
    return url[: url.index("/", 8)]


def host_of_url(url: str) -> str:
    """The host of a canonical URL, without the port."""
    return split_port(url[url.index("/") + 2 : url.index("/", 8)])[0]


def seed_url(text: str, rules: UrlRules) -> str | None:
    """The canonical URL of a seed; None if it is none, or a mere word. `why_no_seed` says why."""
    text = text.strip()
    return None if _SPACE(text) or _is_word(text) else canonical(_with_scheme(text), rules)


def why_no_seed(text: str) -> str:
    """What is wrong with a text that is no seed, and what to write instead."""
    text = text.strip()
    if _SPACE(text):
        return "holds a space: give one URL a line, and write %20 for a space in it"
    if _is_word(text) and (url := canonical(f"https://{text}")):
        return f"is a word, not a URL: write {url} if there is such a host"
    return "is not an http or https URL"


def _is_word(text: str) -> bool:
    """Whether what stands where a host should is a name without a dot, and nothing else says that it is a host."""
    host = text.lstrip("/").partition("/")[0]
    return not (_SCHEME.match(text) or set(host) & set(".:[") or is_own_name(host.lower()))


def is_own(url: str) -> bool:
    """Whether the host of a canonical URL is not public: loopback, private, or a name kept off the internet."""
    name = host_of_url(url).strip("[]")
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        return is_own_name(name)


def is_own_name(name: str) -> bool:
    return name == "localhost" or name.endswith(_OWN_NAMES)


def _with_scheme(text: str) -> str:
    if not text or _SCHEME.match(text):
        return text
    rest = text.lstrip("/")
    url = canonical(f"http://{rest}")
    return f"http://{rest}" if url and is_own(url) else f"https://{rest}"


class Canonicaliser:
    """`canonical` under fixed rules, with "" for None."""

    __slots__ = ("_drops", "_sort", "_strip_path")

    def __init__(self, rules: UrlRules) -> None:
        names = [re.escape(name.lower()) for name in rules.drop_params]
        names += [_TRACKING] if rules.strip_tracking else []
        names += [_SESSION] if rules.strip_session_ids else []
        #: tells a parameter, in lower case, that is to be left out
        self._drops: Callable[[str], object] = re.compile(f"(?:{'|'.join(names)})(?:=|$)" if names else "(?!)").match
        self._sort = rules.sort_query
        self._strip_path = rules.strip_session_ids

    def absolute(self, url: str) -> str:
        if _has_endless_host(url):
            return ""
        try:
            return self._tidy(parse(url).href)
        except ValueError:
            return ""
        except TypeError:  # a lone surrogate, which ada cannot take
            return self.absolute(_scalar(url))

    def relative(self, base: str, href: str) -> str:
        """The canonical URL of an href on a page with that canonical URL."""
        if _has_endless_host(href):
            return ""
        try:
            return self._tidy((parse(base) + href).href)
        except ValueError:
            return ""
        except TypeError:
            return self.relative(base, _scalar(href))

    def ending(self, url: str, end: str) -> str:
        """What `absolute` returns for a URL that is a canonical origin or folder followed by `end`."""
        if "/." not in end and end[:1] != "." and (match := _CLEAN_QUERY(end)):
            return self._with_query(url, match[1])
        return self.absolute(url)

    def _tidy(self, href: str) -> str:
        """The canonical form of what ada wrote."""
        plain = _PLAIN(href)
        if plain:
            query = plain[1]
            return href if query is None else self._with_query(href, query)
        if not href.startswith(_WEB):
            return ""
        start = href.index("/") + 2
        slash = href.index("/", start)
        hostname, port = split_port(href[start:slash].rpartition("@")[2])
        hostname = hostname.removesuffix(".")
        if "" in hostname.split("."):  # no name server can know such a host
            return ""
        tail = normal_escapes(href[slash:].partition("#")[0])
        path, mark, query = tail.partition("?")
        bare = _PATH_SESSION.sub("", path) if self._strip_path else path
        url = f"{href[:start]}{hostname}{port}{bare}"
        if mark:
            url = self._with_query(f"{url}?{query}", query)
        # what is left may be a dot segment (/..;jsessionid=1/), or a session of the other kind
        return url if bare == path else self.absolute(url)

    def _with_query(self, url: str, query: str) -> str:
        """A URL that ends with this query, once the query is tidied."""
        if query and not self._sort and not any(map(self._drops, query.lower().split("&"))):
            return url
        pairs = [pair for pair in query.split("&") if not self._drops(pair.lower())]
        if self._sort:
            pairs = sorted(filter(None, pairs), key=_name)
        url = url[: len(url) - len(query) - 1]
        tidy = "&".join(pairs)
        return f"{url}?{tidy}" if tidy else url


@lru_cache(maxsize=32)
def canonicaliser(rules: UrlRules) -> Canonicaliser:
    """The canonicaliser for a set of rules: made once, because it compiles patterns."""
    return Canonicaliser(rules)


def normal_escapes(tail: str) -> str:
    """Path and query with their percent-escapes in the normal form of RFC 3986 6.2.2."""
    return _ESCAPE.sub(_normal_escape, tail)


def _has_endless_host(url: str) -> bool:
    """Whether the host of a URL or an href is longer than any that can be asked for."""
    if len(url) <= _MOST_ODD_HOST or not (match := _HOST(url)):
        return False
    return len(match[1]) > (_MOST_HOST if match[1].isascii() else _MOST_ODD_HOST)


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
