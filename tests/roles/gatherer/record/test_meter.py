"""The meter of a gatherer, at a frontier on disk."""

from pathlib import Path

from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.roles.gatherer.record.meter import Meter


def test_meter_begins_a_session_without_rates_of_the_last_one(tmp_path: Path) -> None:
    """The rates must not be negative in the first seconds: `gcs status` and triggers of users read them."""
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    meter = Meter("g0", frontier, now=0.0)
    meter.counters.pages, meter.counters.busy_s = 61, 5.0
    meter.figures(10.0, meter.share(10.0, 1, 1, 1), under_way=0)
    meter.begin_again()
    meter.counters.pages, meter.counters.busy_s = 4, 1.0
    figures = meter.figures(12.0, meter.share(12.0, 1, 2, 2), under_way=0)
    assert (figures["pages_per_s"], figures["busy"]) == (2.0, 0.5)
    frontier.close()
