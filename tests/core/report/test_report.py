"""The measures of a report that is built from the shares of a team."""

from gcs.core.report.counters import Counters, PhaseTimes, Traffic
from gcs.core.report.quality import LinkSample
from gcs.core.report.report import Share, Supersteps, build
from gcs.core.report.workload import Workload


def share(name: str, links: LinkSample, **counted: object) -> Share:
    counters = Counters(pages=2, seconds=1.0, **counted)
    return Share(name, counters, 2, 0, 2, 1.0, work=Workload(2, 0, 2, (1.0, 1.0, 1.0)), links=links)


#: two pages are fetched by each; a and b name three others, and one that both name is the most linked of all
A = LinkSample(backlinks={1: 1, 5: 1, 6: 1}, dealt_with={1: True, 2: True})
B = LinkSample(backlinks={3: 1, 5: 1, 7: 1}, dealt_with={3: True, 4: True})


def test_quality_is_that_of_the_whole_team() -> None:
    report = build("crawl", "done", [share("a", A), share("b", B)])
    assert report.quality == 0.5, "the shared one and one of the others are missing"
    assert report.quality_sample == 7


def test_coverage_is_the_estimate_but_behind_a_firewall_also_what_was_met() -> None:
    assert build("crawl", "done", [share("a", A), share("b", B)]).coverage == 1.0
    walled = [share("a", A, traffic=Traffic(dropped=1)), share("b", B)]
    assert build("crawl", "done", walled).coverage == round(4 / 7, 4)


def test_cost_of_the_phases_is_that_of_all_and_supersteps_are_those_of_one() -> None:
    times = (PhaseTimes(3, 1.0, 2.0, 4.0), PhaseTimes(2, 10.0, 20.0, 40.0))
    report = build("crawl", "done", [share(name, A, phases=spent) for name, spent in zip("ab", times)])
    assert report.supersteps == Supersteps(3, 11.0, 22.0, 44.0)
