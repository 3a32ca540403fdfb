"""Domain sets: a domain has one owner, and the sets weigh alike as far as the domains allow."""

import numpy as np
import pytest

from gcs.core.partition import PartitionProblem
from gcs.core.partition.greedy import domain, partition
from gcs.core.plan.metrics import loads
from gcs.core.url.sortkey import sort_key
from gcs.errors import UsageError


def problem(domains, k, **more):
    """One superpage per entry: (top-level domain, weight)."""
    keys = [sort_key(f"http://host{number}.{name}/") for number, (name, _) in enumerate(domains)]
    return PartitionProblem(np.array([weight for _, weight in domains]), k, keys=keys, **more)


def test_dset_is_that_of_the_papers_prototype():
    """WEB-SAILOR's two clients: one for .com, the other for .edu, .net and .org."""
    sites = [("com", 30), ("com", 30), ("edu", 20), ("net", 15), ("org", 20), ("com", 5)]
    owners = partition(problem(sites, 2))
    assert len({owners[0], owners[1], owners[5]}) == 1
    assert {owners[2], owners[3], owners[4]} == {1 - owners[0]}


def test_dset_packs_domains_evenly():
    random = np.random.default_rng(1)
    sites = [(f"d{random.integers(0, 60)}", int(random.integers(1, 100))) for _ in range(900)]
    asked = problem(sites, 6)
    owners = partition(asked)
    by_domain = {}
    for (name, _), owner in zip(sites, owners.tolist()):
        assert by_domain.setdefault(name, owner) == owner
    load = loads(asked.work, owners, 6)
    assert load.max() <= 1.05 * load.mean()


def test_dset_never_divides_a_domain_though_it_ruins_the_balance():
    owners = partition(problem([("com", 90), ("com", 90), ("edu", 10), ("net", 10)], 3))
    assert owners[0] == owners[1]
    assert len(set(owners.tolist())) == 3


def test_dset_gives_a_domain_to_who_is_fast_there():
    sites = [("de", 10), ("fr", 10), ("de", 10), ("fr", 10)]
    table = np.array([[1.0, 9.0, 1.0, 9.0], [9.0, 1.0, 9.0, 1.0]])
    assert partition(problem(sites, 2, rates=table)).tolist() == [1, 0, 1, 0]


def test_domain_of_an_address_is_the_address():
    assert domain(sort_key("http://127.0.0.5:8080/a")) == b"127.0.0.5"
    assert domain(sort_key("http://a.b.example/")) == b"example"
    assert domain(b"") == b""


def test_dset_needs_keys():
    with pytest.raises(UsageError, match="sort keys"):
        partition(PartitionProblem(np.ones(3), 2))
