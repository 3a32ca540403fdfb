"""What a search answers: the best pages with excerpts, near-duplicates folded, and facets.

Invariant: pure. An engine brings candidates, best first; what is shown of them is decided here, the same for all.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import msgspec

from gcs.core.page.near_duplicates import is_near
from gcs.core.search.query import Node, phrases
from gcs.core.search.searchable import Searchable
from gcs.core.search.snippet import Snippet, snippet

#: what a word in the title is worth, in words of the text
TITLE_WEIGHT = 4.0
#: properties that are counted over all that was found
FACETS = ("site", "lang", "type")
#: values of a facet that are shown
MOST_VALUES = 10
#: pages that may be asked for at once, from the first on
MOST_RESULTS = 1_000


class Hit(msgspec.Struct, frozen=True):
    """A page that was found."""

    score: float
    url: str
    title: str
    excerpt: str
    #: where in the excerpt words of the query stand: begin and end
    marks: tuple[tuple[int, int], ...] = ()
    site: str = ""
    lang: str = ""
    type: str = ""
    #: YYYYMMDD
    date: int = 0
    depth: int = 0
    #: pages with nearly the same text, found for the same query, that are not shown
    similar: int = 0


class FacetValue(msgspec.Struct, frozen=True):
    """A value of a property, and how many of the pages found have it."""

    value: str
    pages: int


class SearchResults(msgspec.Struct, frozen=True):
    """The answer to a query. `found` counts all pages that match, near-duplicates too."""

    found: int
    pages: list[Hit]
    facets: dict[str, list[FacetValue]] = {}
    #: of a team that was asked: the indexes that did not answer
    missing: list[str] = []


class RankedPage(msgspec.Struct, frozen=True):
    """A page that matches, and how well."""

    score: float
    page: Searchable
    #: where it is known already
    excerpt: Snippet | None = None


class EngineAnswer(msgspec.Struct, frozen=True):
    """What an engine finds: how many pages, the best of them, and facets over all."""

    found: int
    best: list[RankedPage]
    facets: dict[str, list[FacetValue]] = {}


class Asked(msgspec.Struct, frozen=True):
    """What is asked of a search: the query, and which of the results."""

    node: Node
    most: int = 10
    skip: int = 0
    #: show one of several pages that are nearly the same
    fold: bool = True
    facets: bool = True

    @property
    def window(self) -> int:
        """Candidates that are needed: some of them may be folded away."""
        shown = self.skip + self.most
        return min(shown * 3 + 20 if self.fold else shown, 3 * MOST_RESULTS)


def present(asked: Asked, answers: Sequence[EngineAnswer]) -> SearchResults:
    """The results of one index or several; a page that several have counts in `found` for each."""
    wanted = list(phrases(asked.node))
    ranked = answers[0].best if len(answers) == 1 else _ranked(answers)
    groups = fold(ranked) if asked.fold else [(each, 0) for each in ranked]
    hits = []
    for each, similar in groups[asked.skip : asked.skip + asked.most]:
        page, shown = each.page, each.excerpt or snippet(each.page.text, wanted)
        hits.append(
            Hit(
                round(each.score, 4), page.url, page.title, shown.text, shown.marks, page.host, page.lang, page.kind,
                page.day, page.depth, similar,
            )
        )  # fmt: skip
    return SearchResults(sum(answer.found for answer in answers), hits, _merged(answers))


def _ranked(answers: Sequence[EngineAnswer]) -> list[RankedPage]:
    by_url: dict[str, RankedPage] = {}
    for each in chain.from_iterable(answer.best for answer in answers):
        if each.page.url not in by_url or by_url[each.page.url].score < each.score:
            by_url[each.page.url] = each
    return sorted(by_url.values(), key=lambda each: (-each.score, each.page.url))


def _merged(answers: Sequence[EngineAnswer]) -> dict[str, list[FacetValue]]:
    totals: dict[str, Counter[str]] = {}
    for answer in answers:
        for name, values in answer.facets.items():
            totals.setdefault(name, Counter()).update({each.value: each.pages for each in values})
    return top_values(totals)


def fold(best: Iterable[RankedPage]) -> list[tuple[RankedPage, int]]:
    """Each of those that are nearly the same is counted with the best of them."""
    kept: list[RankedPage] = []
    counts: list[int] = []
    for each in best:
        mine = each.page.simhash
        same = [at for at, one in enumerate(kept) if mine and one.page.simhash and is_near(one.page.simhash, mine)][:1]
        if same:
            counts[same[0]] += 1
        else:
            kept.append(each)
            counts.append(0)
    return list(zip(kept, counts))


def top_values(counts: Mapping[str, Mapping[str, int]]) -> dict[str, list[FacetValue]]:
    """The most frequent values of each facet."""
    return {
        name: [
            FacetValue(value, pages)
            for value, pages in sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_VALUES]
        ]
        for name, found in counts.items()
    }
