"""The roster of a team as text."""

from gcs.app.team_roster import table
from gcs.core.messages.tuples import Member
from gcs.core.report.roster import roster


def test_roster_tells_of_clocks_that_are_wrong() -> None:
    clocks = {"a": 600.0, "b": -2.5, "c": 0.2}
    team = roster([Member(name, "run", figures={"skew_s": it}) for name, it in clocks.items()], None, None, None, {})
    assert [row.skew_s for row in team.members] == [600.0, -2.5, 0.2]
    lines = [line for line in table(team).splitlines() if "clock" in line]
    assert len(lines) == 2
    assert "a: its clock is 600.0 s ahead of the whiteboard's" in lines[0]
    assert "b: its clock is 2.5 s behind the whiteboard's" in lines[1]
