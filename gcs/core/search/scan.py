"""Search without an index: every page is looked at once. The engines of the index are tested against this.

The order is BM25's, over titles and texts; a word in the title counts as several in the text.

Invariant: of a page that does not match only figures are kept, so memory grows with the matches.
"""

import heapq
import math
from collections import Counter

import msgspec

from gcs.core.search.matching import matches, needle
from gcs.core.search.query import phrases
from gcs.core.search.results import TITLE_WEIGHT, Asked, EngineAnswer, RankedPage, top_values
from gcs.core.search.searchable import Searchable
from gcs.core.search.snippet import Snippet, snippet

#: how fast further occurrences of a word lose weight, and how much a long page is held against it (BM25's usual ones)
SATURATION, LENGTH = 1.2, 0.75


class Scan:
    """One search: `add` every page, then ask for the `answer`."""

    def __init__(self, asked: Asked) -> None:
        self._asked, self._wanted = asked, list(phrases(asked.node))
        self._needles = [needle(phrase) for phrase in self._wanted]
        self._pages = self._length = 0
        #: pages that have each word or phrase
        self._having = [0] * len(self._wanted)
        self._matches: list[tuple[list[float], int, Searchable, Snippet]] = []
        self._facets: dict[str, Counter[str]] = {"site": Counter(), "lang": Counter(), "type": Counter()}

    def add(self, page: Searchable) -> None:
        self._pages += 1
        self._length += len(page.text_words)
        counts = [self._count(at, page) for at in range(len(self._wanted))]
        for at, count in enumerate(counts):
            self._having[at] += count > 0
        if matches(self._asked.node, page):
            excerpt = snippet(page.text, self._wanted)
            bare = msgspec.structs.replace(page, text="")
            self._matches.append((counts, len(page.text_words), bare, excerpt))
            if self._asked.facets:
                self._facets["site"].update([page.host] if page.host else [])
                self._facets["lang"].update([page.lang] if page.lang else [])
                self._facets["type"].update([page.kind] if page.kind else [])

    def _count(self, at: int, page: Searchable) -> float:
        phrase, wanted = self._wanted[at], self._needles[at]
        if not page.vocabulary.issuperset(phrase.words[:-1] if phrase.is_prefix else phrase.words):
            return 0
        titled = _occurrences(page.title_line, wanted)
        return TITLE_WEIGHT * titled + (0 if phrase.in_title else _occurrences(page.text_line, wanted))

    def answer(self) -> EngineAnswer:
        mean = max(self._length / self._pages, 1.0) if self._pages else 1.0
        rarity = [math.log(1 + (self._pages - having + 0.5) / (having + 0.5)) for having in self._having]
        found = []
        for counts, length, page, excerpt in self._matches:
            drag = SATURATION * (1 - LENGTH + LENGTH * length / mean)
            score = sum(rare * count * (SATURATION + 1) / (count + drag) for rare, count in zip(rarity, counts))
            found.append(RankedPage(score, page, excerpt))
        best = heapq.nsmallest(self._asked.window, found, key=lambda each: (-each.score, -each.page.day, each.page.url))
        return EngineAnswer(len(found), best, top_values(self._facets) if self._asked.facets else {})


def _occurrences(line: str, wanted: str) -> int:
    """How often it stands there; two that follow one another share the space between them."""
    count, at = 0, line.find(wanted)
    while at >= 0:
        count, at = count + 1, line.find(wanted, at + 1)
    return count
