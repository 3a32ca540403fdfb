"""robots.txt: what a site lets this crawler fetch, by RFC 9309.

Which lines concern this crawler is decided here, by the grouping rules of the RFC; which of them decides about a URL,
in `core.page.path_rules`. A `Robots` keeps only the lines that concern one product token, so it is a small value
that can be stored, handed over with its host, and compared.

Invariants: no body, however broken, raises; decode(encode(r)) == r. Nothing here fetches or waits: for how
long a `Robots` holds and what a long crawl-delay means is the business of `core.polite.politeness`.
"""

import codecs
import math
import re
from dataclasses import dataclass, field
from typing import Self

import msgspec

from gcs.core.page.ai_preferences import MOST_STATEMENTS, statement
from gcs.core.page.path_rules import PathRules, Rule, bounded
from gcs.errors import CodecError

#: bytes of a robots.txt that are read; the RFC asks for at least this much
MAX_BODY_BYTES = 500 * 1024

#: the lines that count, with the usual misspellings; their colon may be missing
_LINE = re.compile(
    r"\s*+(user[- ]?agent|allow|disallow|dissallow|dissalow|disalow|diasllow|disallaw|crawl[- ]?delay|"
    r"request[- ]?rate|site-?maps?|content-(?:usage|signal))\s*+(?::|(?<=\s)|$)([^#]*)",
    re.IGNORECASE,
).match
#: characters of a path for which an AI preference is stated
_PATTERN_CHARS = 500
#: a product token; the RFC has no digits in it, the names of real crawlers do
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")
_RFC_TOKEN = re.compile(r"[a-z_-]*")
_RATE = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})\s*([smhd]?)", re.IGNORECASE).match
_UNIT_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
#: the beginning of a pattern that reads the same in every spelling of a path
_HEAD = re.compile(r"/[A-Za-z0-9/._~-]*").match
#: a percent sign that begins no escape; canonical URLs have it escaped
_BARE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
#: bytes that are no UTF-8, as `surrogateescape` decodes them
_STRAY_BYTE = re.compile("[\udc80-\udcff]")


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    """What `encode` writes."""

    version: int
    agent: str
    rules: tuple[Rule, ...]
    crawl_delay_s: float | None
    sitemaps: tuple[str, ...]
    provisional: bool
    usage: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Robots:
    """The part of a site's robots.txt that binds one crawler."""

    #: the product token (lower case) that the rules were picked for; "" where they hold for all
    agent: str = ""
    rules: tuple[Rule, ...] = ()
    #: the pause that the site asks for between two requests (Crawl-delay, else Request-rate), if any
    crawl_delay_s: float | None = None
    #: as written, each once; may be relative to the robots.txt
    sitemaps: tuple[str, ...] = ()
    #: a stand-in while the site's robots.txt cannot be had: ask again soon
    provisional: bool = False
    #: AI preferences (`core.page.ai_preferences`): the paths that each is for ("" for all), and the statement
    usage: tuple[tuple[str, str], ...] = ()
    #: a URL whose path begins with none of these meets no Disallow line
    _heads: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _matcher: PathRules | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        heads = {head[0] if (head := _HEAD(rule.pattern)) else "" for rule in self.rules if not rule.allow}
        object.__setattr__(self, "_heads", tuple(heads))
        object.__setattr__(self, "_matcher", None)

    @classmethod
    def parse(cls, body: bytes, user_agent: str) -> Self:
        """The rules for a crawler that calls itself so: a product token, or a whole User-Agent header."""
        agent = _own_token(user_agent)
        groups: dict[str, _Group] = {}
        current: set[str] = set()  # names of groups: a name that comes twice must not double the rules
        sitemaps: dict[str, None] = {}
        naming = False  # whether a User-agent line adds a name to the group at hand; only a rule ends the names
        for line in filter(None, map(_LINE, _decode(body).splitlines())):
            kind, value = line[1].lower(), line[2].strip()
            if kind[0] == "u":
                if not naming:
                    current = set()
                naming = True
                for name in _names(value) & {"*", agent}:
                    groups.setdefault(name, _Group())
                    current.add(name)
            elif kind.startswith("content"):
                for name in current:
                    groups[name].prefer(line[1], value)
            elif kind[0] == "s":
                if value:
                    sitemaps[value] = None
            else:
                naming = naming and kind[0] not in "ad"
                for name in current:
                    groups[name].add(kind, value)
        group = groups.get(agent) or groups.get("*") or _Group()
        return cls(agent, tuple(bounded(group.rules)), group.pause_s, tuple(sitemaps), usage=tuple(group.usage))

    @staticmethod
    def from_status(status: int, body: bytes, user_agent: str) -> "Robots":
        """What the answer to GET /robots.txt means, its redirects followed as far as they go.

        No answer at all is `DENY_ALL`, as is an overloaded server's: it says nothing about its rules.
        """
        if 200 <= status < 300:
            return Robots.parse(body, user_agent)
        return ALLOW_ALL if 300 <= status < 500 and status != 429 else DENY_ALL

    def allows(self, url: str) -> bool:
        """Whether a canonical URL of the site may be fetched."""
        heads = self._heads
        if not heads or not url.startswith(heads, slash := url.index("/", 8)):
            return True
        return (self._matcher or self._build()).allow(url[slash:])

    def usage_of(self, url: str) -> list[str]:
        """The AI preferences that are stated for a URL: of each convention, those with the longest path."""
        if not self.usage:
            return []
        path = url[url.index("/", 8) :]
        longest: dict[str, tuple[int, list[str]]] = {}
        for pattern, said in self.usage:
            if pattern and PathRules((Rule(False, pattern),)).allow(path):
                continue
            convention = said.partition(":")[0].lower()
            length, kept = longest.get(convention, (-1, []))
            if len(pattern) > length:
                longest[convention] = len(pattern), [said]
            elif len(pattern) == length:
                kept.append(said)
        return [said for _, kept in longest.values() for said in kept]

    def _build(self) -> PathRules:
        """Made when the first URL needs it: most sites forbid nothing."""
        matcher = PathRules(self.rules)
        object.__setattr__(self, "_matcher", matcher)
        return matcher

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(
            _Stored(1, self.agent, self.rules, self.crawl_delay_s, self.sitemaps, self.provisional, self.usage)
        )

    @classmethod
    def decode(cls, data: bytes) -> Self:
        try:
            stored = msgspec.msgpack.decode(data, type=_Stored)
        except msgspec.MsgspecError as error:
            raise CodecError(f"a stored robots.txt cannot be read ({error}): it must be fetched again") from error
        if stored.version != 1:
            raise CodecError(f"a stored robots.txt has the unknown version {stored.version}: it must be fetched again")
        return cls(stored.agent, stored.rules, stored.crawl_delay_s, stored.sitemaps, stored.provisional, stored.usage)


class StoredRobots(msgspec.Struct, frozen=True, array_like=True):
    """A robots.txt as it is kept on disk and handed over."""

    expires_at: float
    #: by `Robots.encode`
    robots: bytes


#: for a site without a robots.txt
ALLOW_ALL = Robots()
#: for a site whose robots.txt cannot be had at the moment
DENY_ALL = Robots(rules=(Rule(False, "/"),), provisional=True)


def product_token(user_agent: str) -> str:
    """The name that robots.txt files call a crawler by, lower case: "gcs" for "GCS/1.0 (+https://…)"."""
    # browsers' fashion puts the name behind: Mozilla/5.0 (compatible; GCS/1.0)
    match = _TOKEN.match(user_agent.rpartition("compatible;")[2].lstrip())
    return match[0].lower() if match else ""


def _own_token(user_agent: str) -> str:
    """Our own token; "" for a text with spaces that is no User-Agent header: no line of a robots.txt can name that."""
    is_header = "/" in user_agent or "compatible;" in user_agent
    return product_token(user_agent) if is_header or " " not in user_agent.strip() else ""


def _names(value: str) -> set[str]:
    """Whom a User-agent line addresses: "*", or crawlers of a name. "AB42bot" is an "AB", too, as the RFC has it."""
    if value[:1] == "*":
        return {"*"}
    token = product_token(value)
    return {name for name in (token, _RFC_TOKEN.match(token)[0]) if name} if token else set()  # type: ignore[index]


@dataclass(slots=True)
class _Group:
    """The lines for one name, from all groups that name it."""

    rules: list[Rule] = field(default_factory=list)
    delay_s: float | None = None
    rate_s: float | None = None
    usage: list[tuple[str, str]] = field(default_factory=list)

    def prefer(self, convention: str, value: str) -> None:
        """An AI preference, perhaps for a part of the paths."""
        first, _, rest = value.partition(" ")
        pattern, said = (first[:_PATTERN_CHARS], rest) if first[:1] == "/" else ("", value)
        if len(self.usage) < MOST_STATEMENTS:
            self.usage.append((pattern, statement(convention, said)))

    def add(self, kind: str, value: str) -> None:
        match kind[0]:
            case "a" | "d" if value:
                self.rules.append(Rule(kind == "allow", _BARE_PERCENT.sub("%25", value)))
            case "c" if (delay := _seconds(value)) is not None:
                self.delay_s = max(delay, self.delay_s or 0.0)
            case "r" if (rate := _RATE(value)) and int(rate[1]):
                self.rate_s = max(int(rate[2]) * _UNIT_S[rate[3].lower()] / int(rate[1]), self.rate_s or 0.0)

    @property
    def pause_s(self) -> float | None:
        return self.rate_s if self.delay_s is None else self.delay_s


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _decode(body: bytes) -> str:
    if len(body) > MAX_BODY_BYTES:  # whole lines only: half of "Disallow: /private" would close the site
        body = body[:MAX_BODY_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", "replace")
    # a part of the mark has to go, too: else the first line would not be read
    mark = next(length for length in (3, 2, 1, 0) if body.startswith(codecs.BOM_UTF8[:length]))
    text = body[mark:].decode("utf-8", "surrogateescape")
    return _STRAY_BYTE.sub(lambda stray: f"%{ord(stray[0]) - 0xDC00:02X}", text)
