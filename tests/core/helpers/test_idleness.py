"""A helper that finds nothing to do is told why."""

from msgspec.structs import replace

from gcs.core.helpers.idleness import why_idle
from gcs.core.messages.tuples import Control, CrawlState, Means, Member, MemberState
from gcs.core.report.workload import TimeSpent, Workload

RUNNING = Control(CrawlState.RUNNING)
POLITE = Workload(200, 100, 100, spent=TimeSpent(10, 1, 9, 1), lends=True)
WAITING = replace(POLITE, spent=TimeSpent(10, 1, 0, 10))


def why(*works: Workload, control: Control | None = RUNNING, place: str = "", means: Means = Means.PLAIN) -> str:
    members = [Member(f"g{at}", "run", work=work) for at, work in enumerate(works)]
    return why_idle(members, control, place, means)


def test_hosts_that_wait_for_their_delays_need_no_helper() -> None:
    assert why(POLITE) == "hosts are waiting for their delays: more machines cannot make them faster"


def test_gatherers_that_keep_up_need_no_helper() -> None:
    assert why(WAITING) == "nothing to lend: the gatherers keep up by themselves"
    assert why(replace(WAITING, queued=0)) == "nothing to lend: no URLs are queued"
    assert why(replace(WAITING, holds="waiting for the plan of the team")) == "waiting for the plan of the team"


def test_crawl_that_lends_nothing_says_so() -> None:
    assert why(replace(POLITE, lends=False)) == "the crawl lends nothing (helpers.lend is false)"
    assert "lends nothing" not in why(Workload(200, 100, 100)), "an earlier version does not say"


def test_crawl_that_rests_says_so() -> None:
    assert why(POLITE, control=Control(CrawlState.PAUSED)) == "the crawl is paused"
    assert why() == "the crawl has no gatherer at work"
    assert why_idle([Member("s", "run", is_server=True)], RUNNING, "", Means.PLAIN) == why()
    assert why_idle([Member("g0", "run", state=MemberState.LEAVING)], RUNNING, "", Means.PLAIN) == why()


def test_helper_of_another_place_learns_that_nobody_is_there() -> None:
    assert why(POLITE, place="berlin").startswith("no gatherer works at the place berlin, and helpers work for")
    assert why_idle([Member("g0", "run", "berlin", work=POLITE)], RUNNING, "", Means.PLAIN).startswith(
        "no gatherer works at this place (give --place)"
    )


def test_browser_learns_that_no_page_needs_it() -> None:
    assert why(POLITE, means=Means.BROWSER) == "no page needs a browser now"
