"""Problems that look like a crawl: heavy-tailed weights, links to neighbours and to a few popular superpages."""

import numpy as np
import pytest

from gcs.core.partition import PartitionProblem
from gcs.core.partition.partition_graph import LinkArrays


def weblike(m, k, seed=0, links_each=10, **more):
    """m superpages for k gatherers, none heavier than a tenth of a part (Superpage Creation aims at a twentieth)."""
    random = np.random.default_rng(seed)
    weights = random.pareto(1.2, m) + 1
    for _ in range(100):
        weights = np.minimum(weights, weights.sum() * max(1 / (10 * k), 3 / m))
    count = links_each * m
    sources = random.integers(0, m, count)
    near = (sources + random.integers(-8, 9, count)) % m
    popular = (random.pareto(1, count) * m / 50).astype(np.int64) % m
    targets = np.where(random.random(count) < 0.8, near, popular)
    links = LinkArrays.between(m, sources, targets) if links_each else None
    return PartitionProblem(weights, k, links=links, **more)


def times_s(problem, owners):
    """T_i by the formula of Teng §4.5, one link at a time."""
    rates = np.asarray(problem.rates, float)
    rates = rates.T if rates.ndim == 2 else np.broadcast_to(rates, (problem.m, problem.k))
    found = np.zeros(problem.k)
    for superpage, owner in enumerate(owners):
        if owner < 0:
            continue
        found[owner] += problem.work[superpage] / rates[superpage, owner]
        if problem.links is None:
            continue
        start, end = problem.links.offsets[superpage : superpage + 2]
        for other, count in zip(problem.links.targets[start:end], problem.links.costs[start:end]):
            if owners[other] >= 0 and owners[other] != owner:
                found[owner] += count * problem.link_s()[owner]
    return found


@pytest.fixture(scope="session")
def web():
    """The maker of problems."""
    return weblike


@pytest.fixture(scope="session")
def formula():
    """The oracle of T_i."""
    return times_s
