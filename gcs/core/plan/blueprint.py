"""Blueprints: plans made ahead, from the graph of the last session, with parts where a plan has gatherers.

| model      | cuts                          | owners                                  |
|------------|-------------------------------|-----------------------------------------|
| superpages | Teng's, of the last session   | Partition II                            |
| metis-site | sites; see `CutSites`         | METIS, bytes and pages balanced (C3)    |
| metis-page | where the owner changes       | METIS, bytes and pages balanced (C2)    |
| site-hash  | even, on hosts by hash        | in turn                                 |
| url-hash   | even, on URLs by hash         | in turn                                 |
| dset       | top-level domains             | packed by pages (WEB-SAILOR)            |

The pages that most units name are hot: everybody is told of them, and only the remaining web is partitioned (Teng §8).

On the tree, a cut is the shortest key between two pages, and a page that the last session did not know goes by it too:
to the owner of its neighbours. With `listed`, it belongs to whoever finds it (C5).

Invariant: the same session gives the same blueprint. It does not know which gatherers will take part.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import msgspec
import numpy as np

from gcs.core.messages.codec import pack, unpack
from gcs.core.partition import GONE, PartitionProblem, partition
from gcs.core.partition.greedy import domain
from gcs.core.partition.partition_graph import GIANT_SHARE, Ints, SessionLinks, cut_giants, superpage_model
from gcs.core.plan.hot_page_choice import named
from gcs.core.plan.keyspace import EVERYTHING, Keyspace, even_cuts
from gcs.core.plan.metrics import communication, imbalance, loads, posted
from gcs.core.plan.plan import Bloom, ExchangeMode, Plan
from gcs.core.plan.session_graph import SessionGraph, superpages
from gcs.core.tree.tree import Cuts
from gcs.core.url.sortkey import FIRST_KEY, host_of_key, sort_key, url_of
from gcs.errors import UsageError

#: which sites are cut into ranges: none (the paper's form); where that cannot be balanced, those that outweigh a part,
#: and where that is not enough, all large ones; or all large ones at once, for the best balance
CutSites = Literal["never", "needed", "always"]

_VERSION = 1
#: pieces of a hashed key space per part: enough for others to share what one leaves behind
PIECES = 64


class Blueprint(msgspec.Struct, frozen=True):
    """Superpage i is [cuts[i], cuts[i + 1]) in `keyspace`, and goes to part owners[i]."""

    model: str
    parts: int
    cuts: Cuts
    owners: tuple[int, ...]
    #: pages of the last session in each superpage
    weights: tuple[int, ...]
    keyspace: Keyspace = msgspec.field(default=Keyspace.TREE, name="ground")  # its name in crawls that exist
    #: pages of the last session that everybody is told of (G4)
    hot_pages: tuple[str, ...] = ()
    listed: Bloom = Bloom()
    lists_hosts: bool = False

    def owners_of(self, data: SessionGraph) -> Ints:
        """The part of each page of a session."""
        if self.keyspace is Keyspace.TREE:
            begins = [*(bisect_left(data.keys, cut) for cut in self.cuts), len(data.keys)]
            return np.repeat(np.array(self.owners, np.int64), np.diff(begins))
        cuts, owners, place = self.cuts, self.owners, self.keyspace.place
        return np.array([owners[bisect_right(cuts, place(key)) - 1] for key in data.keys], np.int64)

    def plan(self, gatherers: tuple[str, ...], mode: ExchangeMode, session: int, old: Plan | None = None) -> Plan:
        """The plan for these gatherers. A part goes to the present owner of most of it, if there is one."""
        owners = np.array(self.owners, np.int64)
        if len(gatherers) == self.parts:
            names = _heirs(self, gatherers, old)
        else:  # it was made for more or fewer gatherers
            names = list(range(len(gatherers)))
            owners = np.where(owners < len(gatherers), owners, GONE)
            owners = partition("sticky", PartitionProblem(np.array(self.weights), len(gatherers), current=owners))
        return Plan(
            epoch=old.epoch + 1 if old else 1,
            gatherers=gatherers,
            cuts=self.cuts,
            owners=tuple(names[owner] for owner in owners.tolist()),
            hot_pages=self.hot_pages,
            mode=mode,
            lost=EVERYTHING,  # a session begins: nobody has anything to hand over
            keyspace=self.keyspace,
            listed=self.listed,
            lists_hosts=self.lists_hosts,
            session=session,
            static=self.model != "superpages",
        )

    def encode(self) -> bytes:
        return pack(_VERSION, self)

    @classmethod
    def decode(cls, data: bytes) -> "Blueprint":
        return unpack(cls, _VERSION, data)


def hashed(model: str, parts: int) -> Blueprint:
    """A blueprint that needs no session: by hash."""
    pieces = parts * PIECES
    owners = tuple(piece // PIECES for piece in range(pieces))
    return Blueprint(model, parts, even_cuts(pieces), owners, (1,) * pieces, Keyspace(model))


@dataclass(frozen=True, slots=True)
class BlueprintRequest:
    """What kind of blueprint is wanted."""

    model: str
    parts: int
    tolerance: float = 0.05
    #: how many pages everybody is told of
    hot_pages: int = 0
    #: pages or hosts that the session does not list go to the gatherer that finds them
    finder: bool = False
    seed: int = 0
    #: for metis-site
    cut_sites: CutSites = "needed"


def draw(data: SessionGraph, wish: BlueprintRequest) -> Blueprint:
    if wish.model not in MODELS:
        raise UsageError(f"no model is called {wish.model!r}; there are {', '.join(MODELS)}")
    if wish.model == "metis-site" and wish.cut_sites != "always":
        for units in site_units(data.session, wish.parts, wish.tolerance):
            blueprint = _drawn(data, wish, units)
            if wish.cut_sites == "never" or _is_balanced(data, blueprint, wish.tolerance):
                return blueprint
    return _drawn(data, wish, _KINDS[wish.model].units(data, wish.parts))


def site_units(session: SessionLinks, k: int, tolerance: float) -> Iterator[Ints]:
    """The unit of each page where sites stay whole; where those that outweigh a part are cut; where all large ones are.

    The second is left out where no site outweighs a part.
    """
    yield session.sites
    outweighing = cut_giants(session, GIANT_SHARE / k, (1 + tolerance) / k)
    if outweighing.max(initial=0) > session.sites.max(initial=0):
        yield outweighing
    yield cut_giants(session, GIANT_SHARE / k)


def _is_balanced(data: SessionGraph, blueprint: Blueprint, tolerance: float) -> bool:
    owners, session = blueprint.owners_of(data), data.session
    weights = (np.ones(session.pages), session.page_bytes)
    return all(imbalance(loads(weight, owners, blueprint.parts)) <= tolerance + 1e-9 for weight in weights)


def _drawn(data: SessionGraph, wish: BlueprintRequest, units: Ints) -> Blueprint:
    """The blueprint that gives out these units."""
    kind = _KINDS[wish.model]
    hot = named(data.session, units, wish.hot_pages)
    if not kind.partitioner:
        blueprint = hashed(wish.model, wish.parts)
    elif wish.model == "metis-page":  # pages are no units to hand over: a superpage is all that lies together
        owners = _owners(data, wish, np.arange(len(data.keys)), hot)
        blueprint = _on_tree(data, wish, _begins(owners), owners)
    else:
        blueprint = _on_tree(data, wish, _begins(units), _owners(data, wish, units, hot))
    return msgspec.structs.replace(blueprint, hot_pages=tuple(url_of(data.keys[page]) for page in hot.tolist()))


def _owners(data: SessionGraph, wish: BlueprintRequest, units: Ints, hot: Ints) -> Ints:
    """The part of each page, where units are given out whole and nobody names the hot pages."""
    partitioner, rest = _KINDS[wish.model].partitioner, data.session.without_replicated(hot)
    keys = [data.keys[page] for page in _begins(units).tolist()]

    def divided(session: SessionLinks) -> Ints:
        model = superpage_model(session, units)
        weights = model.weights if partitioner == "metis" else model.weights[:, 1]
        problem = PartitionProblem(
            weights, wish.parts, links=model.links, keys=keys, tolerance=wish.tolerance, seed=wish.seed
        )
        return partition(partitioner, problem)[units]

    if not len(hot):
        return divided(rest)
    # no partitioner is exact: now and then it does worse without the links to hot pages
    return min((divided(rest), divided(data.session)), key=lambda owners: posted(rest, owners, wish.parts).total_bytes)


def _begins(units: Ints) -> Ints:
    """The pages with which units begin."""
    return np.flatnonzero(np.diff(units, prepend=-1))


def _on_tree(data: SessionGraph, wish: BlueprintRequest, begins: Ints, owners: Ints) -> Blueprint:
    pages = begins.tolist()
    cuts = [FIRST_KEY, *(_between(data.keys[page - 1], data.keys[page]) for page in pages[1:])]
    blueprint = Blueprint(
        wish.model,
        wish.parts,
        tuple(cuts),
        tuple(owners[begins].tolist()) or (0,),
        tuple(np.diff(begins, append=len(data.keys)).tolist()) or (0,),
    )
    if not wish.finder:
        return blueprint
    if wish.model == "metis-page":
        return msgspec.structs.replace(blueprint, listed=Bloom.of(data.keys, len(data.keys)))
    firsts = np.flatnonzero(np.diff(data.session.sites, prepend=-1)).tolist()
    hosts = Bloom.of((host_of_key(data.keys[page]) for page in firsts), len(firsts))
    return msgspec.structs.replace(blueprint, listed=hosts, lists_hosts=True)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The units that a model gives to k parts (`metis-page`: by which hot pages are chosen), and its partitioner."""

    units: Callable[[SessionGraph, int], Ints]
    #: none where a hash does
    partitioner: str = ""


def _sites(data: SessionGraph, k: int) -> Ints:
    """Sites, those that are too large for one part in pieces."""
    return cut_giants(data.session, GIANT_SHARE / k)


def _domains(data: SessionGraph, _k: int) -> Ints:
    names = [domain(key) for key in data.keys]
    return np.cumsum([name != before for name, before in zip(names, [None, *names])]) - 1


_KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "superpages": _Kind(lambda data, k: superpages(data.keys, k), "partition-ii"),
        "metis-site": _Kind(_sites, "metis"),
        "metis-page": _Kind(_sites, "metis"),
        "dset": _Kind(_domains, "dset"),
        "site-hash": _Kind(lambda data, _k: data.session.sites),
        "url-hash": _Kind(lambda data, _k: np.arange(data.session.pages)),
    }
)
MODELS = tuple(_KINDS)


def _heirs(blueprint: Blueprint, gatherers: tuple[str, ...], old: Plan | None) -> list[int]:
    """Which gatherer takes which part: the present owner of most of it, the largest claims first."""
    claims: Counter[tuple[int, int]] = Counter()
    if old is not None and old.keyspace is blueprint.keyspace:
        number = {name: at for at, name in enumerate(gatherers)}
        for cut, part, weight in zip(blueprint.cuts, blueprint.owners, blueprint.weights):
            now = old.gatherers[old.owners[bisect_right(old.cuts, cut) - 1]]
            if now in number:
                claims[part, number[now]] += weight
    heirs: dict[int, int] = {}
    for (part, name), _ in claims.most_common():
        if part not in heirs and name not in heirs.values():
            heirs[part] = name
    free = iter([name for name in range(len(gatherers)) if name not in heirs.values()])
    return [heirs[part] if part in heirs else next(free) for part in range(blueprint.parts)]


def _between(low: bytes, high: bytes) -> bytes:
    """The shortest key above `low` and not above `high`."""
    at = next(at for at, byte in enumerate(high) if at >= len(low) or byte != low[at])
    return high[: at + 1]


class Forecast(msgspec.Struct, frozen=True):
    """What the next session would cost under a blueprint, foretold from the graph of the last one."""

    model: str
    parts: int
    superpages: int
    #: max/mean − 1 of the pages and of the bytes that a part fetches
    imbalance_pages: float
    imbalance_bytes: float
    #: pages named to their owners, the length of these names, and how many there are per page fetched
    exchanged_urls: int
    exchanged_bytes: int
    urls_per_page: float
    #: hosts that several parts ask, which have to take turns
    shared_hosts: int


def forecast(data: SessionGraph, blueprint: Blueprint) -> Forecast:
    """What the next session will cost under this blueprint, if the web stays as it was."""
    session, k = data.session, blueprint.parts
    owners = blueprint.owners_of(data)
    known = {sort_key(url) for url in blueprint.hot_pages}
    told = posted(session.without_replicated(_pages(data, known)), owners, k)
    return Forecast(
        model=blueprint.model,
        parts=k,
        superpages=len(blueprint.cuts),
        imbalance_pages=imbalance(loads(np.ones(session.pages), owners, k)),
        imbalance_bytes=imbalance(loads(session.page_bytes, owners, k)),
        exchanged_urls=told.total_urls,
        exchanged_bytes=told.total_bytes,
        urls_per_page=communication(told.total_urls, session.pages),
        shared_hosts=_shared(session.sites, owners, k),
    )


def _pages(data: SessionGraph, known: set[bytes]) -> Ints:
    return np.array([at for at, key in enumerate(data.keys) if key in known], np.int64)


def _shared(sites: Ints, owners: Ints, k: int) -> int:
    pairs = np.unique(sites * k + owners)
    return int((np.bincount(pairs // k) > 1).sum())
