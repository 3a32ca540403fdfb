"""Quality and coverage of a crawl so far, from a sample that gatherers can put together (Cho's measures, papers.md G5).

Quality is |A ∩ P| / |P|: the part of the N most linked pages among the N pages fetched, by the back-links that are
known at the end. What was met and not fetched counts, too. The sample is of the URLs with the smallest hashes, so every
gatherer samples the same ones: back-links add up, whoever saw them, and no record has to be read again. Of a crawl that
has met no more URLs than the sample holds, the figures are exact; of a larger one, they are within 3 points or so.

A page that several gatherers have fetched (independent, cross-over) gives its links once for each of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from gcs.core.report.explored import ExploredEvidence

#: URLs of a sample
SAMPLE = 1_024
T = TypeVar("T")
_EVERY_HASH = (1 << 64) - 1


class LinkSample(msgspec.Struct, frozen=True, array_like=True):
    """What one gatherer, or a team, knows of the sampled URLs."""

    #: URLs are in the sample whose hash is below this
    limit: int = _EVERY_HASH
    #: hash → pages seen that link to it
    backlinks: Mapping[int, int] = {}
    #: hash → whether it was a page, of the URLs that are dealt with
    dealt_with: Mapping[int, bool] = {}


def sample(evidence: ExploredEvidence, most: int = SAMPLE) -> LinkSample:
    """A sample of what a gatherer has seen."""
    return _cut(evidence.limit, evidence.backlinks, evidence.dealt_with, most)


def merged(samples: Sequence[LinkSample], most: int = SAMPLE) -> LinkSample:
    """The sample of a team."""
    backlinks: dict[int, int] = {}
    dealt_with: dict[int, bool] = {}
    for each in samples:
        for url, links in each.backlinks.items():
            backlinks[url] = backlinks.get(url, 0) + links
        for url, is_page in each.dealt_with.items():
            dealt_with[url] = dealt_with.get(url, False) or is_page
    return _cut(min((each.limit for each in samples), default=_EVERY_HASH), backlinks, dealt_with, most)


def _cut(limit: int, backlinks: Mapping[int, int], dealt_with: Mapping[int, bool], most: int) -> LinkSample:
    """Of these, the URLs below the limit, and no more than may be."""
    inside = sorted(url for url in {*backlinks, *dealt_with} if url < limit)
    limit = inside[most] if len(inside) > most else limit
    return LinkSample(limit, _below(limit, backlinks), _below(limit, dealt_with))


def _below(limit: int, table: Mapping[int, T]) -> dict[int, T]:
    return {url: value for url, value in table.items() if url < limit}


def _importance(known: LinkSample) -> tuple[list[int], list[int]]:
    """The back-links of the pages that were fetched, and of the URLs that may be pages and were not."""
    fetched = [known.backlinks.get(url, 0) for url, is_page in known.dealt_with.items() if is_page]
    return fetched, [links for url, links in known.backlinks.items() if url not in known.dealt_with]


def quality(known: LinkSample) -> float | None:
    """The part of the N most linked pages that is among the N fetched; None if there are none."""
    fetched, left = _importance(known)
    return _top_share(fetched, left) if fetched else None


def _top_share(fetched: Sequence[int], left: Iterable[int]) -> float:
    """Among equals at the border, those that were fetched are the important ones: a tie costs nothing."""
    ranked = sorted([*((links, True) for links in fetched), *((links, False) for links in left)], reverse=True)
    return sum(was_fetched for _, was_fetched in ranked[: len(fetched)]) / len(fetched)


def met_share(known: LinkSample) -> float:
    """The part of the pages met that was fetched. 1 where nothing was met."""
    fetched, left = _importance(known)
    return len(fetched) / (len(fetched) + len(left)) if fetched else 1.0
