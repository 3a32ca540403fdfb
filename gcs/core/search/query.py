"""The query language, which search and profiles share.

    crawler politeness        both words               "tuple space"      words that stand together
    crawl*                    words that begin so      -draft             not this
    robots OR sitemap         one of both              (a OR b) c         groups
    title:python              only in the title        site:example.org   the host, or one below it
    lang:en   type:pdf        language, kind           depth:<=2          links from the nearest seed
    date:2024   date:2024-05..2024-06-15   date:>=2025                    when the page was published, or else fetched
    change:new                what the last session found: new, changed, same

A word or phrase is found in the title or in the text. Bounded: who asks may be a stranger.

Invariant: pure, and every text is either a query or a `UsageError`, in time that grows with its length alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gcs.core.search.words import words
from gcs.errors import UsageError

#: characters of a query, its parts, and how deep groups may stand in one another
MOST_CHARACTERS, MOST_PARTS, MOST_DEPTH = 2_000, 100, 16
#: letters before a * at least: fewer would stand for half of all words
LEAST_PREFIX = 2
#: of a range without an end
LEAST, MOST = 0, 99_999_999

_TOKEN = re.compile(
    r'\s*(?:(?P<bracket>[()])|(?P<minus>-(?=\S))|(?:(?P<field>[A-Za-z]+):(?=["\S]))?(?:"(?P<quoted>[^"]*)"|(?P<bare>[^\s()"]+)))'
)
_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", re.ASCII)
CHANGES = ("new", "changed", "same")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand together, in the title or in the text; the last one may be the beginning of a word."""

    words: tuple[str, ...]
    in_title: bool = False
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Is:
    """A property with one value: site, lang, type, change."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Between:
    """A number in a range, ends included: depth, date (YYYYMMDD)."""

    field: str
    least: int = LEAST
    most: int = MOST


@dataclass(frozen=True, slots=True)
class Every:
    """Pages that match all parts."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Some:
    """Pages that match one part at least."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Without:
    """Pages that do not match the part."""

    part: "Node"


Node = Phrase | Is | Between | Every | Some | Without
_FIELDS = {
    "title": "title", "site": "site", "lang": "lang", "language": "lang", "type": "type", "date": "date",
    "depth": "depth", "change": "change",
}  # fmt: skip


class _Token(NamedTuple):
    bracket: str
    minus: bool
    field: str
    quoted: str | None
    bare: str


def parse(text: str) -> Node:
    """The query of a line. Raises UsageError, and says what is wrong with it."""
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"the query is longer than {MOST_CHARACTERS:,} characters")
    tokens = list(_tokens(text))
    if len(tokens) > 2 * MOST_PARTS:
        raise UsageError(f"the query has more than {MOST_PARTS} parts")
    parser = _Parser(tokens)
    found = parser.either(0)
    if parser.rest:
        raise UsageError("the query has a ) without its (")
    if found is None or not _asks(found):
        raise UsageError("give at least one word, phrase or condition that a page must have")
    return found


def phrases(node: Node) -> Iterator[Phrase]:
    """Words and phrases that a page may be found for: none of those that it must not have."""
    if isinstance(node, Phrase):
        yield node
    elif isinstance(node, Every | Some):
        for part in node.parts:
            yield from phrases(part)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while match := _TOKEN.match(text, at):
        field = match["field"] or ""
        quoted, bare = match["quoted"], match["bare"] or ""
        if field and field.lower() not in _FIELDS:  # such as https://…: no field, but words
            bare, quoted, field = f"{field}:{bare if quoted is None else quoted}", None, ""
        yield _Token(match["bracket"] or "", bool(match["minus"]), _FIELDS.get(field.lower(), ""), quoted, bare)
        at = match.end()
    if '"' in text[at:]:
        raise UsageError('the query has a " without its end')


class _Parser:
    """By descent: either → all → not → part."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.rest = tokens[::-1]

    def either(self, depth: int) -> Node | None:
        if depth > MOST_DEPTH:
            raise UsageError(f"the query has groups that stand more than {MOST_DEPTH} deep in one another")
        sides = [self._all(depth)]
        while self.rest and self.rest[-1].bare == "OR":
            self.rest.pop()
            sides.append(self._all(depth))
        found = tuple(dict.fromkeys(side for side in sides if side is not None))
        return Some(found) if len(found) > 1 else found[0] if found else None

    def _all(self, depth: int) -> Node | None:
        parts: list[Node] = []
        while self.rest and self.rest[-1].bracket != ")" and self.rest[-1].bare != "OR":
            if (part := self._part(depth)) is not None:
                parts += part.parts if isinstance(part, Every) else (part,)
        found = tuple(dict.fromkeys(parts))
        return Every(found) if len(found) > 1 else found[0] if found else None

    def _part(self, depth: int) -> Node | None:
        is_not = False
        while self.rest and (self.rest[-1].minus or self.rest[-1].bare == "NOT"):
            self.rest.pop()
            is_not = not is_not
        if not self.rest:
            return None
        token = self.rest.pop()
        if token.bracket == "(":
            found = self.either(depth + 1)
            if not self.rest:
                raise UsageError("the query has a ( without its )")
            self.rest.pop()
        elif token.bracket or (token.bare in ("AND", "OR") and not token.field):
            return None
        else:
            found = _leaf(token)
        return Without(found) if is_not and found is not None else found


def _leaf(token: _Token) -> Node | None:
    value = token.bare if token.quoted is None else token.quoted
    if token.field in ("", "title"):
        is_prefix = token.quoted is None and value.endswith("*")
        found = tuple(words(value))
        if is_prefix and found and len(found[-1]) < LEAST_PREFIX:
            raise UsageError(f"{value}: give at least {LEAST_PREFIX} letters before the *")
        return Phrase(found, token.field == "title", is_prefix) if found else None
    if token.field == "date":
        return Between("date", *_range(value, _day, "date:2024, date:2024-05..2024-06-15, date:>=2024-05"))
    if token.field == "depth":
        return Between("depth", *_range(value, _number, "depth:0, depth:1..3, depth:<=2"))
    value = value.casefold().strip(".")
    if token.field == "change" and value not in CHANGES:
        raise UsageError(f"change:{value}: it is one of {', '.join(CHANGES)}")
    return Is(token.field, value)


def _range(value: str, bounds: "_Bounds", forms: str) -> tuple[int, int]:
    """From 5, 1..3, 1.., ..3, >=1, >1, <=3, <3."""
    try:
        if ".." in value:
            first, _, last = value.partition("..")
            return (bounds(first)[0] if first else LEAST, bounds(last)[1] if last else MOST)
        for sign in (">=", "<=", ">", "<"):
            if value.startswith(sign):
                least, most = bounds(value[len(sign) :])
                ranges = {">=": (least, MOST), ">": (most + 1, MOST), "<=": (LEAST, most), "<": (LEAST, least - 1)}
                return ranges[sign]
        return bounds(value)
    except ValueError:
        raise UsageError(f"{value!r} is no range: write {forms}") from None


class _Bounds:
    """Of what a value stands for, the first and the last."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def __call__(self, value: str) -> tuple[int, int]:
        match = self._pattern.fullmatch(value)
        if not match:
            raise ValueError
        if not match.re.groups:
            return int(value), int(value)
        year, month, day = (int(part or 0) for part in match.groups())
        start = year * 10_000
        if not month:
            return start, start + 1_231
        return start + month * 100 + day, start + month * 100 + (day or 31)


_day, _number = _Bounds(_DAY), _Bounds(re.compile(r"\d{1,6}", re.ASCII))


def day_of(date: str) -> int:
    """A date as pages tell it (ISO 8601, as exact as it is given) as YYYYMMDD; 0 for none."""
    match = _DAY.match(date)
    if not match or not match[0].isascii():
        return 0
    year, month, day = (int(part or 0) for part in match.groups())
    return year * 10_000 + (month or 1) * 100 + (day or 1) if year and month <= 12 and day <= 31 else 0


def _asks(node: Node) -> bool:
    """Whether it asks for something, and does not only rule out."""
    if isinstance(node, Every):
        return any(map(_asks, node.parts))
    if isinstance(node, Some):
        return all(map(_asks, node.parts))
    return not isinstance(node, Without)
