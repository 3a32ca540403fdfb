"""Two rounds of superpage creation balance the load: time-weighted imbalance ≤ 5 %, superpages ≤ 40·k."""

import gzip
from pathlib import Path
from random import Random

import numpy as np
import pytest

from gcs.core.partition.sticky import partition as sticky
from gcs.core.plan.host_limits import HostLimits
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


def owners_of(keys, plan, host):
    return {plan.owner_of(key) for key in keys if host_of_key(key) == host}


def test_host_that_its_delay_limits_has_one_owner_and_takes_its_delay():
    """The live leader leaves it whole; without a delay it is cut, and takes what its owners' work takes."""
    keys = zipf_web(8_000)
    giant = max({host_of_key(key) for key in keys}, key=lambda host: sum(host_of_key(key) == host for key in keys))
    pages = sum(host_of_key(key) == giant for key in keys)
    (free,) = rounds(keys, RoundTeam([100.0] * 8), [len(keys)])
    assert len(owners_of(keys, free.plan, giant)) > 1
    assert free.times_s.max() == pytest.approx(len(keys) / 800, rel=0.1)
    (polite,) = rounds(keys, RoundTeam([100.0] * 8, limits=HostLimits(0.0, {giant: 0.5})), [len(keys)])
    assert len(owners_of(keys, polite.plan, giant)) == 1
    assert polite.times_s.max() == pytest.approx(0.5 * pages)
    assert np.median(polite.times_s) < 0.05 * polite.times_s.max(), "only its owner has to wait for it"


def test_delay_is_owed_by_all_owners_of_a_host_together():
    """A short delay does not keep a host whole; each of its owners is done when the host is."""
    keys = [sort_key(f"https://one.example/{n % 40:02}/{n}") for n in range(4_000)]
    (done,) = rounds(keys, RoundTeam([1000.0] * 4, limits=HostLimits(0.005)), [len(keys)])
    assert len(owners_of(keys, done.plan, host_of_key(keys[0]))) == 4
    assert done.times_s == pytest.approx([20.0] * 4)


@pytest.mark.parametrize(("delay_s", "moves"), [(0.0, True), (1.0, False)])
def test_nothing_moves_while_the_slowest_host_decides(delay_s, moves):
    """As under the live leader: one gatherer has done all the work before the delay of the giant is over."""
    keys = zipf_web(8_000)
    (done,) = rounds(keys, RoundTeam([100.0] * 4, partition=sticky, limits=HostLimits(delay_s)), [len(keys)])
    assert bool(done.moved) is moves
