"""Superpage statistics: what a gatherer counts of its superpages, for the leader's next plan.

Under a new plan everything is counted anew, from the frontier, a slice per turn: with millions of URLs a count takes
longer than a lease lasts. A change of a URL is counted at once if the slice of the URL is counted already, and else
with the slice. A sample of the queued URLs tells the leader where in the superpages the work lies.

What was measured under earlier plans is kept, and counts for less with each: a gatherer that comes to own a superpage
again, or compares itself with its present owner, need not find out anew how fast it is there.

Invariant: when `is_complete`, every URL of this gatherer is counted once, queued or not.
"""

from collections.abc import Callable
from itertools import islice
from random import Random

from gcs.core.messages.tuples import SuperpagePatch
from gcs.core.page.values import PageRecord
from gcs.core.plan import keyspace
from gcs.core.plan.keyspace import EVERYTHING, Keyspace, Ranges
from gcs.core.plan.plan import Plan
from gcs.core.tree import tree as trees
from gcs.core.tree.sketch import KeySample
from gcs.core.tree.statistics import MeasuredWork, SuperpageFigures, SuperpageStatistics, carried
from gcs.core.tree.superpages import recut
from gcs.core.tree.tree import TOKENS, WHOLE, Cuts, UrlTree
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import origin_of, sort_key
from gcs.ports.frontier import Frontier, Mark

#: URLs counted per turn
SLICE_URLS = 5_000
#: the links between superpages are counted for one page in so many
LINKS_EVERY = 8
#: keys of queued URLs in the sample
SAMPLE_KEYS = 4_000
#: what measured rates count for under the next plan; origins that are noted of a superpage
KEPT, ORIGINS = 0.5, 8


class SuperpageStats:
    """The figures of one gatherer, by superpage."""

    def __init__(self, me: str, frontier: Frontier, random: Random, links: bool = False, tokens: int = TOKENS) -> None:
        """`links`: count the links between superpages, too; `tokens`: that a node of the tree remembers, at most."""
        self._me, self._frontier, self._random = me, frontier, random
        self._tree = UrlTree(WHOLE, random, tokens=tokens)
        self._statistics = SuperpageStatistics()
        self._waiting = KeySample(SAMPLE_KEYS, random)
        #: whether the superpages may be cut: then the leader needs the sample
        self._cuttable = True
        self._uncounted: Ranges = ()
        self._place: Callable[[bytes], bytes] = Keyspace.TREE.place
        self._visits = False  # whether the count also fills the tree
        self._links, self._pages = links, 0

    @property
    def is_complete(self) -> bool:
        return not self._uncounted

    def resume(self, plan: Plan) -> None:
        """Count anew after a restart; the count also fills the tree."""
        self._tree, self._visits = UrlTree(plan.cuts, self._random, tokens=self._tree.tokens), True
        self._begin(plan)

    def adopt(self, plan: Plan) -> None:
        """Count anew under a new plan; the tree keeps its visits in the superpages that this gatherer still owns."""
        self._visits = self._visits and bool(self._uncounted)  # an incomplete tree is begun anew
        old = self._tree.cuts
        if self._visits:
            self._tree = UrlTree(plan.cuts, self._random, tokens=self._tree.tokens)
        else:
            self._tree = recut(self._tree, plan.cuts, self._random)
        mine = {at for at, owner in enumerate(plan.owners) if plan.gatherers[owner] == self._me}
        self._tree.keep(mine)
        before = self._statistics
        self._begin(plan)
        self._remember(before, old, plan.cuts)

    def _begin(self, plan: Plan) -> None:
        """Begin to count the ranges of this gatherer; in a hashed key space, everything in the frontier."""
        self._statistics, self._place = SuperpageStatistics(), plan.keyspace.place
        self._waiting = KeySample(SAMPLE_KEYS, self._random)
        self._cuttable = plan.keyspace is Keyspace.TREE
        self._uncounted = tuple(plan.ranges_of(self._me)) if plan.keyspace is Keyspace.TREE else EVERYTHING

    def _remember(self, before: SuperpageStatistics, old: Cuts, cuts: Cuts) -> None:
        """Keep what was measured under the last plan, of superpages of others, too; it ages when superpages change."""
        share = 1.0 if old == cuts else KEPT
        self._statistics.rates[self._me] = carried(before.rates.get(self._me, {}), old, cuts, share)
        self._statistics.helped = {name: round(pages * share) for name, pages in before.helped.items()}
        for origin in (origin for origins in before.origins.values() for origin in origins):
            self._note_origin(self._tree.locate(self._place(sort_key(f"{origin}/"))), origin)

    def step(self) -> bool:
        """Count a slice; returns whether there is more to count."""
        if not self._uncounted:
            return False
        (low, high), *rest = self._uncounted
        last = low
        for last, mark in islice(self._frontier.scan(low, high), SLICE_URLS):
            place = self._place(last)
            figures = self._statistics.figures(self._tree.locate(place))
            figures.seen += 1
            if mark is Mark.QUEUED:
                figures.queued += 1
                self._waiting.add(last)
            if self._visits:
                self._tree.visit(place)
        behind = last + b"\x00"
        if next(self._frontier.scan(behind, high), None) is None:
            self._uncounted = tuple(rest)
        else:
            self._uncounted = ((behind, high), *rest)
        return bool(self._uncounted)

    def queued(self, entries: list[QueuedUrl]) -> None:
        waiting = []
        for entry in entries:
            key = sort_key(entry.url)
            if (at := self._visit(key)) is not None:
                self._statistics.found(at)
                waiting.append(key)
        self._waiting.add_all(waiting)

    def received(self, keys: list[bytes]) -> None:
        """The former owner of a range has finished the URLs with these keys."""
        for key in keys:
            if (at := self._visit(key)) is not None:
                self._statistics.figures(at).seen += 1

    def _visit(self, key: bytes) -> int | None:
        """Add a key to the tree, unless its slice will do so; returns its superpage if its slice is counted already."""
        is_counted = not keyspace.contains(self._uncounted, key)
        at = self._tree.visit(self._place(key)) if is_counted or not self._visits else None
        return at if is_counted else None

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:
        self._pages += 1
        key = sort_key(record.url)
        at = self._tree.locate(self._place(key))
        if record.helper:
            self._statistics.fetched_by_helper(self._me, at, record.bytes)
        else:
            self._statistics.fetched(self._me, at, record.bytes, elapsed_s)
        self._note_origin(at, origin_of(record.url))
        if keyspace.contains(self._uncounted, key):
            self._statistics.superpages[at].queued += 1  # its slice will find it done
        if self._links and record.outlinks and self._pages % LINKS_EVERY == 0:
            locate, place_of = self._tree.locate, self._place
            self._statistics.linked(at, [locate(place_of(sort_key(url))) for url in record.outlinks])

    def _note_origin(self, at: int, origin: str) -> None:
        """Note a host of a superpage, whose way others can measure."""
        origins = self._statistics.origins.setdefault(at, [])
        if origin and len(origins) < ORIGINS and origin not in origins:
            origins.append(origin)

    def patches(self, most: int) -> list[SuperpagePatch]:
        """The superpages for the station's map, with at most so many points in all (and one for each superpage)."""
        visits = max(self._tree.visits, 1)
        patches = []
        for at, sketch in self._tree.sketches():
            low = self._tree.range_of(at)[0]
            figures = self._statistics.superpages.get(at, SuperpageFigures())
            seen = figures.seen if self.is_complete else max(figures.seen, sketch.visits)
            points = sketch.glimpse(low, max(most * sketch.visits // visits, 1))
            patches.append(SuperpagePatch(low, seen, figures.queued, figures.pages, points))
        return patches

    def encode(
        self, exchanged: MeasuredWork | None = None, access: dict[bytes, float] | None = None
    ) -> tuple[bytes, bytes]:
        """The copy of the tree, and the statistics; `exchanged` and `access` (host → round trip) are added to them."""
        self._statistics.access = {self._me: access} if access else {}
        if exchanged is not None:
            self._statistics.exchange = {self._me: exchanged}
        if self._cuttable:
            self._statistics.waiting = sorted(key for key in {*self._waiting.items()} if self._frontier.waits(key))
        return trees.encode(self._tree), self._statistics.encode()
