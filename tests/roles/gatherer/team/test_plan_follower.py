"""Which plan a gatherer follows: never one that counts on what was on a disk that is gone."""

import asyncio
from pathlib import Path

import pytest

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Member, PlanPosted
from gcs.core.plan.plan import Move, Plan
from gcs.core.url.sortkey import LAST_KEY
from gcs.errors import UsageError
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.gatherer.team.plan_follower import PlanFollower

PLAN = Plan(3, ("a", "b"), (b"", b"m"), (0, 1))
WON = Plan(3, ("a", "b"), (b"", b"m"), (0, 1), moves=(Move(b"m", LAST_KEY, "a", "b"),))
LOST = Plan(3, ("a", "b"), (b"", b"m"), (0, 1), lost=((b"m", LAST_KEY),))
OTHERS = Plan(3, ("a", "b"), (b"", b"m"), (0, 0))


@pytest.fixture
def frontier(tmp_path: Path):
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    yield frontier
    frontier.close()


@pytest.mark.parametrize(
    ("plan", "committed", "blank"),
    [
        (PLAN, True, True),
        (PLAN, False, True),
        (WON, False, False),  # all of it is still to come
        (WON, True, True),  # it came, and is gone
        (LOST, False, False),  # nobody has it
        (LOST, True, True),
        (OTHERS, True, False),
    ],
)
async def test_standing_is_blank_where_a_plan_counts_on_a_disk_that_is_gone(frontier, plan, committed, blank) -> None:
    space = MemorySpace(MemoryBoard(), "b")
    posted = PlanPosted(3, 1, plan.encode(), committed)
    await space.out(posted)
    standing = PlanFollower("b", frontier)
    await standing.restore(space)
    assert standing.is_blank == blank
    assert standing.is_news(posted) != blank
    if blank:  # until the leader has seen it, and made a plan that does not
        assert standing.is_news(PlanPosted(4, 1, LOST.encode()))
        standing.follow(PlanPosted(4, 1, LOST.encode()))
        assert not standing.is_blank


async def test_standing_puts_its_plan_back_on_a_board_that_forgot_it(frontier) -> None:
    space = MemorySpace(MemoryBoard(), "b")
    PlanFollower("b", frontier).follow(PlanPosted(3, 1, PLAN.encode()))
    standing = PlanFollower("b", frontier)
    await standing.restore(space)
    posted = await space.read(template(PlanPosted))
    assert posted is not None and posted.plan == PLAN.encode()
    assert (standing.epoch, standing.superpages, standing.is_blank) == (3, 1, False)


@pytest.mark.parametrize(
    ("later", "is_refused"),
    [
        (Member("b", "run", beat=2), True),
        (Member("b", "run", beat=1), False),  # of a process that is dead
        (Member("b", "another", beat=9), False),  # that of a dead one was replaced by our own, say
        (None, False),
    ],
)
async def test_standing_is_for_one_process_of_a_name(frontier, later: Member | None, is_refused: bool) -> None:
    space = MemorySpace(MemoryBoard(), "b")
    await space.out(Member("b", "run", beat=1))

    async def go_on() -> None:
        await space.remove(template(Member))
        if later:
            await space.out(later)

    entering = asyncio.create_task(PlanFollower("b", frontier).enter(space, 0.05))
    await asyncio.sleep(0)
    await go_on()
    if is_refused:
        with pytest.raises(UsageError, match="another --name"):
            await entering
    else:
        await entering


@pytest.mark.parametrize("state", ["ghost", "gone"])
async def test_standing_is_free_where_its_last_holder_has_handed_over(frontier, state: str) -> None:
    space = MemorySpace(MemoryBoard(), "b")
    await space.out(Member("b", "run", state=state))
    await PlanFollower("b", frontier).enter(space, 3_600.0)
