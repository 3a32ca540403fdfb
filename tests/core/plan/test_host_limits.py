"""Which hosts a plan may cut, and how the hosts of the seeds are shared out."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.plan.host_limits import ONE_GATHERER, HostLimits, of_hosts
from gcs.core.url.sortkey import PAGES, host_key, host_of_key, sort_key

HOSTS = st.sampled_from(["a.example", "b.example", "www.b.example", "c.org", "127.0.0.5"])
CUTS = st.lists(st.builds(lambda host, page: sort_key(f"http://{host}/{page}"), HOSTS, st.integers(0, 9)), unique=True)


@given(CUTS, st.dictionaries(HOSTS.map(host_key), st.floats(0, 5)))
def test_only_hosts_whose_delay_is_short_are_cut(cuts: list[bytes], delays: dict[bytes, float]) -> None:
    limits = HostLimits(0.0, delays)
    kept = limits.whole_hosts([b"", *sorted(cuts)])
    assert kept[0] == b""
    assert set(kept[1:]) == {cut for cut in cuts if delays.get(host_of_key(cut), 0.0) * ONE_GATHERER <= 1.0}


def test_cuts_between_hosts_stay_whatever_the_delay_is() -> None:
    between = (b"", b"com", host_key("a.example") + PAGES, host_key("b.example"))
    assert HostLimits(60.0).whole_hosts(between) == between


@given(st.lists(HOSTS, min_size=1), st.integers(1, 8))
def test_hosts_of_the_seeds_are_divided_evenly(hosts: list[str], groups: int) -> None:
    keys = [host_key(host) for host in hosts]
    cuts = of_hosts(keys, groups)
    assert cuts[0] == b"" and list(cuts) == sorted(set(cuts)) and len(cuts) == min(groups, len(set(keys)))
    sizes = [
        sum(low <= key + PAGES < high for key in set(keys))
        for low, high in zip(cuts, (*cuts[1:], b"\xff"), strict=True)
    ]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("delay_s", "limited"), [(0.0, False), (0.005, False), (0.02, True), (1.0, True)])
def test_host_is_limited_by_a_delay_that_one_gatherer_can_use_up(delay_s: float, limited: bool) -> None:
    assert HostLimits(delay_s).is_limited(b"example") is limited


def test_politeness_is_that_of_the_slowest_host_and_its_answers() -> None:
    limits = HostLimits(0.0, {b"slow": 2.0, b"large": 0.5})
    queues = {b"slow": 10.0, b"large": 30.0, b"free": 1e6}
    assert limits.polite_s(queues) == 20.0
    assert limits.polite_s(queues, answer_s=1.0) == 45.0
    assert HostLimits().polite_s(queues, answer_s=1.0) == 0.0


def test_one_gatherer_works_at_all_its_hosts_at_once_up_to_its_connections_and_its_core() -> None:
    hosts = [b"%d" % number for number in range(50)]
    assert HostLimits(1.0).pages_per_s(hosts, rate=0.5) == 25.0
    assert HostLimits(0.0).pages_per_s(hosts[:2], rate=0.5) == 8.0
    assert HostLimits(0.0).pages_per_s(hosts, rate=0.5) == 64.0
    assert HostLimits(1.0).pages_per_s(hosts[:10], rate=0.5, others=30) == 20.0
    assert HostLimits(1.0, all_connections=4).pages_per_s(hosts, rate=0.5) == 2.0
    assert HostLimits(1.0).pages_per_s(hosts, rate=20.0) == ONE_GATHERER
    assert HostLimits(1.0).pages_per_s(hosts, rate=500.0) == 500.0, "a gatherer that has fetched more can fetch more"


def test_delays_of_hosts_allow_so_many_pages_a_second() -> None:
    limits = HostLimits(1.0, {b"slow": 9.0})
    assert limits.allowed_per_s([b"slow", b"a"], answer_s=1.0) == pytest.approx(0.6)
    assert limits.allowed_per_s([b"a"], answer_s=0.0, others=9.5) == pytest.approx(10.5)
    assert HostLimits().allowed_per_s([b"a"], answer_s=1.0) == math.inf
