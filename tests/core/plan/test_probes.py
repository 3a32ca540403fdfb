"""Which hosts are probed, how often, and what is remembered."""

from gcs.core.plan.probes import REPEAT_S, AccessTimes, to_probe
from gcs.core.tree.statistics import SuperpageFigures, SuperpageStatistics


def test_heaviest_superpages_are_probed_first_and_each_once_before_any_twice():
    statistics = SuperpageStatistics({0: SuperpageFigures(queued=5), 1: SuperpageFigures(queued=9)})
    statistics.origins = {0: ["http://a", "http://b"], 1: ["http://c"], 2: ["http://d"]}
    assert to_probe(statistics, 10) == ("http://c", "http://a", "http://d", "http://b")
    assert to_probe(statistics, 2) == ("http://c", "http://a")
    assert to_probe(SuperpageStatistics(), 10) == ()


def test_host_is_probed_again_only_when_its_time_has_passed():
    now = [1000.0]
    times = AccessTimes(10, lambda: now[0])
    assert times.due(["http://a"]) == ["http://a"]
    times.probed("http://a", b"a", 0.1)
    times.probed("http://b", b"b", None)
    assert times.due(["http://a", "http://b"]) == []
    now[0] += REPEAT_S
    assert times.due(["http://a", "http://b"]) == ["http://a", "http://b"]
    times.probed("http://a", b"a", 0.2)
    assert 0.1 < times.seconds[b"a"] < 0.2, "what was known ages, and is not forgotten at once"
    assert b"b" not in times.seconds


def test_no_more_hosts_are_probed_or_remembered_than_the_setting_says():
    times = AccessTimes(2, lambda: 0.0)
    assert times.due(["http://a", "http://b", "http://c"]) == ["http://a", "http://b"]
    for host in "abc":
        times.probed(f"http://{host}", host.encode(), 0.1)
    assert list(times.seconds) == [b"b", b"c"]
