"""A session that is over, as the plan of the next one sees it: its pages in key order, their keys, their links.

Invariant: keys ascend; page i of the session has keys[i].
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from gcs.core.partition.hashing import host
from gcs.core.partition.partition_graph import Ids, Ints, SessionLinks
from gcs.core.tree.superpages import create, recut, threshold
from gcs.core.tree.tree import WHOLE, Cuts, UrlTree


@dataclass(frozen=True, slots=True)
class SessionGraph:
    """What was crawled, and the sort key of each page."""

    session: SessionLinks
    keys: Sequence[bytes]

    @property
    def hosts(self) -> int:
        return int(self.session.sites.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True)
class Visits:
    """Pages in any order: their keys, sizes and the length of their URLs."""

    keys: Sequence[bytes]
    page_bytes: Ints
    url_bytes: Ints


def crawled(pages: Visits, sources: Ids, targets: Ids) -> SessionGraph:
    """Put pages and the links between them in key order."""
    found = pages.keys
    order = np.array(sorted(range(len(found)), key=found.__getitem__), np.int64)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    keys = [found[page] for page in order.tolist()]
    hosts = map(host, keys)
    before: bytes | None = None
    begins = np.zeros(len(keys), np.int64)
    for at, name in enumerate(hosts):
        begins[at], before = name != before, name
    session = SessionLinks(
        place[sources], place[targets], pages.url_bytes[order], pages.page_bytes[order], np.cumsum(begins) - 1
    )
    return SessionGraph(session, keys)


def superpages(keys: Sequence[bytes], k: int, delta: float = 20, seed: int = 1) -> Ints:
    """The superpage of each page after two rounds of Superpage Creation, the pages being found in random order."""
    chance = Random(seed)
    order = chance.sample(range(len(keys)), len(keys))
    tree = UrlTree(WHOLE, Random(seed))
    made: Cuts = WHOLE
    for found in (order[: len(order) // 2], order[len(order) // 2 :]):
        for page in found:
            tree.visit(keys[page])
        made = create(tree, threshold(tree.visits, k, delta)).cuts
        tree = recut(tree, made, Random(seed))
    begins = np.zeros(len(keys) + 1, np.int64)
    begins[[bisect_left(keys, cut) for cut in made]] = 1  # an empty superpage begins where the next one does
    return np.cumsum(begins[:-1]) - 1
