"""METIS through ctypes: both constraints, giants, seeds, signals, and the widths of its builds."""

import ctypes.util
import signal
import threading

import numpy as np
import pytest

from gcs.core.partition import PartitionProblem, metis
from gcs.core.partition.hashing import url_hash
from gcs.core.partition.partition_graph import LinkArrays
from gcs.core.plan.metrics import imbalance, loads
from gcs.errors import GcsError, UsageError


def grid(side, heavy=None):
    """A grid with two weights that disagree: bytes grow from left to right, requests are equal."""
    cells = np.arange(side * side)
    right, down = cells[cells % side < side - 1], cells[cells < side * (side - 1)]
    sources, targets = np.concatenate([right, down]), np.concatenate([right + 1, down + side])
    weights = np.stack([1 + 50 * (cells % side), np.ones_like(cells)], axis=1)
    if heavy is not None:
        weights[heavy] = weights.sum(axis=0) // 3
    return weights, LinkArrays.between(side * side, sources, targets)


@pytest.mark.parametrize("k", [4, 8, 16])
def test_metis_balances_two_constraints(k):
    weights, links = grid(60)
    owners = metis.partition(PartitionProblem(weights, k, links=links))
    for column in weights.T:
        assert imbalance(loads(column, owners, k)) <= 0.05
    keys = [str(cell).encode() for cell in range(len(weights))]
    hashed = url_hash(PartitionProblem(weights, k, keys=keys))
    assert links.crossing(owners) < 0.15 * links.crossing(hashed)


def test_metis_gives_in_proportion_to_the_rates():
    weights, links = grid(40)
    rates = np.array([1.0, 2.0, 5.0])
    owners = metis.partition(PartitionProblem(weights, 3, links=links, rates=rates))
    for column in weights.T:
        share = loads(column, owners, 3) / column.sum()
        assert np.all(share <= 1.05 * rates / rates.sum())


def test_metis_is_the_same_for_the_same_seed_and_another_for_another():
    weights, links = grid(40)
    runs = [metis.partition(PartitionProblem(weights, 8, links=links, seed=seed)).tolist() for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


def test_metis_balances_fractions():
    weights, links = grid(40)
    owners = metis.partition(PartitionProblem(weights / weights.sum(axis=0), 8, links=links))
    assert imbalance(loads(weights[:, 0].astype(float), owners, 8)) <= 0.05


def test_metis_gives_a_giant_a_part_of_its_own():
    weights, links = grid(40, heavy=[7, 900])
    problem = PartitionProblem(weights, 8, links=links)
    assert sorted(metis.giants(problem)) == [7, 900]
    owners = metis.partition(problem)
    for giant in (7, 900):
        assert np.count_nonzero(owners == owners[giant]) == 1
    rest = ~np.isin(owners, owners[[7, 900]])
    _, parts = np.unique(owners[rest], return_inverse=True)
    assert len(set(parts.tolist())) == 6
    for column in weights.T:
        assert imbalance(loads(column[rest], parts, 6)) <= 0.05


def test_metis_gives_the_largest_giant_to_the_fastest():
    weights = np.array([50, 1, 1, 1, 1, 30])
    links = LinkArrays.between(6, np.arange(5), np.arange(1, 6))
    owners = metis.partition(PartitionProblem(weights, 3, links=links, rates=np.array([1.0, 5.0, 3.0])))
    assert (owners[0], owners[5]) == (1, 2)


@pytest.mark.parametrize(("units", "k"), [(0, 3), (1, 3), (3, 3), (5, 1), (4, 9)])
def test_metis_stands_fewer_units_than_parts(units, k, capfd):
    links = LinkArrays.between(units, np.arange(units - 1), np.arange(1, units))
    owners = metis.partition(PartitionProblem(np.ones(units, int), k, links=links))
    assert len(owners) == units and len(set(owners.tolist())) == min(units, k)
    assert capfd.readouterr().out == ""


def test_metis_stands_units_without_links_and_weights_of_zero():
    links = LinkArrays.between(100, np.empty(0, int), np.empty(0, int))
    weights = np.stack([np.zeros(100, int), np.ones(100, int)], axis=1)
    owners = metis.partition(PartitionProblem(weights, 4, links=links))
    assert np.bincount(owners, minlength=4).max() <= 27


def test_metis_needs_links():
    with pytest.raises(UsageError, match="links"):
        metis.partition(PartitionProblem(np.ones(5), 2))


def test_metis_holds_sigterm_back_until_it_is_done(monkeypatch):
    """METIS replaces the handler of SIGTERM and would lose it: it has to wait outside."""
    library, during = metis._library(), []

    class Watched:
        def __getattr__(self, name):
            return getattr(library, name)

        def kway(self, *arguments):
            during.append(signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, []))
            return library.kway(*arguments)

    monkeypatch.setattr(metis, "_library", Watched)
    weights, links = grid(20)
    metis.partition(PartitionProblem(weights, 4, links=links))
    assert during == [True]
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_metis_refuses_a_thread_where_a_signal_would_crash_it():
    weights, links = grid(20)
    raised = []

    def run():
        try:
            metis.partition(PartitionProblem(weights, 4, links=links))
        except GcsError as error:
            raised.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert raised and "main thread" in raised[0]


def test_metis_says_what_went_wrong_inside(monkeypatch):
    library = metis._library()

    class Broken:
        def __getattr__(self, name):
            return getattr(library, name)

        def kway(self, *_):
            return -4

    monkeypatch.setattr(metis, "_library", Broken)
    weights, links = grid(20)
    with pytest.raises(GcsError, match="interrupted"):
        metis.partition(PartitionProblem(weights, 4, links=links))


def test_metis_of_the_system_is_bound_by_the_width_of_its_integers(monkeypatch):
    path = ctypes.util.find_library("metis")
    if path is None:
        pytest.skip("libmetis is not installed")
    library = metis._bind(path, seed=8, ncuts=7)
    monkeypatch.setattr(metis, "_library", lambda: library)
    weights, links = grid(60)
    # sums far beyond 32 bits: they have to be scaled down
    owners = metis.partition(PartitionProblem(weights * 1_000_003, 8, links=links))
    for column in weights.T:
        assert imbalance(loads(column, owners, 8)) <= 0.05


@pytest.mark.parametrize("integer", [np.int32, np.int64])
def test_metis_weights_survive_as_whole_numbers(integer):
    library = metis._Library(None, None, None, integer, 0, 0)
    assert library.whole(np.array([[3, 1], [0, 2]])).tolist() == [[3, 1], [0, 2]]
    fractions = library.whole(np.array([0.25, 0.5, 0.0, 1e-12]))
    assert fractions[1] == pytest.approx(2 * fractions[0], rel=1e-6)
    assert fractions[2] == 0 and fractions[3] == 1
    large = library.whole(np.array([2**40, 2**41]))
    assert large.dtype == integer and large[1] == pytest.approx(2 * large[0], rel=1e-6)
