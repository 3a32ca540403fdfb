"""Trust: how much of a strange helper's work the gatherer does again, and when it cuts the helper off.

What a helper sends through the gateway is held in *lots*, one open at a time for each helper. When a lot is full or
old it is closed, and only then some of its pages are drawn, at random, for the gatherer to fetch again. If all of them
are as the helper said, the other pages of the lot are believed; if one is not, none is. Where the gatherer saw other
bytes it looks a second time, because pages change: what its two looks differ in is held against no helper. A page that
the helper may have seen in another state counts as *unsure*: that is no lie, but its lot is not believed.

Invariant: no page is believed unless another page of its lot, which the helper could not foresee, was seen to be true;
a drawn page is never believed, but fetched. So a helper that always lies has nothing believed, whatever it says. Of one
that lies now and then, each lie is drawn with a probability of at least `share`: until it is caught for the n-th time
and cut off, no more than n (1 - share) / share of its lies are believed on average, however it chooses them. Unsure
pages accuse no helper, but the more of them there are, the more is looked at: everything, where they are more than
`share` of a helper's pages. So no more than share / 4 of what a helper sends can be lies of that kind and be believed.

Pure: time and chance come from the caller. It does not know how pages are fetched or stored.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Generic, TypeVar

from gcs.core.helpers.page_compare import PageView, is_wild, misfit, resembles, same_bytes
from gcs.errors import SettingsError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TrustSettings:
    """How far helpers behind the gateway are trusted."""

    #: share of a helper's pages that the gatherer fetches again, and compares
    share: float = 0.1
    #: pages of a new helper, or of one that was caught, that are all fetched again
    probation: int = 3
    #: pages of a lot, and seconds that it is open: they are believed, or not, together
    lot_pages: int = 20
    #: see lot_pages
    lot_s: float = 3.0
    #: seconds for fetching them again; a lot that cannot be judged by then is not believed
    check_s: float = 120.0
    #: false pages after which a helper is cut off
    lies: int = 2
    #: requests that no honest helper makes (a URL that it does not hold, sizes beyond all limits) before it is cut off
    strikes: int = 5
    #: memory of a gatherer for pages that nobody has judged; what comes beyond it is not held, but fetched
    held_mb: float = 256.0

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise SettingsError(f"trust.share: {self.share} is no share; give a number above 0, up to 1 (all)")
        if not self.lot_pages or not self.lies or not self.strikes:
            raise SettingsError("trust: lot_pages, lies and strikes must be above 0")


@dataclass(slots=True)
class TrustRecord:
    """What speaks for and against one helper."""

    true: int = 0
    false: int = 0
    #: pages that may have changed, or for which the gatherer got another answer
    unsure: int = 0
    #: true ones in a row, up to now
    row: int = 0

    @property
    def doubt(self) -> float:
        """The share of the looks that were unsure."""
        return self.unsure / max(self.true + self.false + self.unsure, 1)


@dataclass(slots=True)
class _Held(Generic[T]):
    """One page of a lot."""

    url: str
    claim: PageView
    item: T
    #: the first look, if it saw other bytes
    first: PageView | None = None
    size_bytes: int = 0


@dataclass(slots=True)
class _Lot(Generic[T]):
    """Pages of one helper. Filled by `hold`; emptied by its verdict."""

    helper: str
    opened_at: float
    held: dict[str, _Held[T]] = field(default_factory=dict)
    #: drawn, and not yet looked at; None while the lot is open
    drawn: set[str] | None = None
    deadline: float = math.inf


@dataclass(frozen=True, slots=True)
class Verdict(Generic[T]):
    """What has come of a lot, or of one look at a page of it."""

    helper: str
    #: these are taken for true: store them
    believed: tuple[T, ...] = ()
    #: these are not to be stored: fetch them
    refused: tuple[T, ...] = ()
    #: the page may have changed: look at it a second time before it is judged
    again: bool = False
    #: what was wrong
    lie: str = ""
    #: it has lied too often
    cut_off: bool = False


class Quarantine(Generic[T]):
    """Pages of strange helpers that are not judged yet. An item stands for a page; it is given back as it was."""

    def __init__(self, settings: TrustSettings, chance: Random) -> None:
        self._settings, self._chance = settings, chance
        self.evidence: dict[str, TrustRecord] = {}
        self._open: dict[str, _Lot[T]] = {}  # by helper
        self._drawn: dict[str, _Lot[T]] = {}  # by URL that is to be looked at
        self._closed: list[_Lot[T]] = []

    def __len__(self) -> int:
        """Pages that wait to be believed; not those that are drawn, which are fetched whatever comes of them."""
        return sum(len(lot.held) for lot in (*self._open.values(), *self._closed)) - len(self._drawn)

    def has_room(self, size_bytes: int) -> bool:
        """Whether one more page of that size may be held."""
        lots = (*self._open.values(), *self._closed)
        held = sum(each.size_bytes for lot in lots for each in lot.held.values())
        return held + size_bytes <= self._settings.held_mb * 1e6

    def is_drawn(self, url: str) -> bool:
        """Whether the gatherer has to look at this page."""
        return url in self._drawn

    def hold(self, helper: str, url: str, claim: PageView, item: T, now: float, size_bytes: int = 0) -> None:
        """Hold a page that a helper has sent, and for which there is room."""
        lot = self._open.get(helper) or self._open.setdefault(helper, _Lot(helper, now))
        lot.held[url] = _Held(url, claim, item, size_bytes=size_bytes)

    def tick(self, now: float) -> tuple[list[T], list[Verdict[T]]]:
        """The items of pages to look at from now on, and the verdicts on lots that took too long."""
        items: list[T] = []
        for helper, lot in list(self._open.items()):
            if self._is_due(lot, now):
                del self._open[helper]
                items += self._draw(lot, now)
        late = [lot for lot in self._closed if now >= lot.deadline]
        return items, [self._end(lot) for lot in late]

    def next_at(self) -> float | None:
        """When `tick` has something to do, unless something happens before."""
        times = [lot.opened_at + self._settings.lot_s for lot in self._open.values()]
        times += [lot.deadline for lot in self._closed]
        return min(times, default=None)

    def looked(self, url: str, own: PageView | None) -> Verdict[T]:
        """The gatherer has looked at a drawn page; None: there is no such page."""
        lot = self._drawn[url]
        held = lot.held[url]
        if own and held.first is None and not same_bytes(held.claim, own):
            held.first = own
            return Verdict(lot.helper, again=True)
        why, is_lie = self._judge(held, own) if own else ("there is no such page", True)
        evidence = self.evidence.setdefault(lot.helper, TrustRecord())
        self._take(lot, url)
        if not why:
            evidence.true += 1
            evidence.row += 1
            return self._end(lot, believe=True) if not lot.drawn else Verdict(lot.helper)
        if not is_lie:
            self._count_unsure(lot.helper)
            return self._end(lot)
        evidence.row = 0
        evidence.false += 1
        cut_off = evidence.false >= self._settings.lies
        refused = self.clear(lot.helper) if cut_off else self._end(lot).refused
        return Verdict(lot.helper, refused=tuple(refused), lie=why, cut_off=cut_off)

    def unseen(self, url: str, answered: bool = False) -> Verdict[T]:
        """A look at a drawn page failed: its lot cannot be believed. If the server answered otherwise, it is unsure."""
        lot = self._drawn[url]
        self._take(lot, url)
        if answered:
            self._count_unsure(lot.helper)
        return self._end(lot)

    def clear(self, helper: str | None = None) -> list[T]:
        """Give up everything, or all of one helper; the items, to be fetched. Drawn pages are not among them."""
        items: list[T] = []
        for lot in [*self._open.values(), *self._closed]:
            if helper in (None, lot.helper):
                items += self._end(lot).refused
        return items

    def _is_due(self, lot: _Lot[T], now: float) -> bool:
        settings = self._settings
        pages = min(settings.lot_pages, settings.probation) if self._on_probation(lot.helper) else settings.lot_pages
        return len(lot.held) >= pages or now >= lot.opened_at + settings.lot_s

    def _on_probation(self, helper: str) -> bool:
        evidence = self.evidence.get(helper)
        return evidence is None or evidence.row < self._settings.probation

    def _count_unsure(self, helper: str) -> None:
        evidence = self.evidence.setdefault(helper, TrustRecord())
        evidence.unsure += 1
        evidence.row = 0

    def _share(self, helper: str) -> float:
        """The share of its pages that is looked at."""
        if self._on_probation(helper):
            return 1.0
        share = self._settings.share
        return max(share, min(self.evidence[helper].doubt / share, 1.0))

    def _draw(self, lot: _Lot[T], now: float) -> Iterable[T]:
        urls = list(lot.held)
        share = self._share(lot.helper)
        lot.drawn = set(self._chance.sample(urls, math.ceil(share * len(urls))))
        lot.deadline = now + self._settings.check_s
        self._closed.append(lot)
        self._drawn |= dict.fromkeys(lot.drawn, lot)
        return [lot.held[url].item for url in urls if url in lot.drawn]

    def _take(self, lot: _Lot[T], url: str) -> None:
        """A drawn page has been judged, and leaves its lot."""
        assert lot.drawn
        lot.drawn.discard(url)
        del self._drawn[url], lot.held[url]

    def _end(self, lot: _Lot[T], believe: bool = False) -> Verdict[T]:
        """The lot is done with. Pages that are drawn are fetched already: they belong to nobody's lot any more."""
        drawn = lot.drawn or set()
        items = tuple(each.item for url, each in lot.held.items() if url not in drawn)
        for url in drawn:
            self._drawn.pop(url, None)
        self._closed = [other for other in self._closed if other is not lot]
        if self._open.get(lot.helper) is lot:
            del self._open[lot.helper]
        return Verdict(lot.helper, believed=items) if believe else Verdict(lot.helper, refused=items)

    def _judge(self, held: _Held[T], own: PageView) -> tuple[str, bool]:
        """What is wrong with the claim, "" if nothing; and whether it is a lie: the page may have changed."""
        claim, chance = held.claim, self._chance
        if same_bytes(claim, own):
            return misfit(claim, [own], chance), True
        assert held.first
        looks = [held.first, own]
        if is_wild(looks, chance):
            return "the page is another one every time", False
        why = misfit(claim, looks, chance)
        if not why and same_bytes(*looks):
            why = "its digest is not the page's"
        return why, not resembles(claim, own, chance)
