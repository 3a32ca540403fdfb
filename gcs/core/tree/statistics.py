"""What the gatherers measure per superpage while they crawl: the numbers that a partition is computed from (§4.5).

The paper's tables: w (URLs seen, and still queued), R (pages per second of gatherer i in superpage j), c (URLs per
second that a gatherer exchanges), S (links from superpage to superpage). All are kept as counts and seconds, never
as ratios, so that they add up; a table is sparse, since a gatherer knows little beside its own superpages. A sample of
the keys that wait says where in a superpage its queue lies: where hosts are finished, it is not where the visits were.
How far the hosts of others are, a gatherer finds out by probes (`access`); which hosts to probe, their owners say.

`core.plan.rebalance` makes rates of the counts; this module must not load numpy.

Invariant: merging is associative and commutative, and keeps every sum; so does moving to a new expansion.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TypeVar

import msgspec

from gcs.core.messages.codec import pack, unpack
from gcs.core.tree.superpages import Superpages
from gcs.core.tree.tree import Cuts, range_of

K = TypeVar("K")

_VERSION = 1


class SuperpageFigures(msgspec.Struct, array_like=True):
    """What was counted in one superpage."""

    seen: int = 0
    queued: int = 0
    pages: int = 0
    bytes: int = 0


class MeasuredWork(msgspec.Struct, array_like=True):
    """An amount of work and the busy seconds it took: pages fetched, or URLs exchanged."""

    amount: int = 0
    seconds: float = 0.0


class SuperpageStatistics(msgspec.Struct):
    """Counts of one gatherer, or of a team."""

    superpages: dict[int, SuperpageFigures] = {}
    #: R: gatherer → superpage → pages
    rates: dict[str, dict[int, MeasuredWork]] = {}
    #: c: gatherer → URLs sent and received
    exchange: dict[str, MeasuredWork] = {}
    #: S: superpage → superpage → links
    links: dict[int, dict[int, int]] = {}
    #: gatherer → pages that helpers fetched for it, beside those that it fetched itself
    helped: dict[str, int] = {}
    #: keys of URLs that are queued, a fair sample of them, in order
    waiting: list[bytes] = []
    #: gatherer → host (as in `sortkey.host_of_key`) → seconds of a round trip to it
    access: dict[str, dict[bytes, float]] = {}
    #: superpage → origins ("https://www.example.com") of pages that were fetched there: a few that can be probed
    origins: dict[int, list[str]] = {}

    def figures(self, superpage: int) -> SuperpageFigures:
        """Of one superpage, to be changed."""
        known = self.superpages.get(superpage)  # not setdefault: this is asked for with every URL
        if known is None:
            known = self.superpages[superpage] = SuperpageFigures()
        return known

    def found(self, superpage: int, urls: int = 1) -> None:
        """URLs were seen for the first time and queued."""
        figures = self.figures(superpage)
        figures.seen += urls
        figures.queued += urls

    def fetched(self, gatherer: str, superpage: int, size_bytes: int, seconds: float) -> None:
        """A page was taken from the queue and done."""
        self._done(superpage, size_bytes)
        row = self.rates.get(gatherer)
        if row is None:
            row = self.rates[gatherer] = {}
        work = row.get(superpage)
        if work is None:
            work = row[superpage] = MeasuredWork()
        work.amount += 1
        work.seconds += seconds

    def fetched_by_helper(self, gatherer: str, superpage: int, size_bytes: int) -> None:
        """Count a page that a helper fetched: it says how much help the gatherer gets, and not how fast it is."""
        self._done(superpage, size_bytes)
        self.helped[gatherer] = self.helped.get(gatherer, 0) + 1

    def _done(self, superpage: int, size_bytes: int) -> None:
        figures = self.figures(superpage)
        figures.queued -= 1
        figures.pages += 1
        figures.bytes += size_bytes

    def linked(self, source: int, targets: Iterable[int]) -> None:
        """A page of one superpage links to pages of these."""
        row = self.links.setdefault(source, {})
        for target in targets:
            row[target] = row.get(target, 0) + 1

    def encode(self) -> bytes:
        return pack(_VERSION, self)

    @classmethod
    def decode(cls, data: bytes) -> "SuperpageStatistics":
        return unpack(cls, _VERSION, data)


def merge(parts: Iterable[SuperpageStatistics]) -> SuperpageStatistics:
    team = SuperpageStatistics()
    for part in parts:
        for at, figures in part.superpages.items():
            _add_figures(team.superpages.setdefault(at, SuperpageFigures()), figures)
        for gatherer, row in part.rates.items():
            known = team.rates.setdefault(gatherer, {})
            for at, work in row.items():
                _add_work(known.setdefault(at, MeasuredWork()), work)
        for gatherer, work in part.exchange.items():
            _add_work(team.exchange.setdefault(gatherer, MeasuredWork()), work)
        for gatherer, pages in part.helped.items():
            team.helped[gatherer] = team.helped.get(gatherer, 0) + pages
        for source, targets in part.links.items():
            counts = team.links.setdefault(source, {})
            for target, links in targets.items():
                counts[target] = counts.get(target, 0) + links
        team.waiting += part.waiting
        for gatherer, hosts in part.access.items():
            team.access.setdefault(gatherer, {}).update(hosts)
        for at, origins in part.origins.items():
            team.origins[at] = sorted({*team.origins.get(at, ()), *origins})
    team.waiting.sort()
    return team


def project(old: SuperpageStatistics, cuts: Cuts, new: Superpages) -> SuperpageStatistics:
    """The statistics under a new expansion (`cuts`: the old one's), divided as the visits were, queues as they lie."""
    parts: dict[int, list[tuple[int, float]]] = {}
    for before, after, visits in new.shares:
        parts.setdefault(before, []).append((after, visits))

    def heirs(before: int) -> list[tuple[int, float]]:
        return parts.get(before) or [(new.locate(cuts[before]), 1.0)]

    def queues(before: int) -> list[tuple[int, float]]:
        """Where the sampled keys are that wait; all visits together count as one more of them."""
        low, high = range_of(cuts, before)
        first, last = new.locate(low), bisect_left(new.cuts, high)
        ends = [bisect_left(old.waiting, cut) for cut in (low, *new.cuts[first + 1 : last], high)]
        counts: dict[int, float] = {first + at: end - start for at, (start, end) in enumerate(pairwise(ends))}
        visits = math.fsum(share for _, share in heirs(before))
        for after, share in heirs(before):
            counts[after] = counts.get(after, 0.0) + share / visits
        return list(counts.items())

    moved = SuperpageStatistics(exchange=old.exchange, helped=old.helped, waiting=old.waiting, access=old.access)
    for before, figures in old.superpages.items():
        for after, (seen, pages, size) in _divide(heirs(before), figures.seen, figures.pages, figures.bytes):
            _add_figures(moved.superpages.setdefault(after, SuperpageFigures()), SuperpageFigures(seen, 0, pages, size))
        for after, (queued,) in _divide(queues(before) if old.waiting else heirs(before), figures.queued):
            moved.superpages.setdefault(after, SuperpageFigures()).queued += queued
    for gatherer, row in old.rates.items():
        rates = moved.rates.setdefault(gatherer, {})
        for before, work in row.items():
            for (after, share), (_, (amount,)) in zip(heirs(before), _divide(heirs(before), work.amount)):
                seconds = work.seconds * share / math.fsum(share for _, share in heirs(before))
                _add_work(rates.setdefault(after, MeasuredWork()), MeasuredWork(amount, seconds))
    for source, targets in old.links.items():
        for target, links in targets.items():
            pairs = [((s, t), x * y) for s, x in heirs(source) for t, y in heirs(target)]
            for (s, t), (count,) in _divide(pairs, links):
                if count:
                    row_of = moved.links.setdefault(s, {})
                    row_of[t] = row_of.get(t, 0) + count
    return moved


def carried(row: dict[int, MeasuredWork], old: Cuts, new: Cuts, share: float) -> dict[int, MeasuredWork]:
    """This share of what a gatherer has measured, under other cuts; what comes to less than a page is forgotten.

    A piece of a superpage is as fast as the whole was, and the whole as its pieces were.
    """
    kept: dict[int, MeasuredWork] = {}
    for before, work in row.items():
        low, high = range_of(old, before)
        heirs = range(bisect_right(new, low) - 1, bisect_left(new, high))
        amount = round(work.amount * share / len(heirs))
        for after in heirs if amount else ():
            _add_work(kept.setdefault(after, MeasuredWork()), MeasuredWork(amount, work.seconds * amount / work.amount))
    return kept


def _divide(shares: Sequence[tuple[K, float]], *amounts: int) -> list[tuple[K, list[int]]]:
    """Whole parts of the amounts in proportion to the shares; they add up to the amounts."""
    total = math.fsum(share for _, share in shares)
    ends = [0.0, *accumulate(share / total for _, share in shares)]
    ends[-1] = 1.0
    marks = [[round(amount * end) for amount in amounts] for end in ends]
    return [(to, [b - a for a, b in zip(low, high)]) for (to, _), (low, high) in zip(shares, pairwise(marks))]


def _add_figures(total: SuperpageFigures, more: SuperpageFigures) -> None:
    total.seen += more.seen
    total.queued += more.queued
    total.pages += more.pages
    total.bytes += more.bytes


def _add_work(total: MeasuredWork, more: MeasuredWork) -> None:
    total.amount += more.amount
    total.seconds += more.seconds
