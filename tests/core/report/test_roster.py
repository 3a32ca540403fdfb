"""The roster: members in the order in which people count."""

from gcs.core.messages.tuples import Control, CrawlState, HelperBeat, LeaderLease, Member, PlanPosted
from gcs.core.plan.plan import Plan
from gcs.core.report.roster import Help, natural, roster


def test_roster_shows_the_team_as_people_sort_it():
    members = [Member(name, "run", epoch=2, settled_epoch=epoch) for name, epoch in (("g10", 2), ("g9", 1), ("x", 2))]
    plan = PlanPosted(2, 1, Plan(2, ("g9", "g10"), (b"", b"m"), (0, 1)).encode(), committed=True)
    team = roster(members, plan, LeaderLease("g10", 1), Control(CrawlState.PAUSED), {"g9": 4})
    assert [(row.gatherer, row.leads, row.inbox, row.settled) for row in team.members] == [
        ("g9", False, 4, False),
        ("g10", True, 0, True),
        ("x", False, 0, True),
    ]
    assert (team.crawl_state, team.epoch, team.superpages, team.committed) == ("paused", 2, 2, True)
    assert roster([], None, None, None, {}).members == []


def test_natural_order_of_names_that_have_nothing_in_common():
    assert sorted(["b", "10", "9", "a2", "a10", "", "a"], key=natural) == ["", "9", "10", "a", "a2", "a10", "b"]


def test_roster_adds_up_the_helpers_of_each_place():
    beats = [HelperBeat("h1", "watson", connections=4, pages_per_s=1.5), HelperBeat("h2", "watson", connections=2)]
    team = roster([], None, None, None, {}, [*beats, HelperBeat("h3", connections=1)])
    assert team.help == [Help("", 1, 1, 0.0), Help("watson", 2, 6, 1.5)]
