"""Who crawls what: every way to give superpages to gatherers, behind one signature.

    owners = partition("partition-ii", PartitionProblem(weights, k, links=links))

| name            | from       | looks at                        | good for                                    |
|-----------------|------------|---------------------------------|---------------------------------------------|
| partition-i     | Teng       | weights, rates                  | balance                                     |
| partition-ii    | Teng       | weights, rates, links           | balance with few crossing links             |
| sticky          | ours       | the same, and current owners    | a rebalance that hands little over          |
| metis           | Cambazoglu | several weights, links          | planning the next session                   |
| url-hash        | Cho        | keys                            | no statistics; the most links cross         |
| site-hash       | Cho        | hosts                           | no statistics; few links cross, ill balance |
| consistent-hash | Boldi      | hosts, names of the gatherers   | no statistics; joins and leaves are cheap   |
| dset            | WEB-SAILOR | top-level domains, weights      | one domain, one gatherer                    |

Invariant: every partitioner returns one owner 0 … k - 1 for each superpage, and the same for the same problem.
"""

from collections.abc import Mapping
from types import MappingProxyType

from gcs.core.partition import greedy, hashing, metis, sticky
from gcs.core.partition.problem import GONE, Owners, Partitioner, PartitionProblem
from gcs.errors import UsageError

__all__ = ["GONE", "LOOK_AT_LINKS", "PARTITIONERS", "Owners", "PartitionProblem", "Partitioner", "partition"]

PARTITIONERS: Mapping[str, Partitioner] = MappingProxyType(
    {
        "partition-i": greedy.partition_i,
        "partition-ii": greedy.partition_ii,
        "sticky": sticky.partition,
        "metis": metis.partition,
        "url-hash": hashing.url_hash,
        "site-hash": hashing.site_hash,
        "consistent-hash": hashing.consistent_hash,
        "dset": greedy.domain_sets,
    }
)
#: those that look at links: only they need the links of a problem
LOOK_AT_LINKS = frozenset({"partition-ii", "sticky", "metis"})


def partition(name: str, problem: PartitionProblem) -> Owners:
    """The owner of each superpage, by the partitioner of that name."""
    if name not in PARTITIONERS:
        raise UsageError(f"no partitioner is called {name!r}; there are {', '.join(PARTITIONERS)}")
    return PARTITIONERS[name](problem)
