"""What a Problem derives, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.partition import PartitionProblem
from gcs.core.partition.partition_graph import LinkArrays
from gcs.core.partition.problem import Assignment
from gcs.errors import UsageError

WEIGHTS = np.array([4, 2, 6])


def test_problem_times_follow_a_single_rate():
    assert PartitionProblem(WEIGHTS, 2, rates=2.0).times_s().tolist() == [[2, 2], [1, 1], [3, 3]]


def test_problem_times_follow_a_rate_each():
    assert PartitionProblem(WEIGHTS, 2, rates=np.array([1.0, 2.0])).times_s().tolist() == [[4, 2], [2, 1], [6, 3]]


def test_problem_times_follow_the_table_of_rates():
    table = np.array([[1.0, 2.0, 3.0], [4.0, 1.0, 2.0]])
    assert PartitionProblem(WEIGHTS, 2, rates=table).times_s().tolist() == [[4, 1], [1, 2], [2, 3]]


def test_problem_times_of_several_weights_are_those_of_the_first():
    both = np.stack([WEIGHTS, WEIGHTS * 100], axis=1)
    assert PartitionProblem(both, 1).times_s().tolist() == [[4], [2], [6]]


def test_problem_link_time_is_the_inverse_of_the_communication_rate():
    assert PartitionProblem(WEIGHTS, 2, communication_rates=np.array([2.0, 4.0])).link_s().tolist() == [0.5, 0.25]
    assert PartitionProblem(WEIGHTS, 2, communication_rates=10.0).link_s().tolist() == [0.1, 0.1]


def test_problem_shares_follow_the_rates():
    assert PartitionProblem(WEIGHTS, 2).shares().tolist() == [0.5, 0.5]
    assert PartitionProblem(WEIGHTS, 2, rates=np.array([1.0, 3.0])).shares().tolist() == [0.25, 0.75]
    table = np.array([[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]])
    assert PartitionProblem(WEIGHTS, 2, rates=table).shares() == pytest.approx([0.25, 0.75])
    assert PartitionProblem(np.zeros(3), 2, rates=table).shares().tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"k": 0}, "at least one gatherer"),
        ({"weights": np.array([1, -1, 1])}, "not negative"),
        ({"weights": np.array([1.0, np.nan, 1.0])}, "not negative"),
        ({"rates": np.ones(3)}, "rates must be positive"),
        ({"rates": 0.0}, "rates must be positive"),
        ({"rates": np.ones((3, 2))}, "rates must be positive"),
        ({"communication_rates": np.ones(3)}, "communication_rates"),
        ({"links": LinkArrays.between(2, np.array([0]), np.array([1]))}, "2 links for 3 superpages"),
        ({"keys": [b"a"]}, "1 keys for 3 superpages"),
        ({"current": np.array([0, 1])}, "2 current owners for 3 superpages"),
        ({"current": np.array([0, 1, 2])}, "not among the 2 gatherers"),
        ({"names": ["a", "a"]}, "different names"),
    ],
)
def test_problem_refuses_what_does_not_fit(fields, message):
    with pytest.raises(UsageError, match=message):
        PartitionProblem(**{"weights": WEIGHTS, "k": 2, **fields})


M, K = 12, 3
steps = st.lists(st.tuples(st.sampled_from(["move", "remove", "swap"]), st.integers(0, M - 1), st.integers(0, M - 1)))


@pytest.fixture(
    scope="module",
    params=[
        {"links_each": 3, "communication_rates": np.array([1.0, 2.0, 4.0])},
        {"links_each": 3, "rates": np.random.default_rng(5).uniform(0.5, 2, (K, M)), "communication_rates": 3.0},
        {"links_each": 0, "rates": np.array([1.0, 2.0, 3.0])},
    ],
    ids=["communication rates", "table of rates", "no links"],
)
def problem(request, web):
    return web(M, K, **request.param)


@given(steps=steps, start=st.lists(st.integers(-1, K - 1), min_size=M, max_size=M))
@settings(max_examples=60)
def test_assignment_times_are_exact(problem, formula, steps, start):
    assignment = Assignment(problem, heed_links=problem.links is not None)
    owned = np.flatnonzero(np.array(start) >= 0)
    assignment.place_many(owned, np.array(start)[owned])
    for what, one, other in steps:
        owner = assignment.owners
        if what == "swap" and owner[one] >= 0 and owner[other] >= 0 and owner[one] != owner[other]:
            assignment.swap(one, other)
        elif what == "remove" and owner[one] >= 0:
            assignment.remove(one)
        elif what == "move":
            (assignment.move if owner[one] >= 0 else assignment.place)(one, other % K)
    assert assignment.times_s == pytest.approx(formula(problem, assignment.owners), abs=1e-9)
    crossing = formula(problem, assignment.owners).sum() - sum(
        assignment.cost_s[page, owner] for page, owner in enumerate(assignment.owners) if owner >= 0
    )
    assert assignment.communication_s() == pytest.approx(crossing, abs=1e-9)


@given(
    start=st.lists(st.integers(0, K - 1), min_size=M, max_size=M), one=st.integers(0, M - 1), part=st.integers(0, K - 1)
)
@settings(max_examples=60)
def test_assignment_foretells_what_a_move_does(problem, start, one, part):
    assignment = Assignment(problem, heed_links=problem.links is not None)
    assignment.place_many(np.arange(M), np.array(start))
    owner, before = start[one], assignment.times_s.copy()
    relief, burden = assignment.leaving_s(np.array([one]))[0], assignment.entering_s(np.array([one]))[0]
    if part != owner:
        assignment.move(one, part)
        before[owner] -= relief
        before[part] += burden[part]
    assert assignment.times_s == pytest.approx(before, abs=1e-9)


def test_assignment_heeds_links_only_when_told(web):
    problem = web(M, K, links_each=3, communication_rates=1.0)
    blind = Assignment(problem, heed_links=False)
    blind.place_many(np.arange(M), np.arange(M) % K)
    assert blind.times_s.sum() == pytest.approx(problem.work.sum())
    assert blind.communication_s() == 0.0
