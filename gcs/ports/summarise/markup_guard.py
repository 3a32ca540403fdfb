"""The guard: keeps hostile markup from taking a parser's memory and time.

turbohtml nests no deeper than 512 levels and reads any number of attributes in linear time. Three things are left:

- Formatting elements (<b>, <font>…) that are not closed are opened again in every paragraph, up to 510 of them, with
  their attributes: a few hundred kilobytes could become gigabytes. Where that could be, the attributes of formatting
  elements are dropped (then the standard opens three of a name again, at most), and if even that could be too much, the
  elements become <span>.
- NUL characters, of which a few kilobytes of gzip make 16 MB, take 50 bytes of memory each. Some of them may stay.
- The search for the main part looks from each text at all elements around it. `most_levels` says how deep a page of so
  many tags may be for that.

Nothing here knows where comments and scripts begin and end: a tag in one of them counts, which costs nothing but care.

Most small pages are cleared by the number of their tags alone; in others the formatting elements are looked for.
"""

import re
from functools import cache
from itertools import islice
from typing import Any

#: pages below this cannot grow beyond the budget, whatever they hold
_TINY_BYTES = 12 * 1024
#: in pages below this the number of tags is worth a look: it nearly always tells that they cannot either
_SMALL_BYTES = 48 * 1024
#: NUL characters that may stay: they take 25 MB
_MOST_NULS = 512 << 10
#: bytes that are read of a page: legacy encodings grow to three times their size in UTF-8
_MAX_BYTES = 16 << 20
#: "<" that are read of a page: each element takes some 130 bytes
_MAX_TAGS = 500_000
#: bytes that formatting elements may grow to by being opened again, of one element, and of one of its attributes
_BUDGET_BYTES, _ELEMENT_BYTES, _ATTRIBUTE_BYTES = 256 << 20, 130, 25
#: elements that are opened again at one place: no tree is deeper
_MAX_REOPENED = 510
#: of elements without attributes, three of a name are opened again
_PLAIN_ELEMENTS = 3 * 12
#: steps from texts to the elements around them that the search for the main part may take: half a second
_MAX_STEPS = 4_000_000
#: depths of honest pages, however many tags they have: rather less than the first, and never less than the second
_USUAL_LEVELS, _FEW_LEVELS = 100, 24

_ATTRIBUTE = rb"""[^\t\n\f\r />][^\t\n\f\r />=]*+
    (?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*+"?|'[^']*+'?|[^\t\n\f\r >"'][^\t\n\f\r >]*+)?)?"""
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE, re.X)
_NAMES = rb"[bisu]|font|em|tt|big|code|small|strike|strong"
#: a start tag with attributes of a formatting element, from its "<" to the end of its attributes
_WITH_ATTRIBUTES = re.compile(rb"<(" + _NAMES + rb")(?=[\s/])((?:[\t\n\f\r /]++|" + _ATTRIBUTE + rb")*+)", re.I | re.X)
_ANY_FORMATTING = re.compile(rb"<(/?)(?:" + _NAMES + rb")(?=[\s/>])", re.I)


@cache
def _numpy() -> tuple[Any, Any]:
    """numpy, and which pairs of letters begin the name of a formatting element that has attributes."""
    import numpy as np  # 110 ms

    begins = np.zeros(1 << 16, np.bool_)
    for pair in (
        *(name + space for name in "bisu" for space in "\t\n\f\r /"),
        *["fo", "em", "tt", "bi", "co", "sm", "st"],
    ):
        for first in {pair[0].lower(), pair[0].upper()}:
            for second in {pair[1].lower(), pair[1].upper()}:
                begins[ord(second) << 8 | ord(first)] = True
    return np, begins


def guarded(markup: bytes) -> tuple[bytes, int]:
    """The markup as it may be parsed, and a number of tags that it does not exceed."""
    if len(markup) > _MOST_NULS and b"\0" in markup:  # they mean nothing in HTML
        markup = markup.replace(b"\0", b"")
    markup = markup[:_MAX_BYTES]
    size = len(markup)
    if size < _TINY_BYTES:
        return markup, size // 3
    np, begins = _numpy()
    opens = np.frombuffer(markup, np.uint8)[:-2] == ord("<")
    if size < _SMALL_BYTES:
        most = int(np.count_nonzero(opens))
        if most * (_MAX_REOPENED * _ELEMENT_BYTES + size // 2 * _ATTRIBUTE_BYTES) <= _BUDGET_BYTES:
            return markup, most
    tags = opens.nonzero()[0]
    if len(tags) > _MAX_TAGS:
        return guarded(markup[: int(tags[_MAX_TAGS])])
    pairs = np.ndarray((size - 2,), "<u2", markup, offset=1, strides=(1,))  # the two letters from each letter
    suspects = tags[begins[pairs[tags]]]  # `take` would copy all pairs
    if len(suspects) and _growth(markup, suspects.tolist(), len(tags)) > _BUDGET_BYTES:
        markup = _WITH_ATTRIBUTES.sub(rb"<\1", markup)
    if len(tags) * _PLAIN_ELEMENTS * _ELEMENT_BYTES > _BUDGET_BYTES:
        markup = _ANY_FORMATTING.sub(rb"<\1span", markup)
    return markup, len(tags)


def bounded(markup: bytes) -> bytes:
    """The markup as it may be parsed."""
    return guarded(markup)[0]


def most_levels(tags: int) -> int:
    """Levels that a tree of so many tags may have for its main part to be looked for."""
    return max(_FEW_LEVELS, min(_USUAL_LEVELS, _MAX_STEPS // max(tags, 1)))


def _growth(markup: bytes, suspects: list[int], tags: int) -> int:
    """Bytes that formatting elements can grow to, if each tag opens all of them again."""
    per_tag = _PLAIN_ELEMENTS * _ELEMENT_BYTES
    sizes = []
    for start in suspects:
        tag = _WITH_ATTRIBUTES.match(markup, start)
        if tag:
            attributes = sum(1 for _ in islice(_ONE_ATTRIBUTE.finditer(tag[2]), _BUDGET_BYTES // _ATTRIBUTE_BYTES))
            sizes.append(_ELEMENT_BYTES + attributes * _ATTRIBUTE_BYTES)
            per_tag += sizes[-1] if len(sizes) <= _MAX_REOPENED else 0
            if tags * per_tag > _BUDGET_BYTES:
                break
    return tags * per_tag
