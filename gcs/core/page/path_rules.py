"""Path rules: which Allow or Disallow line of a robots.txt decides about a path, by RFC 9309 and Google's extensions.

The longest pattern that matches decides; Allow wins a tie. A pattern matches paths that begin with it. In it, `*`
stands for any text, and `$` at its end for the end of the path. Patterns and paths are compared in one spelling of
their percent-escapes. A trailing `$` may also be meant literally, and `Allow: /index.html` also allows `/`.

Invariant: a decision takes time linear in the length of the path for each length of a plain pattern, and for each `*`
and each PART_CHARS of what stands behind it; there are at most MAX_STARS of these. A site with more of them is treated
as if it forbade more than it does.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

#: in all patterns together; the largest honest robots.txt have about 500
MAX_STARS = 2_000
#: characters behind a star that count as one more of them: to search a path for a part takes time that is proportional
#: to the length of both, as a path of one letter and a part that has another one in its middle show
PART_CHARS = 16
#: what is left as it stands in paths; patterns have the star, too
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._~=-]*+").fullmatch
_PLAIN_PATTERN = re.compile(r"[A-Za-z0-9/._~=*-]*+").fullmatch
#: an escape, or a character that is escaped
_UNUSUAL_IN_PATH = re.compile(r"%([0-9A-Fa-f]{2})|[^A-Za-z0-9/._~=%-]")
_UNUSUAL_IN_PATTERN = re.compile(r"%([0-9A-Fa-f]{2})|[^A-Za-z0-9/._~=*%-]")
#: characters that mean the same with and without escape
_UNESCAPED = {
    f"{ord(char):02X}": char for char in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~="
}
_INDEX = "/index.html"


class Rule(msgspec.Struct, frozen=True, array_like=True):
    """A line of robots.txt: whether it allows or forbids, and its path pattern."""

    allow: bool
    pattern: str


class _StarRule(NamedTuple):
    """A pattern with stars; the order of the tuples is that in which they decide."""

    #: length of the pattern
    rank: int
    allow: bool
    #: what stands before, between and behind the stars
    parts: tuple[str, ...]
    #: whether the path ends with the pattern
    is_anchored: bool

    def matches(self, path: str) -> bool:
        first, *between, last = self.parts
        if not path.startswith(first):
            return False
        at = len(first)
        for part in between:
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return path.endswith(last, at) if self.is_anchored else path.find(last, at) >= 0


class PathRules:
    """The rules of one site."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._prefixes: dict[str, bool] = {}
        self._whole: dict[str, bool] = {}
        self._stars: list[_StarRule] = []
        for rule in rules:
            self._add(rule)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)
        self._stars.sort(reverse=True)

    def allow(self, path: str) -> bool:
        """Whether a path, with its query, may be fetched."""
        path = path if _PLAIN_PATH(path) else _UNUSUAL_IN_PATH.sub(_spelled, path)
        rank, verdict = 0, True
        for length in self._lengths:
            if (found := self._prefixes.get(path[:length])) is not None and length <= len(path):
                rank, verdict = length, found
                break
        whole = self._whole.get(path)
        if whole is not None and len(path) + 1 > rank:
            rank, verdict = len(path) + 1, whole
        for rule in self._stars:
            if (rule.rank, rule.allow) <= (rank, verdict):
                break
            if rule.matches(path):
                return rule.allow
        return verdict

    def _add(self, rule: Rule) -> None:
        pattern, allow = rule.pattern, rule.allow
        if pattern.startswith(("http://", "https://")):  # a mistake: it can only match a path with a URL in it
            pattern = f"/{pattern}"
        body = pattern.removesuffix("$")
        body = body if _PLAIN_PATTERN(body) else _UNUSUAL_IN_PATTERN.sub(_spelled, body)
        if not body:
            return
        if pattern[-1] == "$":
            self._put(body + "%24", allow)
            self._put_whole(body, allow)
        else:
            self._put(body, allow)
            if allow and body.endswith(_INDEX):
                self._put_whole(body.removesuffix(_INDEX) + "/", allow)

    def _put(self, body: str, allow: bool) -> None:
        if "*" in body:
            self._stars.append(_StarRule(len(body), allow, _parts(body), is_anchored=False))
        else:
            self._prefixes[body] = allow or self._prefixes.get(body, False)

    def _put_whole(self, body: str, allow: bool) -> None:
        if "*" in body:
            self._stars.append(_StarRule(len(body) + 1, allow, _parts(body), is_anchored=True))
        else:
            self._whole[body] = allow or self._whole.get(body, False)


def bounded(rules: Iterable[Rule]) -> list[Rule]:
    """The rules, each once, with MAX_STARS stars at most. Those beyond end at their first star, or allow nothing."""
    kept: dict[Rule, None] = {}
    stars = 0
    for rule in rules:
        if rule in kept:
            continue
        if "*" not in rule.pattern:
            kept[rule] = None
            continue
        stars += _weight(rule.pattern)
        if stars <= MAX_STARS:
            kept[rule] = None
        elif not rule.allow:
            kept[Rule(False, rule.pattern.partition("*")[0] or "/")] = None
    return list(kept)


def _weight(pattern: str) -> int:
    """What a pattern counts: its stars, and the length of what stands behind them, as it is compared."""
    behind = pattern.partition("*")[2]
    length = len(behind) if _PLAIN_PATTERN(behind) else len(_UNUSUAL_IN_PATTERN.sub(_spelled, behind))
    return 1 + behind.count("*") + length // PART_CHARS


def _parts(body: str) -> tuple[str, ...]:
    first, *others = body.split("*")
    return first, *filter(None, others[:-1]), others[-1]


def _spelled(match: re.Match[str]) -> str:
    """An escape as it is compared: decoded where that means the same, else in upper case; or a character, escaped."""
    digits = match[1]
    if digits is None:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))
    digits = digits.upper()
    return _UNESCAPED.get(digits) or f"%{digits}"
