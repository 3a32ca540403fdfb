"""Links in the headers of an answer: `Link` (RFC 8288: next, prev, canonical, alternate) and `Refresh`.

Invariant: pure; whatever a stranger writes gives some links or none, in linear time.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

#: relations that lead to pages; style sheets, preloads and the like do not
_FOLLOWED = frozenset({"next", "prev", "previous", "first", "last", "alternate", "canonical"})
#: links of one answer, and characters of one header that are read
MOST_LINKS, _HEADER_CHARS = 100, 8 << 10
_TARGET = re.compile(r"<([^<>]{1,2000})>([^<]{0,1000})")
_RELATION = re.compile(r"(?i);\s{0,8}rel\s{0,4}=\s{0,4}(?:\"([^\"]{0,200})\"|([^\s\",;]{1,100}))")
_REFRESH = re.compile(
    r"(?i)\s{0,8}\d{0,9}(?:\.\d{0,9})?\s{0,8}[;,]\s{0,8}(?:url\s{0,8}=\s{0,8})?[\"']?([^\"'\s]{1,999})"
)


@dataclass(slots=True)
class HeaderLinks:
    """What the headers of an answer link to, as written."""

    hrefs: list[str] = field(default_factory=list)
    canonical: str = ""


def header_links(headers: Iterable[tuple[str, str]]) -> HeaderLinks:
    found = HeaderLinks()
    for name, value in headers:
        lower = name.lower()
        if lower == "refresh" and (refresh := _REFRESH.match(value[:_HEADER_CHARS])):
            found.hrefs.append(refresh[1])
        elif lower == "link":
            for href, relations in _links(value[:_HEADER_CHARS]):
                if "canonical" in relations:
                    found.canonical = found.canonical or href
                if relations & _FOLLOWED and len(found.hrefs) < MOST_LINKS:
                    found.hrefs.append(href)
    return found


def _links(value: str) -> Iterator[tuple[str, frozenset[str]]]:
    for target in _TARGET.finditer(value):
        relation = _RELATION.search(target[2])
        yield target[1].strip(), frozenset((relation[1] or relation[2] or "").lower().split() if relation else ())
