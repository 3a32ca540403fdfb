"""R, c and S, from what was counted: rates of those that own a superpage, and of those that only know the way to it."""

import random

import numpy as np
import pytest

from gcs.core.plan.rate_tables import (
    access_table,
    exchange_rates,
    help_factors,
    is_far_apart,
    link_table,
    rate_table,
)
from gcs.core.tree.statistics import MeasuredWork, SuperpageStatistics
from gcs.core.url.sortkey import host_key, sort_key


def rates_of(statistics: SuperpageStatistics, names: list[str], superpages: int) -> np.ndarray:
    """R where nobody has probed anything."""
    unknown = np.full((len(names), superpages), np.nan)
    return rate_table(statistics, names, (unknown, unknown), np.arange(superpages))


NEAR, FAR = "a.example", "b.example"
CUTS = (b"", host_key(FAR))


def apart() -> SuperpageStatistics:
    """Each of two gatherers owns what is near to the other: 150 ms away, 1 ms from there."""
    statistics = SuperpageStatistics()
    for _ in range(200):
        statistics.fetched("ada", 1, 1000, 0.155)
        statistics.fetched("bob", 0, 1000, 0.155)
    a, b = host_key(NEAR), host_key(FAR)
    statistics.access = {"ada": {a: 0.001, b: 0.150}, "bob": {a: 0.150, b: 0.001}}
    return statistics


def test_way_to_a_superpage_tells_the_rate_of_who_has_never_fetched_there():
    names = ["ada", "bob"]
    way = access_table(apart(), names, ["", ""], CUTS)
    assert way == pytest.approx(np.array([[0.002, 0.151], [0.151, 0.002]]))
    rates = rate_table(apart(), names, (way, way), np.arange(2))
    assert rates[0, 1] == rates[1, 0] == pytest.approx(1 / 0.155, rel=0.1), "as it was measured"
    assert rates[0, 0] == rates[1, 1] > 7 * rates[0, 1]
    assert is_far_apart(rates) and not is_far_apart(rates_of(apart(), names, 2))


def test_way_counts_for_no_more_than_the_round_trips_of_a_page():
    """A page that takes a second at a server that thinks is not seven times faster from near."""
    statistics = apart()
    for row in statistics.rates.values():
        for work in row.values():
            work.seconds = work.amount * 1.155
    way = access_table(statistics, ["ada", "bob"], ["", ""], CUTS)
    rates = rate_table(statistics, ["ada", "bob"], (way, way), np.arange(2))
    assert 1.1 < rates[0, 0] / rates[0, 1] < 1.5


def test_place_is_the_prior_of_a_gatherer_that_has_not_probed():
    names, places = ["ada", "bob", "cyd", "dan"], ["here", "there", "there", "nowhere"]
    way = access_table(apart(), names, places, CUTS)
    assert way[2] == pytest.approx(way[1])
    assert way[3] == pytest.approx(way[:2].mean(axis=0)), "the mean of all, where nobody is at its place"
    assert np.isnan(access_table(SuperpageStatistics(), names, places, CUTS)).all()


def test_each_piece_of_a_superpage_is_as_far_as_its_own_hosts_are():
    """Both hosts were one superpage, measured from one side; cut, each piece has the way that was probed."""
    statistics = SuperpageStatistics(access=apart().access)
    for _ in range(100):
        statistics.fetched("ada", 0, 1000, 0.003)
        statistics.fetched("ada", 0, 1000, 0.155)
    names = ["ada", "bob"]
    ways = [access_table(statistics, names, ["", ""], cuts) for cuts in ((b"",), CUTS)]
    rates = rate_table(statistics, names, (ways[0], ways[1]), np.array([0, 0]))
    assert rates[0, 0] > 3 * rates[0, 1] and rates[1, 1] > 3 * rates[1, 0]


def test_host_that_is_cut_is_as_far_in_all_its_pieces():
    inside = sort_key("http://a.example/m")
    way = access_table(apart(), ["ada"], [""], (b"", inside, host_key(FAR)))[0]
    assert way[0] == way[1] == pytest.approx(0.002) and way[2] == pytest.approx(0.151)


def test_rate_table_holds_what_was_measured():
    statistics = SuperpageStatistics(
        rates={
            "ada": {0: MeasuredWork(10_000, 100.0), 1: MeasuredWork(10_000, 1000.0)},
            "bob": {1: MeasuredWork(10_000, 250.0)},
        }
    )
    table = rates_of(statistics, ["ada", "bob"], 2)
    assert table[0, 0] == pytest.approx(100, rel=0.02)
    assert table[0, 1] == pytest.approx(10, rel=0.02)
    assert table[1, 1] == pytest.approx(40, rel=0.02)


def test_rate_table_guesses_what_was_not_measured():
    """Everybody is four times slower in superpage 1; cyd is half as fast as the others; dan is new."""
    chance, statistics = random.Random(1), SuperpageStatistics()
    speed = {"ada": 8.0, "bob": 8.0, "cyd": 4.0}
    for name, at in (("ada", 0), ("ada", 1), ("bob", 0), ("bob", 1), ("cyd", 0)):
        rate = speed[name] / (4 if at else 1)
        for _ in range(500):
            statistics.fetched(name, at, 1000, chance.expovariate(rate))
    table = rates_of(statistics, ["ada", "bob", "cyd", "dan"], 3)
    assert table.shape == (4, 3) and np.all(table > 0)
    assert table[2, 1] < table[0, 1] and table[2, 1] < table[2, 0]
    assert table[3, 0] > table[3, 1]


def test_rate_table_heeds_only_differences_between_gatherers_that_mean_something():
    """What differs by a fifth counts as equal; what differs by half, as it was measured."""
    rates = {name: {0: MeasuredWork(10_000, 10_000 / rate)} for name, rate in zip("abcde", (100, 110, 90, 100, 50))}
    table = rates_of(SuperpageStatistics(rates=rates), list("abcde"), 1)[:, 0]
    assert table[:4] == pytest.approx(100, rel=0.02)
    assert table[4] == pytest.approx(50, rel=0.02)


def test_rate_table_without_measurements_is_even():
    assert np.array_equal(rates_of(SuperpageStatistics(), ["ada", "bob"], 3), np.ones((2, 3)))
    assert np.array_equal(exchange_rates(SuperpageStatistics(), ["ada", "bob"]), np.ones(2))


def test_exchange_rates_are_urls_per_second():
    statistics = SuperpageStatistics()
    statistics.exchange = {"ada": MeasuredWork(100_000, 2.0), "bob": MeasuredWork(100_000, 4.0)}
    rates = exchange_rates(statistics, ["ada", "bob", "new"])
    assert rates == pytest.approx([50_000, 25_000, 33_333], rel=0.01)


def test_link_table_lists_the_super_hyperlinks():
    statistics = SuperpageStatistics()
    statistics.linked(0, [1, 1, 2])
    statistics.linked(2, [0])
    assert sorted(zip(*(column.tolist() for column in link_table(statistics)))) == [(0, 1, 2), (0, 2, 1), (2, 0, 1)]
    assert [len(column) for column in link_table(SuperpageStatistics())] == [0, 0, 0]


def test_help_factors_say_how_many_times_its_own_rate_a_gatherer_has():
    statistics = SuperpageStatistics()
    for _ in range(1000):
        statistics.fetched("ada", 0, 1000, 0.1)
        statistics.fetched("bob", 1, 1000, 0.1)
    for _ in range(3000):
        statistics.fetched_by_helper("ada", 0, 1000)
    assert help_factors(statistics, ["ada", "bob", "new"]) == pytest.approx([4.0, 1.0, 1.0], rel=0.02)
    assert statistics.rates["ada"][0].amount == 1000
    assert statistics.superpages[0].pages == 4000
