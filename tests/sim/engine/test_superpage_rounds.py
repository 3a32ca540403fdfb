"""Two rounds of superpage creation balance the load: time-weighted imbalance ≤ 5 %, superpages ≤ 40·k."""

import gzip
from pathlib import Path
from random import Random

import numpy as np
import pytest

from gcs.core.partition.sticky import partition as sticky
from gcs.core.url.sortkey import host_of_key, sort_key
from gcs.sim.engine.superpage_rounds import RoundTeam, count, imbalance, rounds

URLS = Path(__file__).parents[3] / ".." / "shared" / "data" / "debian-docs" / "urls.txt.gz"


def zipf_web(pages=40_000, seed=1):
    """Hosts of Zipf sizes, the largest with a fifth of all pages, found in random order."""
    random = Random(seed)
    ranks = random.choices(range(1, 400), weights=[1 / rank for rank in range(1, 400)], k=pages)
    urls = {f"https://h{rank}.example/{random.choice('abcdefgh')}/{random.randrange(10**6)}" for rank in ranks}
    found = [sort_key(url) for url in sorted(urls)]
    random.shuffle(found)
    return found


def debian_docs(step=16):
    if not URLS.exists():
        pytest.skip("no web graph debian-docs: the shared data are not here")
    found = [sort_key(url) for url in gzip.decompress(URLS.read_bytes()).decode().split()[::step]]
    Random(2).shuffle(found)
    return found


@pytest.mark.parametrize("web", [zipf_web, debian_docs])
@pytest.mark.parametrize("speeds", [[1.0] * 8, [0.5, 1.0, 1.0, 2.0] * 4], ids=["8 equal", "16 unequal"])
def test_two_rounds_balance_the_time(web, speeds):
    keys = web()
    _, last = rounds(keys, RoundTeam(speeds), [len(keys) // 4, len(keys)])
    assert last.superpages <= 40 * len(speeds)
    assert last.imbalance <= 0.05
    assert last.actual.sum() == len(keys)
    # the same URLs by site hash, which knows neither sizes nor speeds
    sites = sorted({host_of_key(key) for key in keys})
    by_site = count(sorted(keys), (b"", *sites[1:]))
    hashed = [Random(site).randrange(len(speeds)) for site in sites]
    assert imbalance(by_site, speeds, hashed) > 4 * last.imbalance


def test_estimated_weights_are_near_the_actual_ones():
    keys = zipf_web()
    *_, last = rounds(keys, RoundTeam([1.0] * 8), [len(keys) // 2, len(keys)])
    assert np.abs(last.estimated - last.actual).sum() < 0.05 * len(keys)


def test_crawl_that_only_grows_moves_little_with_sticky_partitions():
    keys = zipf_web()
    team = RoundTeam([1.0] * 8, partition=sticky)
    *_, before, last = rounds(keys, team, [len(keys) // 4, len(keys) // 2, len(keys)])
    assert last.plan.epoch == 3 and before.plan.gatherers == last.plan.gatherers
    assert last.moved < 0.3 * len(keys)
    assert last.imbalance <= 0.10
