"""Nesting: cut a page before the point where parsing it would take more than a moment.

An HTML parser walks its stack of open elements at nearly every block tag, and compares each attribute of
a tag with the others: 100,000 nested <div> (500 KB) cost lexbor 16 seconds, 20,000 attributes almost
one. Real pages are nowhere near, so the test is in two steps: a count that clears them at once, and a
reading of the tags that follows the stack. What lies behind the cut is lost; what lies before it is kept.
"""

import re
from itertools import islice

#: start tags that are harmless however they are nested (their parse takes a tenth of a second at most)
_HARMLESS_TAGS = 8_000
#: shortest element that nests: four bytes
_HARMLESS_BYTES = 4 * _HARMLESS_TAGS
#: nesting that does not count: the largest honest pages have it
_USUAL_DEPTH = 200
#: steps along the stack that a page may cost beyond that; lexbor takes about 3 ns for one
_BUDGET_STEPS = 30_000_000
#: attributes that one tag may have
_MAX_ATTRIBUTES = 2_000
#: a tag longer than two of these has its attributes counted
_STRIDE_BYTES = 8 * 1024

_ATTRIBUTE = rb"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>"'][^\s>]*+)?)?"""
_ATTRIBUTES = rb"(?:[\s/]++|" + _ATTRIBUTE + rb")*+"
_TAG = re.compile(rb"<[a-z]" + _ATTRIBUTES, re.I)
_TAGS = re.compile(
    rb"<!--(?:.*?-->|.*+)"
    rb"|<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[\s/>])(?P<raw_attributes>"
    + _ATTRIBUTES
    + rb")>?(?:.*?(?=</(?P=raw))|.*+)"
    rb"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*+)(?P<attributes>" + _ATTRIBUTES + rb")",
    re.S | re.I,
)
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE)
#: elements that never hold others, or that the next of their kind closes
_FLAT = frozenset(
    b"a area base br button col dd dt embed frame hr img input li link meta nobr optgroup option p param "
    b"source tbody td tfoot th thead tr track wbr".split()
)


def bounded(markup: bytes) -> bytes:
    """The markup, or as much of its beginning as can be parsed in about a tenth of a second."""
    if len(markup) < _HARMLESS_BYTES:
        return markup
    tags = markup.count(b"<")
    if tags > _HARMLESS_TAGS:
        tags -= markup.count(b"</")
    if tags <= _HARMLESS_TAGS and not _has_long_tag(markup):
        return markup
    return markup[: _cut(markup)]


def _has_long_tag(markup: bytes) -> bool:
    """Whether a tag spans a whole stride: then there is no other in it."""
    filled = True
    for start in range(0, len(markup), _STRIDE_BYTES):
        before, filled = filled, markup.find(b"<", start, start + _STRIDE_BYTES) >= 0
        if before and not filled:
            tag = _TAG.match(markup, max(markup.rfind(b"<", max(0, start - _STRIDE_BYTES), start), 0))
            if tag and tag.end() - tag.start() > _STRIDE_BYTES:
                return True
    return False


def _cut(markup: bytes) -> int:
    """Where the budget ends."""
    stack: list[bytes] = []
    open_names: dict[bytes, int] = {}
    steps = 0
    for tag in _TAGS.finditer(markup):
        attributes = tag["attributes"] or tag["raw_attributes"] or b""
        if len(attributes) > 2 * _MAX_ATTRIBUTES and _count(attributes) > _MAX_ATTRIBUTES:
            return tag.start()
        name = tag["name"]
        if name is None:  # a comment, or an element without markup inside
            continue
        name = name.lower()
        if tag["end"]:
            if open_names.get(name):
                while stack:
                    closed = stack.pop()
                    open_names[closed] -= 1
                    if closed == name:
                        break
            continue
        if len(stack) > _USUAL_DEPTH:
            steps += len(stack)
            if steps > _BUDGET_STEPS:
                return tag.start()
        if name not in _FLAT:
            stack.append(name)
            open_names[name] = open_names.get(name, 0) + 1
    return len(markup)


def _count(attributes: bytes) -> int:
    return sum(1 for _ in islice(_ONE_ATTRIBUTE.finditer(attributes), _MAX_ATTRIBUTES + 1))
