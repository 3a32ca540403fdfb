"""Local improvement: it finds what a move or a swap can find, keeps its bounds, and ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.partition import PartitionProblem
from gcs.core.partition.assignment import Assignment
from gcs.core.partition.improve import cut_links, lower_peak
from gcs.core.partition.partition_graph import LinkArrays


def assigned(problem, owners):
    assignment = Assignment(problem, heed_links=problem.links is not None)
    assignment.place_many(np.arange(problem.m), np.array(owners))
    return assignment


def test_lower_peak_moves_from_the_slowest():
    assignment = assigned(PartitionProblem(np.array([1, 1, 1, 1]), 2), [0, 0, 0, 0])
    lower_peak(assignment)
    assert assignment.times_s.tolist() == [2, 2]


def test_lower_peak_swaps_where_no_move_helps():
    """{5, 4} and {3, 3}: moving 4 over gives 10, but 4 against 3 evens them out to 8 and 7."""
    assignment = assigned(PartitionProblem(np.array([5, 4, 3, 3]), 2), [0, 0, 1, 1])
    lower_peak(assignment)
    assert sorted(assignment.times_s.tolist()) == [7, 8]


def test_lower_peak_stops_when_it_is_low_enough():
    assignment = assigned(PartitionProblem(np.array([1, 1, 1, 1]), 2), [0, 0, 0, 1])
    lower_peak(assignment, enough_s=3.0)
    assert assignment.owners.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("links_each", [0, 4])
@given(st.integers(0, 10_000), st.lists(st.integers(0, 3), min_size=24, max_size=24))
@settings(max_examples=40, deadline=None)
def test_lower_peak_never_raises_it(web, formula, links_each, seed, start):
    problem = web(24, 4, seed=seed, links_each=links_each, communication_rates=np.array([1.0, 2.0, 5.0, 9.0]))
    assignment = assigned(problem, start)
    before = assignment.times_s.max()
    lower_peak(assignment)
    assert assignment.times_s == pytest.approx(formula(problem, assignment.owners))
    assert assignment.times_s.max() <= before + 1e-9


@given(st.integers(0, 10_000), st.lists(st.integers(0, 3), min_size=24, max_size=24))
@settings(max_examples=40, deadline=None)
def test_cut_links_saves_communication_within_the_bound(web, formula, seed, start):
    problem = web(24, 4, seed=seed, links_each=4, communication_rates=20.0)
    levelled = assigned(problem, start)
    lower_peak(levelled, enough_s=1.1 * levelled.mean_s())
    assignment = assigned(problem, levelled.owners)
    cut_links(assignment, tolerance=0.1)
    times = formula(problem, assignment.owners)
    assert assignment.times_s == pytest.approx(times)
    assert times.max() <= max(levelled.times_s.max(), 1.1 * levelled.mean_s()) + 1e-9
    work = np.bincount(assignment.owners, problem.work, 4)
    assert assignment.work_s == pytest.approx(work)
    assert assignment.communication_s() <= levelled.communication_s() + 1e-9


def test_cut_links_swaps_into_full_parts():
    """Two pairs, torn apart, in parts that have no room for a third: only a swap can mend it."""
    links = LinkArrays.between(4, np.array([0, 2]), np.array([1, 3]))
    assignment = assigned(PartitionProblem(np.full(4, 10), 2, links=links), [0, 1, 0, 1])
    cut_links(assignment, tolerance=0.05)
    assert links.crossing(assignment.owners) == 0
    assert np.bincount(assignment.owners).tolist() == [2, 2]
