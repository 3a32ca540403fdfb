"""Finding pages by words: BM25 over titles and texts, in one pass, without an index.

A page must have every word and phrase of the query and none of the words with a minus; `site:` names its host or a
domain above it. A word in the title counts as several in the text.

Invariant: what is kept of a page that does not match is its length alone, so memory grows with the matches only.
It must not read anything: pages are given to it.
"""

import heapq
import math
import re
from dataclasses import dataclass, field

from gcs.errors import UsageError

_WORD = re.compile(r"\w+")
_PART = re.compile(r'(?P<minus>-?)(?:site:(?P<site>\S+)|"(?P<phrase>[^"]*)"|(?P<word>\S+))')
#: how fast further occurrences of a word lose weight, and how much a long page is held against it (BM25's usual ones)
SATURATION, LENGTH = 1.2, 0.75
#: what a word in the title is worth, in words of the text
TITLE = 4
#: characters of an excerpt on either side of the first word found
AROUND = 80


def words(text: str) -> list[str]:
    """The words of a text, as they are compared."""
    return _WORD.findall(text.casefold())


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for: lists of words that stand together, words that must not be there, and hosts."""

    phrases: tuple[tuple[str, ...], ...]
    without: frozenset[str] = frozenset()
    sites: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Query":
        """From a line: word "two words" -word site:example.org"""
        phrases: list[tuple[str, ...]] = []
        without: set[str] = set()
        sites: list[str] = []
        for part in _PART.finditer(text):
            found = words(part["phrase"] if part["phrase"] is not None else part["word"] or "")
            if part["site"]:
                sites.append(part["site"].casefold().strip("."))
            elif part["minus"]:
                without.update(found)
            elif found:
                phrases.append(tuple(found))
        if not phrases:
            raise UsageError("give at least one word to look for")
        return cls(tuple(dict.fromkeys(phrases)), frozenset(without), tuple(sites))

    def is_at(self, host: str) -> bool:
        return not self.sites or any(host == site or host.endswith(f".{site}") for site in self.sites)


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """A page that was found."""

    score: float
    url: str
    title: str
    excerpt: str


@dataclass(slots=True)
class Search:
    """One search: `add` every page, then ask for the `best`."""

    query: Query
    _pages: int = 0
    _length: int = 0
    #: for each match: how often each phrase occurs, its length, and what to show of it
    _matches: list[tuple[list[int], int, str, str, str]] = field(default_factory=list)

    def add(self, url: str, host: str, title: str, text: str) -> None:
        if not self.query.is_at(host):
            return
        head, body = words(title), words(text)
        self._pages += 1
        self._length += len(body)
        there = set(head) | set(body)
        if there & self.query.without or not all(there.issuperset(phrase) for phrase in self.query.phrases):
            return
        counts = [TITLE * _count(head, phrase) + _count(body, phrase) for phrase in self.query.phrases]
        if all(counts):
            self._matches.append((counts, len(body), url, title, _excerpt(text, self.query.phrases[0])))

    def best(self, most: int) -> list[Hit]:
        mean = self._length / self._pages if self._pages else 1.0
        rarity = math.log(1 + (self._pages - len(self._matches) + 0.5) / (len(self._matches) + 0.5))
        hits = []
        for counts, length, url, title, excerpt in self._matches:
            drag = SATURATION * (1 - LENGTH + LENGTH * length / max(mean, 1.0))
            score = rarity * sum(count * (SATURATION + 1) / (count + drag) for count in counts)
            hits.append(Hit(round(score, 4), url, title, excerpt))
        return heapq.nlargest(most, hits, key=lambda hit: (hit.score, hit.url))

    @property
    def found(self) -> int:
        return len(self._matches)


def _count(text: list[str], phrase: tuple[str, ...]) -> int:
    if len(phrase) == 1:
        return text.count(phrase[0])
    size = len(phrase)
    return sum(text[at] == phrase[0] and tuple(text[at : at + size]) == phrase for at in range(len(text) - size + 1))


def _excerpt(text: str, phrase: tuple[str, ...]) -> str:
    """Some of the text around the first place where the phrase stands."""
    match = re.search(r"\W+".join(map(re.escape, phrase)), text, re.IGNORECASE)
    begin = max(0, match.start() - AROUND) if match else 0
    end = (match.end() if match else 0) + AROUND
    cut = " ".join(text[begin:end].split())
    return ("… " if begin else "") + cut + (" …" if end < len(text) else "")
