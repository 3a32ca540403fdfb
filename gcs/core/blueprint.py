"""Blueprints: plans made ahead, from the graph of the last session, with parts where a plan has gatherers.

| model      | cuts                          | owners                                  |
|------------|-------------------------------|-----------------------------------------|
| superpages | Teng's, of the last session   | Partition II                            |
| metis-site | sites, giants cut by range    | METIS, bytes and pages balanced (C3)    |
| metis-page | where the owner changes       | METIS, bytes and pages balanced (C2)    |
| site-hash  | even, on hosts by hash        | in turn                                 |
| url-hash   | even, on URLs by hash         | in turn                                 |
| dset       | top-level domains             | packed by pages (WEB-SAILOR)            |

On the tree, a cut is the shortest key between two pages, and a page that the last session did not know goes by it too:
to the owner of its neighbours. With `listed`, it belongs to whoever finds it (C5).

Invariant: the same session gives the same blueprint. It must not know who will take part.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import msgspec
import numpy as np

from gcs.core.bloom import Bloom
from gcs.core.crawled import Crawled, superpages
from gcs.core.graph import Ints, Model, page_model, site_model, superpage_model
from gcs.core.ground import Ground, even_cuts
from gcs.core.packed import pack, unpack
from gcs.core.partition import GONE, Problem, partition
from gcs.core.partition.dset import domain
from gcs.core.plan import ExchangeMode, Plan
from gcs.core.ranges import EVERYTHING
from gcs.core.sortkey import FIRST_KEY, host_of, url_of
from gcs.core.tree import Cuts
from gcs.errors import UsageError

_VERSION = 1
#: pieces of hashed ground per part: enough for others to share what one leaves behind
PIECES = 64


class Blueprint(msgspec.Struct, frozen=True):
    """Superpage i is [cuts[i], cuts[i + 1]) on the ground, and goes to part owners[i]."""

    model: str
    parts: int
    cuts: Cuts
    owners: tuple[int, ...]
    #: pages of the last session in each superpage
    weights: tuple[int, ...]
    ground: Ground = Ground.TREE
    #: the most linked pages of the last session: everybody has them (G4)
    hot_pages: tuple[str, ...] = ()
    listed: Bloom = Bloom()
    lists_hosts: bool = False

    def owners_of(self, data: Crawled) -> Ints:
        """The part of each page of a session."""
        if self.ground is Ground.TREE:
            begins = [*(bisect_left(data.keys, cut) for cut in self.cuts), len(data.keys)]
            return np.repeat(np.array(self.owners, np.int64), np.diff(begins))
        cuts, owners, place = self.cuts, self.owners, self.ground.place
        return np.array([owners[bisect_right(cuts, place(key)) - 1] for key in data.keys], np.int64)

    def plan(self, gatherers: tuple[str, ...], mode: ExchangeMode, session: int, old: Plan | None = None) -> Plan:
        """The plan for these gatherers. Where there are other owners already, parts go to who has most of them."""
        owners = np.array(self.owners, np.int64)
        if len(gatherers) == self.parts:
            names = _heirs(self, gatherers, old)
        else:  # more or fewer have come than it was made for
            names = list(range(len(gatherers)))
            owners = np.where(owners < len(gatherers), owners, GONE)
            owners = partition("sticky", Problem(np.array(self.weights), len(gatherers), current=owners))
        return Plan(
            epoch=old.epoch + 1 if old else 1,
            gatherers=gatherers,
            cuts=self.cuts,
            owners=tuple(names[owner] for owner in owners.tolist()),
            hot_pages=self.hot_pages,
            mode=mode,
            lost=EVERYTHING,  # a session begins: nothing changes hands as in the midst of one
            ground=self.ground,
            listed=self.listed,
            lists_hosts=self.lists_hosts,
            session=session,
            static=self.model != "superpages",
        )

    def encode(self) -> bytes:
        """As bytes."""
        return pack(_VERSION, self)

    @classmethod
    def decode(cls, data: bytes) -> "Blueprint":
        """The blueprint in these bytes."""
        return unpack(cls, _VERSION, data)


def hashed(model: str, parts: int) -> Blueprint:
    """A blueprint that needs no session: by hash."""
    ground, pieces = Ground(model), parts * PIECES
    owners = tuple(piece // PIECES for piece in range(pieces))
    return Blueprint(model, parts, even_cuts(pieces), owners, (1,) * pieces, ground)


@dataclass(frozen=True, slots=True)
class Wish:
    """What kind of blueprint is wanted."""

    model: str
    parts: int
    tolerance: float = 0.05
    #: how many of the most linked pages everybody is told of
    hot_pages: int = 0
    #: pages or hosts that the session does not list go to whoever finds them
    finder: bool = False
    seed: int = 0


def draw(data: Crawled, wish: Wish) -> Blueprint:
    """The blueprint that is wished for."""
    if wish.model not in MODELS:
        raise UsageError(f"no model is called {wish.model!r}; there are {', '.join(MODELS)}")
    if wish.model in (Ground.SITE_HASH, Ground.URL_HASH):
        blueprint = hashed(wish.model, wish.parts)
    else:
        model, partitioner = _UNITS[wish.model](data, wish.parts)
        weights = model.weights if partitioner == "metis" else model.weights[:, 1]
        begins = np.flatnonzero(np.diff(model.unit_of_page, prepend=-1))
        keys = [data.keys[page] for page in begins.tolist()]
        problem = Problem(weights, wish.parts, links=model.links, keys=keys, tolerance=wish.tolerance, seed=wish.seed)
        owners = partition(partitioner, problem)[model.unit_of_page]
        # pages are no units to hand over: there, a superpage is all that lies together
        runs = np.flatnonzero(np.diff(owners, prepend=-1)) if wish.model == "metis-page" else begins
        blueprint = _on_tree(data, wish, runs, owners)
    hot = data.most_linked(wish.hot_pages).tolist()
    return msgspec.structs.replace(blueprint, hot_pages=tuple(url_of(data.keys[page]) for page in hot))


def _on_tree(data: Crawled, wish: Wish, begins: Ints, owners: Ints) -> Blueprint:
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
    hosts = Bloom.of((host_of(data.keys[page]) for page in firsts), len(firsts))
    return msgspec.structs.replace(blueprint, listed=hosts, lists_hosts=True)


def _by_superpage(data: Crawled, k: int) -> tuple[Model, str]:
    return superpage_model(data.session, superpages(data.keys, k)), "partition-ii"


def _by_site(data: Crawled, k: int) -> tuple[Model, str]:
    return site_model(data.session, k), "metis"


def _by_page(data: Crawled, _k: int) -> tuple[Model, str]:
    return page_model(data.session), "metis"


def _by_domain(data: Crawled, _k: int) -> tuple[Model, str]:
    names = [domain(key) for key in data.keys]
    begins = [name != before for name, before in zip(names, [None, *names])]
    return superpage_model(data.session, np.cumsum(begins) - 1), "dset"


#: model of the tree → the units of a session for k parts, and who shares them out
_UNITS: Mapping[str, Callable[[Crawled, int], tuple[Model, str]]] = MappingProxyType(
    {"superpages": _by_superpage, "metis-site": _by_site, "metis-page": _by_page, "dset": _by_domain}
)
MODELS = (*_UNITS, "site-hash", "url-hash")


def _heirs(blueprint: Blueprint, gatherers: tuple[str, ...], old: Plan | None) -> list[int]:
    """Which gatherer takes which part: who has most of it now, the largest claims first."""
    claims: Counter[tuple[int, int]] = Counter()
    if old is not None and old.ground is blueprint.ground:
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
