"""Domain sets (WEB-SAILOR §3.1): each gatherer crawls a set of top-level domains, packed so that the sets weigh alike.

A domain is never divided, so where one (.com) outweighs a part, the sets are out of balance: that is the scheme's
limit, and the metrics show it. The packing is Partition I with domains for superpages: largest first, then improvement.

Invariant: superpages of one domain have one owner. It must not look at hosts or paths.
"""

import numpy as np

from gcs.core.graph import Floats
from gcs.core.partition.greedy import partition_i
from gcs.core.partition.problem import Owners, Problem
from gcs.errors import UsageError


def partition(problem: Problem) -> Owners:
    """One DSet for each gatherer; some are empty where there are fewer domains than gatherers."""
    if not problem.keys and problem.m:
        raise UsageError("domain sets need the sort keys of the superpages")
    _, domains = np.unique([domain(key) for key in problem.keys], return_inverse=True)
    count = int(domains.max(initial=-1)) + 1
    work = np.bincount(domains, problem.work, count)
    times_s: Floats = np.zeros((count, problem.k))
    np.add.at(times_s, domains, problem.times_s())
    # the rate at which a gatherer gets through a whole domain
    rates = np.divide(work[:, None], times_s, out=np.ones_like(times_s), where=times_s > 0)
    return partition_i(Problem(work, problem.k, rates=rates.T, seed=problem.seed))[domains]


def domain(key: bytes) -> bytes:
    """The top-level domain of a sort key (of an address: the address); b"" for the root of the URL tree."""
    return key.partition(b"\x00")[0]
