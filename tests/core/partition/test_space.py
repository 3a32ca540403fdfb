"""Space is evened out, and nobody gets more work than allowed for it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.partition.greedy import partition_i
from gcs.core.partition.space import SpaceGoal, level_space
from tests.core.partition import spelt_out

K = 4


@pytest.mark.parametrize("has_links", [False, True])
@pytest.mark.parametrize("part", range(10))
def test_space_is_levelled_by_the_best_steps(part, has_links):
    for seed in range(30 * part, 30 * part + 30):
        problem, owners = spelt_out.instance(seed, links=has_links)
        random = np.random.default_rng(seed)
        coming = random.integers(0, 9, problem.m).astype(float)
        held = random.integers(0, 4, problem.k).astype(float)
        after = level_space(problem, owners, SpaceGoal(coming, held))
        assert after.tolist() == spelt_out.level_space(problem, owners, coming, held), seed


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_space_is_levelled_within_the_tolerance_for_times(web, formula, seed):
    problem = replace(web(30 * K, K, seed=seed, links_each=0), tolerance=0.10)
    before = partition_i(problem)
    coming = np.random.default_rng(seed).pareto(1.5, problem.m) + 0.1
    coming = np.minimum(coming, coming.sum() / (4 * K))
    goal = SpaceGoal(coming, np.zeros(K))
    after = level_space(problem, before, goal)
    space = [goal.holdings(owners) for owners in (before, after)]
    assert space[1].max() <= space[0].max()
    times = formula(problem, after)
    assert times.max() <= max(1.1 * times.mean(), formula(problem, before).max()) * (1 + 1e-9)


def test_space_is_even_in_the_end_as_a_rule(web):
    worst = []
    for seed in range(20):
        problem = replace(web(30 * K, K, seed=seed, links_each=0), tolerance=0.10)
        coming = np.random.default_rng(seed).pareto(1.5, problem.m) + 0.1
        goal = SpaceGoal(np.minimum(coming, coming.sum() / (4 * K)), np.zeros(K))
        before = partition_i(problem)
        space = [goal.holdings(owners) for owners in (before, level_space(problem, before, goal))]
        worst.append([each.max() / each.mean() for each in space])
    before, after = np.median(worst, axis=0)
    assert after <= 1.06 and before >= 1.1


def test_who_holds_much_already_gets_less_of_what_is_to_come(web):
    problem = replace(web(30 * K, K, links_each=0), tolerance=0.5)
    coming = np.ones(problem.m)
    goal = SpaceGoal(coming, np.array([40.0, 0.0, 0.0, 0.0]))
    owners = level_space(problem, partition_i(problem), goal)
    assert goal.holdings(owners).max() <= 1.06 * goal.holdings(owners).mean()
    assert np.bincount(owners, coming, K)[0] < 5


def test_nothing_moves_where_space_is_even(web):
    problem = web(30 * K, K, links_each=0)
    before = partition_i(problem)
    goal = SpaceGoal(problem.work, np.zeros(K))
    assert np.array_equal(level_space(problem, before, goal), before)
