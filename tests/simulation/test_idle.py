"""Work for everybody, on simulated time: who has nothing to do gets some of what others have too much of."""

import asyncio
import dataclasses

import pytest

from gcs.core.plan.team_settings import TeamSettings
from gcs.ports.frontier import FrontierSettings
from tests.simulation.sim_team import SimTeam, quick
from tests.simulation.simulate import Plan, settings_of, simulate

#: connections of a gatherer, and seconds that it may be idle
CONNECTIONS, IDLE_S = 4, 2.0
#: seconds between two looks
LOOK_S = 0.05


@pytest.mark.parametrize(("hosts", "pages", "answer_s"), [(5, 150, 0.3), (5, 120, 1.0), (50, 200, 1.0), (1, 120, 3.0)])
def test_idle_gatherer_has_work_within_two_seconds_wherever_there_is_work_to_give(
    hosts: int, pages: int, answer_s: float
) -> None:
    plan = Plan(7, 4, 0, hosts, pages, 0.0, 0.0, (), (answer_s, answer_s))
    settings = quick(
        settings_of(plan),
        fetch={"connections": CONNECTIONS},
        team=dataclasses.asdict(TeamSettings()),
        frontier=dataclasses.asdict(FrontierSettings()),
    )
    #: more waits at a gatherer than it can ask for in these seconds: there is work to give
    plenty = CONNECTIONS * max(IDLE_S / answer_s, 1.0)
    idle_s, longest_s, looks = dict.fromkeys(("g0", "g1", "g2", "g3"), 0.0), 0.0, 0

    async def watch(team: SimTeam) -> None:
        nonlocal longest_s, looks
        while True:
            await asyncio.sleep(LOOK_S)
            work = {member.name: member.work() for member in team.members.values() if member.runs}
            for name, (in_flight, _) in work.items():
                is_owed = not in_flight and any(waiting > plenty for _, waiting in work.values())
                idle_s[name] = idle_s[name] + LOOK_S if is_owed else 0.0
            longest_s, looks = max(longest_s, *idle_s.values()), looks + len(work) - 3

    outcome = simulate(plan, None, settings, watch)
    assert not outcome.violations
    assert looks > 0 and LOOK_S < longest_s <= IDLE_S
