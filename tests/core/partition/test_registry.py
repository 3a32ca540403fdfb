"""The one signature: every partitioner, by name, on any problem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.partition import PARTITIONERS, PartitionProblem, partition
from gcs.core.partition.partition_graph import LinkArrays
from gcs.errors import UsageError


@pytest.mark.parametrize("name", PARTITIONERS)
@given(st.integers(0, 40), st.integers(1, 6), st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_partition_gives_every_superpage_one_owner_and_the_same_again(name, m, k, seed):
    random = np.random.default_rng(seed)
    problem = PartitionProblem(
        random.integers(0, 50, m),
        k,
        rates=random.uniform(0.5, 2, (k, m)),
        communication_rates=random.uniform(1, 1000, k),
        links=LinkArrays.between(m, *random.integers(0, max(m, 1), (2, 3 * m))),
        keys=[b"tld%d\x00host%d\x00/http\x00" % (unit % 5, unit) for unit in range(m)],
        current=random.integers(-1, k, m),
        seed=seed,
    )
    owners = partition(name, problem)
    assert owners.shape == (m,) and owners.dtype == np.int64
    assert np.all((owners >= 0) & (owners < k))
    assert owners.tolist() == partition(name, problem).tolist()


def test_partition_names_what_there_is_where_the_name_is_unknown():
    with pytest.raises(UsageError, match="partition-ii"):
        partition("metsi", PartitionProblem(np.ones(1), 1))
