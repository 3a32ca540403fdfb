"""What a Problem derives, and what it refuses."""

import numpy as np
import pytest

from gcs.core.partition import PartitionProblem
from gcs.core.partition.partition_graph import LinkArrays
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
