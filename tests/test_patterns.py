"""Patterns: none of the package takes more than linear time, whatever text a stranger wrote.

Two checks for each pattern. The first reads its structure: an unbounded repeat is possessive (or in an atomic group),
or the character that comes next decides whether it goes on. So the engine never tries two ways through the same text.
The second feeds it texts of 100,000 characters that are made of its own parts, repeated. Linear time is some
milliseconds for them, quadratic time is a minute: the limit of CPU time lies far from both.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from gcs.core.url.canonical import UrlRules, canonicaliser

from .limits import TooSlowError, cpu_limit
from .test_layers import MODULES

#: repeats of more than that count as unbounded
BOUNDED = 128
#: characters of an adversarial text, and CPU seconds that it may take
TEXT_CHARS, LIMIT_S = 100_000, 5.0
#: characters that are told apart: those of one byte, and one of each other kind
ALPHABET = frozenset(map(chr, range(256))) | {"…", "١", "Ж", "\ud800"}
USES = re.compile(r"(\w+)\.(search|match|fullmatch|sub|finditer|findall)\b")
#: where patterns are compiled inside functions: those that the user wrote, and fixed ones for short texts of our own
IN_FUNCTIONS = {
    "gcs.cli.shift",
    "gcs.core.helpers.pools",
    "gcs.core.search.snippet",  # words of a query, which are escaped
    "gcs.core.search.words",
    "gcs.core.report.roster",
    "gcs.core.url.canonical",
    "gcs.core.url.scope",
    "gcs.ports.fetch.sources.database",
    "gcs.ports.records.cdxj",
    "gcs.ports.records.layout",
    "gcs.roles.gatherer.helpers.rendering",
    "gcs.settings",
}


def patterns() -> Iterator[tuple[str, re.Pattern[Any], frozenset[str]]]:
    """Every pattern of a module: its name, and the methods by which it is used."""
    for module, path in MODULES.items():
        source = path.read_text()
        if "re.compile(" not in source:
            continue
        for name, value in vars(importlib.import_module(module)).items():
            bound = getattr(value, "__self__", None)
            if isinstance(bound, re.Pattern):
                yield f"{module}.{name}", bound, frozenset({value.__name__})
            elif isinstance(value, re.Pattern):
                used = USES.findall(source)  # of this pattern; where its name is only passed on, of any
                mine = [method for user, method in used if user == name] or [method for _, method in used]
                yield f"{module}.{name}", value, frozenset(mine)
    yield "the parameters that are left out", canonicaliser(UrlRules())._drops.__self__, frozenset({"match"})  # type: ignore[attr-defined]


PATTERNS = {name: (pattern, methods) for name, pattern, methods in patterns()}


# -- the structure


class Structure:
    """Walks the syntax tree of a pattern; `problems` says where two ways lead through the same text."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._folds = bool(pattern.flags & re.IGNORECASE)
        self._all = bool(pattern.flags & re.DOTALL)
        self.problems: list[str] = []
        self._sequence(list(parser.parse(pattern.pattern, pattern.flags)), frozenset(), False, looped=False)

    def _sequence(self, items: list[Any], after: frozenset[str], goes_on: bool, *, looped: bool) -> None:
        """`after`: characters that may follow the sequence. `goes_on`: an unbounded repeat may follow it."""
        for position, item in enumerate(items):
            rest = items[position + 1 :]
            first, can_be_empty = self._first(rest)
            self._item(
                item,
                first | after if can_be_empty else first,
                goes_on or any(map(self._is_unbounded, rest)),
                looped=looped,
            )

    def _item(self, item: Any, after: frozenset[str], goes_on: bool, *, looped: bool) -> None:
        kind, value = item
        if kind is ops.SUBPATTERN:
            self._sequence(list(value[3]), after, goes_on, looped=looped)
        elif kind is ops.ATOMIC_GROUP:
            self._sequence(list(value), frozenset(), False, looped=False)
        elif kind in (ops.ASSERT, ops.ASSERT_NOT):
            self._sequence(list(value[1]), frozenset(), False, looped=False)
        elif kind is ops.BRANCH:
            self._branch(value[1], after, goes_on, looped=looped)
        elif kind in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            self._repeat(kind, value, after, goes_on, looped=looped)

    def _branch(self, branches: list[Any], after: frozenset[str], goes_on: bool, *, looped: bool) -> None:
        met: frozenset[str] = frozenset()
        for branch in branches:
            first, can_be_empty = self._first(list(branch))
            first = first | after if can_be_empty else first
            if looped and first & met:
                self.problems.append(f"in a repeat, two alternatives begin with {sorted(first & met)[:5]}")
            met |= first
            self._sequence(list(branch), after, goes_on, looped=looped)

    def _repeat(self, kind: Any, value: Any, after: frozenset[str], goes_on: bool, *, looped: bool) -> None:
        _, most, body = value
        body = list(body)
        if kind is ops.POSSESSIVE_REPEAT:  # each round is final
            self._sequence(body, frozenset(), False, looped=False)
            return
        if most <= BOUNDED:
            self._sequence(body, after, goes_on or any(map(self._is_unbounded, body)), looped=looped)
            return
        first, can_be_empty = self._first(body)
        if kind is ops.MIN_REPEAT:
            if goes_on or looped:
                self.problems.append("a lazy repeat is not the last one: put it, and what ends it, in (?>…)")
        elif first & after:
            self.problems.append(f"a repeat is not possessive, and may end or go on at {sorted(first & after)[:5]}")
        if can_be_empty:
            self.problems.append("the body of a repeat can be empty")
        self._sequence(body, first | after, True, looped=True)

    def _is_unbounded(self, item: Any) -> bool:
        kind, value = item
        match kind:
            case ops.MAX_REPEAT | ops.MIN_REPEAT | ops.POSSESSIVE_REPEAT:
                return value[1] > BOUNDED or any(map(self._is_unbounded, value[2]))
            case ops.SUBPATTERN:
                return any(map(self._is_unbounded, value[3]))
            case ops.ATOMIC_GROUP:
                return any(map(self._is_unbounded, value))
            case ops.BRANCH:
                return any(self._is_unbounded(item) for branch in value[1] for item in branch)
        return False

    def _first(self, items: list[Any]) -> tuple[frozenset[str], bool]:
        """The characters with which a sequence can begin, and whether it can be empty."""
        first: frozenset[str] = frozenset()
        for kind, value in items:
            found, can_be_empty = self._first_of(kind, value)
            first |= found
            if not can_be_empty:
                return first, False
        return first, True

    def _first_of(self, kind: Any, value: Any) -> tuple[frozenset[str], bool]:
        match kind:
            case ops.SUBPATTERN:
                return self._first(list(value[3]))
            case ops.ATOMIC_GROUP:
                return self._first(list(value))
            case ops.BRANCH:
                parts = [self._first(list(branch)) for branch in value[1]]
                return frozenset().union(*(first for first, _ in parts)), any(empty for _, empty in parts)
            case ops.MAX_REPEAT | ops.MIN_REPEAT | ops.POSSESSIVE_REPEAT:
                first, can_be_empty = self._first(list(value[2]))
                return first, can_be_empty or value[0] == 0
            case ops.AT | ops.ASSERT | ops.ASSERT_NOT:
                return frozenset(), True
            case ops.GROUPREF:
                return ALPHABET, False
            case ops.FAILURE:
                return frozenset(), False
        return self._folded(characters(kind, value, dotall=self._all)), False

    def _folded(self, found: frozenset[str]) -> frozenset[str]:
        if not self._folds:
            return found
        return found | {each for each in ALPHABET if each.lower() in found or each.upper() in found}


def characters(kind: Any, value: Any, *, dotall: bool = True) -> frozenset[str]:
    """The characters of the alphabet that one item of a syntax tree stands for."""
    match kind:
        case ops.LITERAL:
            return frozenset({chr(value)})
        case ops.NOT_LITERAL:
            return ALPHABET - {chr(value)}
        case ops.ANY:
            return ALPHABET if dotall else ALPHABET - {"\n"}
        case ops.RANGE:
            return frozenset(each for each in ALPHABET if value[0] <= ord(each) <= value[1])
        case ops.CATEGORY:
            return frozenset(each for each in ALPHABET if CATEGORIES[value](each))
        case ops.IN:
            negated = value[0][0] is ops.NEGATE
            parts = (characters(*part) for part in value[negated:])
            found: frozenset[str] = frozenset().union(*parts)
            return ALPHABET - found if negated else found
    raise NotImplementedError(f"{kind}: say here what it stands for")


CATEGORIES = {
    ops.CATEGORY_DIGIT: str.isdecimal,
    ops.CATEGORY_NOT_DIGIT: lambda each: not each.isdecimal(),
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_NOT_SPACE: lambda each: not each.isspace(),
    ops.CATEGORY_WORD: lambda each: each.isalnum() or each == "_",
    ops.CATEGORY_NOT_WORD: lambda each: not (each.isalnum() or each == "_"),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern_never_tries_two_ways_through_a_text(name: str) -> None:
    assert not Structure(PATTERNS[name][0]).problems


@pytest.mark.parametrize(
    ("pattern", "is_linear"),
    [
        (r"(?:<!--.*?-->\s*)*<p", False),  # the pattern that froze a team
        (r"(?:(?>.*?-->)\s*+)*+<p", True),
        (r"\s*[;,\s]\s*x", False),
        (r"\s*+[;,]\s*+x", True),
        (r"(?:a+)*b", False),
        (r"(?:a|aa)*c", False),
        (r"(?:\.[a-z]+)*:", True),
        (r"[a-z]+(?:;|$)", True),
        (r"\s*x?\s*(?:;|$)", False),
        (r".*?;", True),
        (r".*?;.*?;", False),
        (r"(?:a*)*b", False),
    ],
)
def test_structure_tells_linear_patterns(pattern: str, is_linear: bool) -> None:
    assert (not Structure(re.compile(pattern, re.DOTALL)).problems) is is_linear


def test_patterns_are_compiled_where_this_test_sees_them() -> None:
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text())
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for function in functions:
            for node in ast.walk(function):
                if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                    continue
                if node.value.id == "re" and node.attr not in ("Pattern", "Match", "escape", "error"):
                    assert module in IN_FUNCTIONS, f"{module}, line {node.lineno}: compile patterns in the module"


# -- the growth


def samples(items: list[Any], longest: bool) -> str:
    """A text that the items match, nearly: the shortest, or one with every optional part, twice."""
    text = ""
    for kind, value in items:
        match kind:
            case ops.SUBPATTERN:
                text += samples(list(value[3]), longest)
            case ops.ATOMIC_GROUP:
                text += samples(list(value), longest)
            case ops.BRANCH:
                text += samples(list(value[1][-1 if longest else 0]), longest)
            case ops.MAX_REPEAT | ops.MIN_REPEAT | ops.POSSESSIVE_REPEAT:
                count = min(max(value[0], 2), value[1]) if longest else value[0]
                text += samples(list(value[2]), longest) * min(count, 8)
            case ops.AT | ops.ASSERT | ops.ASSERT_NOT | ops.GROUPREF | ops.FAILURE:
                pass
            case _:
                found = characters(kind, value)
                text += next((each for each in " a1/<" if each in found), min(found, default=""))
    return text[:24]


def adversaries(pattern: re.Pattern[Any]) -> Iterator[str]:
    """Texts made of parts of what the pattern matches, repeated, and spoiled at the end."""
    tree = list(parser.parse(pattern.pattern, pattern.flags))
    for sample in {samples(tree, longest=False), samples(tree, longest=True)}:
        parts = {(sample[:i], sample[i:j]) for i in range(len(sample)) for j in range(i + 1, len(sample) + 1)}
        for head, part in parts:
            for end in ("", "\0"):
                yield head + part * (TEXT_CHARS // len(part)) + end


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern_takes_linear_time(name: str) -> None:
    pattern, methods = PATTERNS[name]
    for text in adversaries(pattern):
        given = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")
        try:
            with cpu_limit(LIMIT_S):
                for method in methods:
                    _use(pattern, method, given)
        except TooSlowError:
            pytest.fail(f"{name} takes more than {LIMIT_S} s of CPU for {text[:60]!r}…{text[-20:]!r}")


def _use(pattern: re.Pattern[Any], method: str, text: Any) -> None:
    if method == "sub":
        pattern.sub(text[:0], text)
    elif method == "finditer":
        sum(1 for _ in pattern.finditer(text))
    else:
        getattr(pattern, method)(text)
