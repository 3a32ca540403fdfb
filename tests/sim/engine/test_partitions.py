"""The tables of the partition studies, in a quick form: what they must show on real graphs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from gcs.core.partition import GONE, PartitionProblem, partition
from gcs.core.partition.partition_graph import LinkArrays
from gcs.core.plan.metrics import imbalance, loads
from gcs.core.plan.session_graph import SessionGraph, superpages
from gcs.sim.engine import partitions
from gcs.sim.graph.graph_files import load
from gcs.sim.graph.web_graph import WebGraph, from_links
from tests.core.plan.moving import least_moved, moved_weight


@pytest.fixture(scope="module")
def java(shared_data):
    return partitions.crawled(load(shared_data / "debian-java"))


@pytest.fixture(scope="module")
def shared_data(request):
    folder = request.config.rootpath / ".." / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data (public graphs) is absent")
    return folder


def test_crawled_puts_pages_in_key_order_and_keeps_their_links():
    urls = ["http://b.example/", "http://a.example/z", "http://a.example/a", "http://b.example/long/name"]
    links = [(0, 1), (1, 2), (3, 0)]
    sources, targets = np.array(links).T
    bare = from_links("small", sources, targets, 4)
    data = partitions.crawled(
        WebGraph("small", bare.offsets, bare.targets, urls, sizes_bytes=np.array([10, 20, 30, 40]))
    )
    assert list(data.keys) == sorted(data.keys)
    order = [2, 1, 0, 3]
    assert data.session.page_bytes.tolist() == [30, 20, 10, 40]
    assert data.session.url_bytes.tolist() == [len(urls[page]) for page in order]
    assert data.session.sites.tolist() == [0, 0, 1, 1]
    found = zip(data.session.sources.tolist(), data.session.targets.tolist())
    assert Counter((order[source], order[target]) for source, target in found) == Counter(links)


def test_crawled_names_pages_without_urls_by_their_numbers():
    bare = from_links("bare", np.array([0, 2]), np.array([1, 0]), 3)
    data = partitions.crawled(WebGraph("bare", bare.offsets, bare.targets, sites=np.array([1, 0, 1], np.int32)))
    assert data.session.sites.tolist() == [0, 1, 1]
    assert list(zip(data.session.sources.tolist(), data.session.targets.tolist())) == [(1, 0), (2, 1)]


def test_superpages_are_ranges_of_about_equal_weight(java):
    units = superpages(java.keys, k=8)
    assert units[0] == 0 and set(np.diff(units).tolist()) == {0, 1}
    sizes = np.bincount(units)
    assert 160 <= len(sizes) <= 2 * 160 + 1
    assert sizes.max() <= 1.5 * len(java.keys) / 160


def test_crossing_shows_that_partition_ii_cuts_links_within_the_same_tolerance(java):
    rows = {row.partitioner: row for row in partitions.crossing(java, 8)}
    first, second = rows["partition-i"], rows["partition-ii"]
    assert first.superpages == second.superpages
    assert max(first.imbalance, second.imbalance, rows["metis"].imbalance) <= 0.05
    assert second.crossing_links < 0.4 * first.crossing_links
    assert second.crossing_links < 1.3 * rows["metis"].crossing_links
    assert rows["site-hash"].imbalance > 0.1


@dataclass(frozen=True, slots=True)
class StickyRow:
    """One gatherer joins or leaves a team of k."""

    k: int
    event: str
    superpages: int
    #: part of all work that changes hands, and that part over the least that had to
    moved_share: float
    moved_to_least: float
    imbalance: float


def sticky(data: SessionGraph, k: int = 16, tolerance: float = 0.05, heed_links: bool = True) -> Iterator[StickyRow]:
    """What the sticky form hands over when a gatherer joins a balanced team of k, and when each one of it leaves."""
    units = superpages(data.keys, k)
    work = np.bincount(units)
    links = None
    if heed_links:
        links = LinkArrays.between(len(work), units[data.session.sources], units[data.session.targets])
    before = partition("sticky", PartitionProblem(work, k, links=links, tolerance=tolerance))
    left = [np.where(before == gone, GONE, before - (before > gone)) for gone in range(k)]
    events = [("join", k + 1, before), *((f"leave {gone}", k - 1, current) for gone, current in enumerate(left))]
    for event, size, current in events:
        after = partition("sticky", PartitionProblem(work, size, links=links, current=current, tolerance=tolerance))
        moved, least = moved_weight(work, current, after), least_moved(work, current, size, tolerance)
        yield StickyRow(
            size,
            event,
            len(work),
            moved / float(work.sum()),
            moved / least if least else float(moved > 0),
            imbalance(loads(work, after, size)),
        )


@pytest.mark.parametrize("heed_links", [False, True])
def test_sticky_moves_little_and_stays_balanced_on_a_real_graph(java, heed_links):
    rows = list(sticky(java, 16, heed_links=heed_links))
    assert [row.event for row in rows] == ["join", *(f"leave {gone}" for gone in range(16))]
    for row in rows:
        assert row.moved_to_least <= 1.5 and row.imbalance <= 0.10
        assert row.moved_share > 0.04
