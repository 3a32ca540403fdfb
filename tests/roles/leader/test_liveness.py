"""Who is missing: a leaver is not, once it has said that it owes nothing; ghosts that come to nothing are no delay."""

from itertools import pairwise

from gcs.core.messages.template import template
from gcs.core.messages.tuples import CrawlState, LeaderLease, Member, PlanPosted
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.leader.fenced_board import BoardView, FencedBoard, NewestPlan
from gcs.roles.leader.liveness import Liveness

SETTINGS = TeamSettings(lease_s=10.0, beat_s=0.5, recover_s=60.0)
PLAN = Plan(3, ("a", "b"), (b"", b"m"), (0, 1), leavers=("c",))


class Term:
    """A leader's term, with `a` as the only one who is always there."""

    def __init__(self) -> None:
        self.space = MemorySpace(MemoryBoard(), "a")
        self.ghosts: list[tuple[float, str]] = []
        self.now = 100.0
        leader = LeaderLease("a", 1)
        self.leader = leader
        board = FencedBoard(self.space, leader, NewestPlan(lambda: None), lambda: self.now)
        self.liveness = Liveness(board, SETTINGS, self.ghost)

    async def ghost(self, name: str) -> bool:
        self.ghosts.append((self.now, name))
        return True

    async def step(self, *there: str, gone: tuple[str, ...] = (), committed: bool = False) -> bool:
        members = {name: Member(name, "run", epoch=3) for name in there}
        posted = PlanPosted(3, 1, PLAN.encode(), committed)
        return await self.liveness.step(
            BoardView(self.now, True, CrawlState.RUNNING, 0, posted, PLAN, members, frozenset(gone))
        )


async def test_leaver_counts_as_gone_only_if_it_has_said_so():
    term = Term()
    assert await term.step("a", "b")
    assert term.ghosts == [(100.0, "c")]
    term = Term()
    assert not await term.step("a", "b", gone=("c",))
    assert not await term.step("a", "b", committed=True), "what it owed is handed over"
    assert await term.step("a", gone=("b", "c")), "who is in the plan cannot leave by saying so"
    assert [name for _, name in term.ghosts] == ["b"]


async def test_ghosts_that_come_to_nothing_do_not_put_off_the_end():
    term = Term()
    await term.space.out(term.leader)
    while term.now < 100 + SETTINGS.recover_s:
        assert await term.step("a", gone=("c",))
        assert await term.space.read(template(PlanPosted)) is None, "given up too early"
        term.now += SETTINGS.beat_s
    await term.step("a", gone=("c",))
    posted = await term.space.read(template(PlanPosted))
    assert posted is not None
    plan = Plan.decode(posted.plan)
    assert (plan.gatherers, plan.lost) == (("a",), tuple(PLAN.ranges_of("b")))
    asked = [at for at, _ in term.ghosts]
    assert len(asked) >= 5 and min(b - a for a, b in pairwise(asked)) >= SETTINGS.lease_s
