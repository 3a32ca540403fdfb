"""Owners by hash: stable, spread, and true to hosts."""

import numpy as np
import pytest

from gcs.core.partition import PartitionProblem
from gcs.core.partition.hashing import consistent_hash, host, site_hash, url_hash
from gcs.core.plan.metrics import imbalance, loads
from gcs.core.url.sortkey import sort_key
from gcs.errors import UsageError

SITES = 400
KEYS = [sort_key(f"https://www.site{site}.example/page/{page}") for site in range(SITES) for page in range(5)]
ONES = np.ones(len(KEYS))


def problem(k=8, **more):
    return PartitionProblem(ONES, k, keys=KEYS, **more)


def sites_of(owners):
    return owners.reshape(SITES, 5)


@pytest.mark.parametrize("partitioner", [site_hash, consistent_hash])
def test_site_hashes_give_a_host_to_one_owner(partitioner):
    assert all(len(set(site.tolist())) == 1 for site in sites_of(partitioner(problem())))


def test_url_hash_spreads_a_host():
    assert sum(len(set(site.tolist())) > 1 for site in sites_of(url_hash(problem()))) > 0.9 * SITES


@pytest.mark.parametrize("partitioner", [url_hash, site_hash, consistent_hash])
def test_hashes_use_every_gatherer_about_equally(partitioner):
    assert imbalance(loads(ONES, partitioner(problem()), 8)) < 0.5


@pytest.mark.parametrize("partitioner", [url_hash, site_hash, consistent_hash])
def test_hashes_depend_on_the_seed_and_the_key_alone(partitioner):
    owners = partitioner(problem(seed=1))
    assert owners.tolist() == partitioner(problem(seed=1)).tolist() != partitioner(problem(seed=2)).tolist()
    half = PartitionProblem(np.ones(1000), 8, keys=KEYS[:1000], seed=1)
    assert partitioner(half).tolist() == owners[:1000].tolist()


def test_consistent_hash_moves_only_what_a_joiner_takes():
    names = [f"gatherer-{number}" for number in range(8)]
    before, after = consistent_hash(problem(8, names=names)), consistent_hash(problem(9, names=[*names, "new"]))
    assert set(after[before != after].tolist()) == {8}
    assert 0 < (before != after).mean() < 2 / 9


def test_consistent_hash_moves_only_what_a_leaver_had():
    names = [f"gatherer-{number}" for number in range(8)]
    left = names[:3] + names[4:]
    before, after = consistent_hash(problem(8, names=names)), consistent_hash(problem(7, names=left))
    stayed = [names.index(name) for name in left]
    assert [stayed[owner] for owner in after[before != 3]] == before[before != 3].tolist()


def test_consistent_hash_gives_in_proportion_to_the_rates():
    keys = [sort_key(f"http://h{number}.example/") for number in range(20_000)]
    rates = np.array([1.0, 1.0, 4.0])
    owners = consistent_hash(PartitionProblem(np.ones(20_000), 3, keys=keys, rates=rates))
    assert np.bincount(owners) / 20_000 == pytest.approx([1 / 6, 1 / 6, 4 / 6], abs=0.05)


def test_host_of_a_superpage_above_the_path_is_its_key():
    assert host(sort_key("https://a.example/x?y")) == b"example\x00a"
    assert host(b"example\x00a") == b"example\x00a"
    assert host(b"") == b""


@pytest.mark.parametrize("partitioner", [url_hash, site_hash, consistent_hash])
def test_hashes_need_keys(partitioner):
    with pytest.raises(UsageError, match="sort keys"):
        partitioner(PartitionProblem(ONES, 8))
    assert len(partitioner(PartitionProblem(np.ones(0), 8))) == 0
