"""The sticky form hands over little, and balances all the same."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.partition import GONE, PartitionProblem
from gcs.core.partition.greedy import partition_i, partition_ii
from gcs.core.partition.sticky import partition
from gcs.core.plan.metrics import imbalance, loads
from tests.core.partition import spelt_out
from tests.core.plan.moving import least_moved, moved_weight

K = 16


def rebalanced(problem, current, k):
    """The problem with other owners and another team, and its new owners."""
    changed = PartitionProblem(problem.work, k, links=problem.links, current=current)
    return changed, partition(changed)


def without(owners, gone):
    """The owners in the numbering of a team that one has left."""
    return np.where(owners == gone, GONE, owners - (owners > gone))


@pytest.mark.parametrize("has_links", [False, True])
@pytest.mark.parametrize("part", range(10))
def test_sticky_makes_the_moves_that_its_formula_says(part, has_links):
    for seed in range(30 * part, 30 * part + 30):
        problem, _ = spelt_out.instance(seed, links=has_links)
        problem = spelt_out.with_current(problem, seed)
        if has_links:  # what is placed first is the business of another test
            problem = replace(problem, current=np.maximum(problem.current, 0))
        assert partition(problem).tolist() == spelt_out.sticky(problem), seed


@pytest.mark.parametrize("links_each", [0, 10])
@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_sticky_moves_little_when_one_of_sixteen_joins(web, links_each, seed):
    problem = web(20 * K, K, seed=seed, links_each=links_each)
    before = partition(problem)
    _, after = rebalanced(problem, before, K + 1)
    moved = moved_weight(problem.work, before, after)
    assert moved <= 1.5 * least_moved(problem.work, before, K + 1)
    assert imbalance(loads(problem.work, after, K + 1)) <= 0.10
    assert loads(problem.work, after, K + 1).min() >= 0.9 * problem.work.sum() / (K + 1)


@pytest.mark.parametrize("links_each", [0, 10])
@given(st.integers(0, 10_000), st.integers(0, K - 1))
@settings(max_examples=15, deadline=None)
def test_sticky_moves_little_when_one_of_sixteen_leaves(web, links_each, seed, gone):
    problem = web(20 * K, K, seed=seed, links_each=links_each)
    current = without(partition(problem), gone)
    _, after = rebalanced(problem, current, K - 1)
    moved = moved_weight(problem.work, current, after)
    assert moved <= 1.5 * least_moved(problem.work, current, K - 1)
    assert imbalance(loads(problem.work, after, K - 1)) <= 0.10


def test_sticky_leaves_a_balanced_team_alone(web):
    problem = web(320, K, links_each=0)
    before = partition_i(problem)
    assert rebalanced(problem, before, K)[1].tolist() == before.tolist()


def test_sticky_leaves_what_is_out_of_balance_within_the_tolerance():
    """104 and 96 of a mean of 100: nobody is 5 % off, so nothing moves."""
    weights, current = np.array([100, 4, 96]), np.array([0, 0, 1])
    assert partition(PartitionProblem(weights, 2, current=current)).tolist() == [0, 0, 1]


def test_sticky_does_not_move_what_removes_too_little():
    """The one superpage that could move is heavier than the gap: it would only turn the imbalance round."""
    weights, current = np.array([60, 60, 80]), np.array([0, 0, 1])
    assert partition(PartitionProblem(weights, 2, current=current)).tolist() == [0, 0, 1]


def test_sticky_follows_the_rates():
    """A gatherer turned out half as fast as the others gives away until it is busy no longer than they are."""
    weights, current = np.ones(400), np.arange(400) % 4
    rates = np.array([0.5, 1.0, 1.0, 1.0])
    after = partition(PartitionProblem(weights, 4, rates=rates, current=current))
    assert imbalance(loads(weights, after, 4) / rates) <= 0.06
    assert set(current[after != current].tolist()) == {0}


def test_sticky_places_new_superpages():
    current = np.array([0, 0, 1, 1, GONE, GONE])
    after = partition(PartitionProblem(np.ones(6), 2, current=current))
    assert after[:4].tolist() == [0, 0, 1, 1]
    assert sorted(after[4:].tolist()) == [0, 1]


def test_sticky_without_owners_plans_afresh(web):
    problem = web(160, 8)
    assert partition(problem).tolist() == partition_ii(problem).tolist()
    unlinked = web(160, 8, links_each=0)
    assert partition(unlinked).tolist() == partition_i(unlinked).tolist()
