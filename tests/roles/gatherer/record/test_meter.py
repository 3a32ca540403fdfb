"""The meter of a gatherer, at a frontier on disk."""

from pathlib import Path

from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.roles.gatherer.record.meter import Meter


def test_meter_begins_a_session_without_rates_of_the_last_one(tmp_path: Path) -> None:
    """The rates must not be negative in the first seconds: `gcs status` and triggers of users read them."""
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    meter = Meter("g0", frontier, now=0.0)
    meter.counters.pages, meter.counters.busy_s = 61, 5.0
    meter.figures(meter.share(10.0, 1, 1, 1), under_way=0)
    meter.begin_again()
    meter.counters.pages, meter.counters.busy_s = 4, 1.0
    figures = meter.figures(meter.share(12.0, 1, 2, 2), under_way=0)
    assert (figures["pages_per_s"], figures["busy"]) == (2.0, 0.5)
    frontier.close()


def test_meter_tells_where_the_time_went(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    meter = Meter("g0", frontier, now=0.0)
    meter.turn(1.0, busy=False)
    meter.turn(3.0, busy=True, asked=1, delayed=3)
    meter.turn(4.0, busy=True, asked=8, is_reading=True)
    spent = meter.counters.spent
    assert (spent.seconds, spent.idle_s, spent.delays_s, spent.answers_s) == (4.0, 1.0, 1.5, 1.5)
    assert spent.cpu_s == 1.0
    frontier.close()


def test_meter_measures_rates_over_the_last_seconds(tmp_path: Path) -> None:
    """Ten seconds at first without a page, then two pages a second: the old seconds are forgotten."""
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    meter, rates = Meter("g0", frontier, now=0.0), []
    for now in range(1, 31):
        if now > 10:
            meter.counters.pages += 2
            meter.explored.count_page([])
            meter.explored.known(3)
        meter.turn(float(now), busy=True, asked=4)
        rates.append(meter.share(float(now), 1, 1, 1).work)
    assert rates[9].pages_per_s == 0.0
    assert (rates[-1].pages_per_s, rates[-1].urls_per_s, rates[-1].found_per_s) == (2.0, 1.0, 3.0)
    assert rates[-1].latency_s == 4.0 and round(rates[-1].spent.seconds) == 10
    frontier.close()


def test_meter_does_not_count_what_was_replayed_as_work(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    meter = Meter("g0", frontier, now=0.0)
    for _ in range(500):
        meter.explored.count_page([])
    meter.turn(1.0, busy=False)
    assert meter.share(2.0, 1, 1, 1).work.urls_per_s == 0.0
    frontier.close()
