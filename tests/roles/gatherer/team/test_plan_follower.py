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
        (WON, False, False),  # the whole range has still to be handed over
        (WON, True, True),  # the range was handed over, and is gone with the disk
        (LOST, False, False),  # the range is lost and begun anew
        (LOST, True, True),
        (OTHERS, True, False),
    ],
)
async def test_follower_is_blank_where_a_plan_counts_on_a_disk_that_is_gone(frontier, plan, committed, blank) -> None:
    space = MemorySpace(MemoryBoard(), "b")
    posted = PlanPosted(3, 1, plan.encode(), committed)
    await space.out(posted)
    follower = PlanFollower("b", frontier)
    await follower.restore(space)
    assert follower.is_blank == blank
    assert follower.is_news(posted) != blank
    if blank:  # until the leader makes a plan that does not count on the disk
        assert follower.is_news(PlanPosted(4, 1, LOST.encode()))
        follower.follow(PlanPosted(4, 1, LOST.encode()))
        assert not follower.is_blank


@pytest.mark.parametrize(
    ("plan", "committed", "blank"),
    [
        (PLAN, False, True),
        (WON, False, True),  # parts of the range may have been handed over already
        (LOST, False, True),
        (Plan(3, ("a",), (b"",), (0,), moves=(Move(b"m", LAST_KEY, "b", "a"),), leavers=("b",)), False, True),
        (Plan(3, ("a",), (b"",), (0,), moves=(Move(b"m", LAST_KEY, "b", "a"),), leavers=("b",)), True, False),
        (OTHERS, False, False),
    ],
)
async def test_follower_whose_frontier_was_damaged_is_blank_under_any_plan_that_names_it(
    tmp_path: Path, plan: Plan, committed: bool, blank: bool
) -> None:
    (tmp_path / "data.mdb.cut").touch()
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    space = MemorySpace(MemoryBoard(), "b")
    posted = PlanPosted(3, 1, plan.encode(), committed)
    await space.out(posted)
    follower = PlanFollower("b", frontier)
    await follower.restore(space)
    assert follower.is_blank == blank
    assert follower.is_news(posted) != blank
    assert follower.is_news(PlanPosted(4, 1, LOST.encode()))
    frontier.close()


async def test_follower_posts_its_plan_again_on_a_board_that_lost_it(frontier) -> None:
    space = MemorySpace(MemoryBoard(), "b")
    PlanFollower("b", frontier).follow(PlanPosted(3, 1, PLAN.encode()))
    follower = PlanFollower("b", frontier)
    await follower.restore(space)
    posted = await space.read(template(PlanPosted))
    assert posted is not None and posted.plan == PLAN.encode()
    assert (follower.epoch, follower.superpages, follower.is_blank) == (3, 1, False)


@pytest.mark.parametrize(
    ("later", "is_refused"),
    [
        (Member("b", "run", beat=2), True),
        (Member("b", "run", beat=1), False),  # of a process that is dead
        (Member("b", "another", beat=9), False),  # the heartbeat of a dead run was replaced
        (None, False),
    ],
)
async def test_follower_refuses_a_name_that_another_process_uses(
    frontier, later: Member | None, is_refused: bool
) -> None:
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
async def test_follower_takes_a_name_whose_last_user_has_handed_over(frontier, state: str) -> None:
    space = MemorySpace(MemoryBoard(), "b")
    await space.out(Member("b", "run", state=state))
    await PlanFollower("b", frontier).enter(space, 3_600.0)


@pytest.mark.parametrize("has_disk", [True, False])
async def test_follower_goes_on_under_its_plan_if_another_version_wrote_the_next(frontier, has_disk, caplog) -> None:
    space = MemorySpace(MemoryBoard(), "b")
    later = PlanPosted(9, 1, b"\xff" + PLAN.encode()[1:])
    await space.out(later)
    if has_disk:
        PlanFollower("b", frontier).follow(PlanPosted(3, 1, PLAN.encode()))
    follower = PlanFollower("b", frontier)
    await follower.restore(space)
    assert not follower.is_blank
    assert not follower.is_news(later)
    assert not follower.is_news(later)
    assert follower.epoch == (3 if has_disk else 0)
    assert caplog.messages.count("team.plan-unreadable") == 1


def test_follower_knows_the_plan_on_its_disk_before_it_has_asked_the_whiteboard(frontier) -> None:
    """The candidate of its process may be elected before that, and would make a first plan."""
    PlanFollower("a", frontier).follow(PlanPosted(3, 1, PLAN.encode()))
    again = PlanFollower("a", frontier)
    assert (again.plan, again.epoch) == (PLAN, 3)
    assert again.newest(None) == PlanPosted(3, 0, PLAN.encode())
