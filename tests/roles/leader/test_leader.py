"""The leader on a whiteboard in memory, with members that hold keys, and a clock that ticks by hand."""

import asyncio
import time
from dataclasses import replace
from random import Random

import pytest

from gcs.core.messages import codec
from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    Announcement,
    Charter,
    Control,
    CrawlState,
    LeaderLease,
    Member,
    MemberState,
    PlanPosted,
    RebalanceCall,
    Seeds,
)
from gcs.core.plan import keyspace
from gcs.core.plan.plan import Plan, diff
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.plan.triggers import MOST_SURVEYS
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY
from gcs.errors import SettingsError
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.leader import Leader as Candidate
from tests.ports.space.ticking_clock import TickingClock

from .crew import Crew, keys_of

SETTINGS = TeamSettings(beat_s=0.5, lease_s=3.0, rebalance_s=2.0, recover_s=20.0)
FIVE = ("g1", "g2", "g3", "g4", "g5")


async def giant(*names: str, pages: int = 4000, speed: int = 0, settings: TeamSettings = SETTINGS) -> Crew:
    """A crew whose first member has queued all pages of one host, before anyone else has anything."""
    crew = Crew(settings, speed=speed, expected=len(names))
    crew.start(*names)
    await crew.pass_time(1)
    crew.disks[min(names)].queue |= set(keys_of("giant.example", pages))
    return crew


def everything(crew: Crew) -> list[bytes]:
    """Every key in every place: on disks, and on the way."""
    places = [disk.queue | disk.done | disk.held for disk in crew.disks.values()]
    places += [block[1] | block[2] for disk in crew.disks.values() for block in disk.inbox]
    return sorted(key for place in places for key in place)


async def test_leader_gives_the_one_superpage_to_the_first_member():
    crew = Crew(SETTINGS, expected=3)
    crew.start("g3", "g2", "g1")
    await crew.pass_time(2)
    plan = await crew.plan()
    assert plan.gatherers == ("g1", "g2", "g3")
    assert list(plan.ranges()) == [(FIRST_KEY, LAST_KEY, "g1")]
    assert plan.lost == ((FIRST_KEY, LAST_KEY),), "nobody shall wait for a hand-over"


async def test_leader_waits_for_expected_members_but_not_for_ever():
    crew = Crew(SETTINGS, expected=3)
    crew.start("g1", "g2")
    await crew.pass_time(2)
    assert await crew.posted() is None
    crew.start("g0")
    await crew.pass_time(1)
    assert (await crew.plan()).gatherers == ("g0", "g1", "g2")

    alone = Crew(SETTINGS, expected=3)
    alone.start("g1")
    await alone.pass_time(5)
    assert (await alone.plan()).gatherers == ("g1",)


async def test_leader_puts_back_a_crawl_that_the_whiteboard_has_forgotten_and_does_not_end_it():
    crew = Crew(SETTINGS)
    charter = Charter(b"{}", ["http://a.example/"])
    crew.config = replace(crew.config, known_crawl=lambda: (charter, Control(CrawlState.RUNNING, "crew")))
    crew.start("g1", "g2")
    await crew.pass_time(5)
    assert await crew.space.read(template(Charter)) == charter
    assert sum(len(disk.queue) for disk in crew.disks.values()) == 1, "its seed would have been lost"
    assert await crew.state() is CrawlState.RUNNING


async def test_first_plan_of_a_board_that_has_forgotten_one_has_a_later_epoch():
    """A gatherer that is away may follow the forgotten plan: two plans of one epoch would be taken for the same."""
    epochs = []
    for begun_ago_s in (0.0, 100.0):
        crew = Crew(SETTINGS)
        charter = Charter(b"{}", ["http://a.example/"], begun_at=time.time() - begun_ago_s)
        crew.config = replace(crew.config, known_crawl=lambda charter=charter: (charter, None))
        crew.start("g1")
        await crew.pass_time(2)
        epochs.append((await crew.plan()).epoch)
    assert epochs[0] == 1 and 200 < epochs[1] < 300


async def test_leader_begins_with_the_users_expansion():
    crew = Crew(replace(SETTINGS, expansion=("<com", "<de", "<org", "<uk")))
    space = MemorySpace(crew.board, "x")
    for name in ("a", "b"):
        await space.out(Member(name, "run"))
    leader = Candidate(space, "x", crew.config, crew.clock.now)
    await leader.step()
    assert await crew.posted() is None, "somebody who knows a plan may not have been heard yet"
    crew.clock.advance(1.0)
    await leader.step()
    posted = await crew.posted()
    assert posted is not None
    plan = Plan.decode(posted.plan)
    assert plan.cuts == (b"", b"com", b"de", b"org", b"uk")
    assert plan.owners == (0, 1, 0, 1, 0)


async def test_leader_looks_often_while_it_waits_for_replies():
    crew = Crew(SETTINGS)
    space = MemorySpace(crew.board, "x")
    leader = Candidate(space, "x", crew.config, crew.clock.now)

    async def step(settled: int) -> bool:
        for name in ("a", "b"):
            await space.out(Member(name, "run", epoch=settled, settled_epoch=settled))
        await leader.step()
        assert leader._term is not None
        return leader._term.is_awaiting

    assert await step(0), "who is there"
    crew.clock.advance(1.0)
    assert await step(0), "the first plan"
    await step(1)
    assert not await step(1), "it is committed"
    await space.out(RebalanceCall("test"), to="leader")
    assert await step(1)
    assert await space.read(template(Announcement)) is not None


async def test_leader_gives_a_crawl_to_whoever_began_it_alone():
    crew = Crew(SETTINGS, expected=2)
    crew.start("g1", "g2")
    crew.processes["g2"].disk.queue |= set(keys_of("a.example", 10))
    await crew.pass_time(2)
    assert (await crew.plan()).ranges_of("g2") == [(FIRST_KEY, LAST_KEY)]


async def test_leader_shares_out_a_giant_host_by_its_paths():
    crew = await giant(*FIVE)
    await crew.pass_time(10)
    plan = await crew.plan()
    assert len({plan.owner_of(key) for key in keys_of("giant.example", 4000)}) == 5
    assert crew.imbalance() <= 0.15
    assert everything(crew) == sorted(keys_of("giant.example", 4000))


async def test_leader_gives_a_slow_member_less():
    crew = await giant("g1", "g2", speed=10)
    crew.speeds = {"g1": 10, "g2": 10}
    await crew.pass_time(10)
    crew.speeds = {"g1": 20, "g2": 5}
    await crew.pass_time(20)
    await crew.space.out(RebalanceCall("test"), to="leader")
    await crew.pass_time(3)
    queued = crew.queued()
    assert queued["g2"] < 0.7 * queued["g1"]


async def test_leader_brings_a_new_member_in():
    crew = await giant("g1", "g2")
    await crew.pass_time(10)
    crew.start("g3")
    await crew.pass_time(10)
    assert "g3" in (await crew.plan()).gatherers
    assert crew.imbalance() <= 0.15
    assert everything(crew) == sorted(keys_of("giant.example", 4000))


async def test_leader_lets_a_member_go_when_all_is_handed_over():
    crew = await giant(*FIVE)
    await crew.pass_time(10)
    leader = crew.leaders()[0]
    crew.processes[leader].state = MemberState.LEAVING
    await crew.until(lambda: leader not in crew.processes)
    await crew.pass_time(8)
    plan = await crew.plan()
    assert leader not in plan.gatherers
    assert crew.ghosts == []
    assert crew.imbalance() <= 0.15
    assert everything(crew) == sorted(keys_of("giant.example", 4000))


async def test_leader_raises_a_ghost_for_a_dead_member():
    crew = await giant(*FIVE)
    await crew.pass_time(10)
    held = len(crew.disks["g4"].queue)
    crew.kill("g4")
    await crew.pass_time(15)
    assert held and crew.ghosts == ["g4"]
    assert "g4" not in (await crew.plan()).gatherers
    assert not crew.disks["g4"].queue
    assert not any(plan.lost for plan in crew.plans[1:])
    assert everything(crew) == sorted(keys_of("giant.example", 4000))
    assert crew.imbalance() <= 0.15


async def test_leader_gives_up_a_dead_member_whose_ghosts_come_to_nothing():
    """Its disk is there, but cannot be read: every ghost dies as it starts."""
    crew = await giant(*FIVE)
    await crew.pass_time(10)
    before = await crew.plan()

    async def stillborn(name: str) -> bool:
        crew.ghosts.append(name)
        return True

    crew.raise_ghost = stillborn
    for process in crew.processes.values():
        process.leader._config = replace(process.leader._config, ghost=stillborn)
        process.leader._term = None
    crew.kill("g4")
    await crew.pass_time(SETTINGS.recover_s + SETTINGS.lease_s + 3)
    plan = next(plan for plan in crew.plans if plan.epoch > before.epoch)
    assert len(crew.ghosts) > 2
    assert plan.lost == tuple(before.ranges_of("g4"))


async def test_leader_gives_up_at_once_what_was_on_a_disk_that_is_gone():
    """A member of the plan is back under its name, with an empty disk: waiting for it would not help."""
    crew = await giant(*FIVE)
    await crew.pass_time(10)
    before = await crew.plan()
    crew.reachable = False
    crew.kill("g4")
    await crew.space.out(Member("g4", "another run", state=MemberState.BLANK), ttl_s=60)
    await crew.pass_time(2)
    plan = next(plan for plan in crew.plans if plan.epoch > before.epoch)
    assert plan.lost == tuple(before.ranges_of("g4"))
    assert set(plan.gatherers) == set(FIVE)


async def test_leader_gives_a_dead_member_up_only_after_a_while():
    crew = await giant(*FIVE)
    await crew.pass_time(10)
    before = await crew.plan()
    crew.reachable = False
    crew.kill("g4")
    await crew.pass_time(SETTINGS.recover_s)
    assert (await crew.plan()).epoch == before.epoch
    await crew.pass_time(SETTINGS.lease_s + 2)
    plan = next(plan for plan in crew.plans if plan.epoch > before.epoch)
    assert plan.lost == tuple(before.ranges_of("g4"))
    assert "g4" not in plan.gatherers
    assert not any(move.winner == "g4" for move in plan.moves)
    for low, high, owner in before.ranges():
        assert owner == "g4" or keyspace.intersect([(low, high)], plan.ranges_of(owner)) == ((low, high),), (
            "nothing else"
        )
    assert (await crew.plan()).epoch >= plan.epoch


async def test_leader_gives_up_what_a_dead_member_had_still_to_hand_over():
    """g2 dies when it has adopted a plan that takes ranges from it, before its parts reach anyone."""
    crew = await giant("g1", "g2", "g3")
    await crew.pass_time(10)
    before = await crew.plan()
    crew.reachable = False
    crew.kill("g2")
    # a plan in which g2 loses everything is in force, but not committed
    posted = await crew.posted()
    assert posted is not None
    g1 = before.gatherers.index("g1")
    owners = tuple(g1 if before.gatherers[owner] == "g2" else owner for owner in before.owners)
    moved = Plan(before.epoch + 1, before.gatherers, before.cuts, owners)
    moved = Plan(before.epoch + 1, before.gatherers, before.cuts, owners, moves=tuple(diff(before, moved)))
    await crew.space.out(PlanPosted(moved.epoch, posted.term, moved.encode()))
    await crew.pass_time(10)
    assert crew.disks["g1"].awaited == tuple(before.ranges_of("g2"))
    await crew.pass_time(SETTINGS.recover_s)
    plan = await crew.plan()
    assert plan.gatherers == ("g1", "g3")
    assert any(set(before.ranges_of("g2")) <= set(each.lost) for each in crew.plans)
    assert crew.disks["g1"].awaited == ()


async def test_leader_takes_back_a_member_that_returns_in_time():
    crew = await giant("g1", "g2", "g3")
    await crew.pass_time(10)
    before = await crew.plan()
    crew.processes["g2"].frozen = True
    await crew.pass_time(10)
    assert (await crew.plan()).epoch == before.epoch
    crew.processes["g2"].frozen = False
    await crew.pass_time(5)
    assert (await crew.plan()).epoch == before.epoch
    assert crew.ghosts == []


async def test_next_leader_goes_on_from_the_board():
    crew = await giant(*FIVE)
    await crew.until(lambda: bool(crew.leaders()))
    for _ in range(3):
        old = crew.leaders()[0]
        announced = await crew.space.read(template(Announcement))
        crew.processes[old].frozen = True
        await crew.until(lambda old=old: crew.leaders() not in ([], [old]), 10)
        crew.processes[old].frozen = False
        await crew.pass_time(1)
        assert crew.leaders() != [old]
    await crew.pass_time(20)
    assert announced is None or announced.term < (await crew.space.read(template(LeaderLease))).term
    assert (await crew.plan()).gatherers == FIVE
    assert crew.imbalance() <= 0.15


async def test_paused_leader_that_comes_back_publishes_nothing():
    """Its own clock stood still with it, so it believes to lead; the whiteboard knows better."""
    crew = Crew(SETTINGS)
    space = MemorySpace(crew.board, "old")
    frozen = crew.clock.now()
    old = Candidate(space, "old", crew.config, lambda: frozen)
    await old.step()
    assert old.leads
    crew.clock.advance(SETTINGS.lease_s + 1)
    crew.start("g1", "g2")
    for process in crew.processes.values():
        await process.step()
    assert old.leads, "by its own clock"
    await old.step()
    assert await crew.posted() is None
    await crew.pass_time(5)
    term = (await crew.posted()).term
    await old.step()
    assert (await crew.posted()).term == term
    assert not old.leads or (await crew.space.read(template(LeaderLease))).gatherer != "old"


async def test_leader_that_is_cancelled_resigns():
    crew = Crew(SETTINGS)
    crew.start("g1")
    leader = crew.processes["g1"].leader
    running = asyncio.create_task(leader.run())
    assert await crew.space.read(template(LeaderLease), timeout_s=None) == LeaderLease("g1", 1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await crew.space.read(template(LeaderLease)) is None


async def test_leader_ends_the_crawl_when_all_is_done():
    crew = Crew(SETTINGS, speed=5, expected=3, finds=lambda key: [key + b"x"] if len(key) < 60 else [])
    await crew.space.out(Seeds([f"http://h{n}.example/" for n in range(10)]), to="seeds")
    crew.start("g1", "g2", "g3")
    for _ in range(200):
        await crew.pass_time(0.5)
        if await crew.state() is CrawlState.DONE:
            break
        assert any(disk.queue or disk.inbox or disk.held for disk in crew.disks.values()) or crew.clock.now() < 60
    assert await crew.state() is CrawlState.DONE
    assert not any(disk.queue or disk.inbox for disk in crew.disks.values())
    assert sum(len(disk.done) for disk in crew.disks.values()) > 300


@pytest.mark.parametrize("hindrance", ["seeds", "paused", "dead", "unsettled", "stopping"])
async def test_leader_does_not_end_a_crawl(hindrance):
    crew = Crew(SETTINGS, expected=2)
    crew.start("g1", "g2")
    state = CrawlState.RUNNING
    if hindrance == "seeds":  # a helper holds them, say
        await crew.space.out(Seeds(["http://a.example/"]), to="seeds")
        await crew.space.take_many([template(Seeds)], at="seeds", limit=1, lease_s=1e6)
    elif hindrance in ("paused", "stopping"):
        state = CrawlState(hindrance)
        await crew.space.out(Control(state))
    else:
        await crew.pass_time(2)
        crew.reachable = False
        crew.processes["g2"].disk.awaited = ((b"a", b"b"),) if hindrance == "unsettled" else ()
        if hindrance == "dead":
            crew.kill("g2")
    await crew.pass_time(10)
    assert await crew.state() is state


async def test_leader_heeds_a_call_once():
    crew = await giant("g1", "g2", pages=20)
    await crew.pass_time(5)
    before = await crew.plan()
    await crew.space.out(RebalanceCall("user", "because"), to="leader")
    await crew.pass_time(3)
    after = await crew.plan()
    assert after.epoch == before.epoch + 1
    assert "asked: user because" in crew.rounds.values()
    assert await crew.space.count(template(RebalanceCall), at="leader") == 0
    assert crew.imbalance() <= 0.5


async def test_leader_plans_without_a_member_that_does_not_reply():
    crew = await giant("g1", "g2", "g3")
    await crew.pass_time(10)
    held = dict(crew.queued())
    crew.deaf = "g2"
    crew.start("g4")
    await crew.pass_time(15)
    plan = await crew.plan()
    assert "g4" in plan.gatherers
    assert crew.queued()["g4"] > 0
    assert crew.queued()["g2"] > held["g2"] / 2


async def test_leader_rebalances_when_the_users_expression_holds():
    settings = replace(SETTINGS, idle_urls=10**9, trigger="members == 2 and imbalance > 0.9")
    crew = await giant("g1", "g2", settings=settings)
    await crew.pass_time(8)
    assert crew.rounds[1] == f"trigger: {settings.trigger}"
    assert crew.imbalance() <= 0.15


async def test_leader_learns_hot_pages_while_the_crawl_goes_on():
    """Nobody has a reason to rebalance: it asks for them, adds up what it is told, and shares the most linked."""
    crew = await giant("g1", "g2", "g3", settings=replace(SETTINGS, hot_pages=2))
    await crew.pass_time(20)
    before = await crew.plan()
    assert before.hot_pages == ()
    crew.hot = {"g1": [("http://a/", 5), ("http://b/", 4)], "g2": [("http://b/", 4), ("http://c/", 6)]}
    await crew.pass_time(2 * MOST_SURVEYS * SETTINGS.rebalance_s)
    plan = await crew.plan()
    assert plan.hot_pages == ("http://b/", "http://c/")
    assert (plan.cuts, plan.owners, plan.moves) == (before.cuts, before.owners, ())
    assert "survey" in crew.rounds.values()


async def test_leader_does_not_wait_after_a_plan_that_moves_nothing():
    """New hot pages disturb nobody: whoever has little to do right after them need not wait for the next rebalance."""
    crew = await giant("g1", "g2", "g3", settings=replace(SETTINGS, hot_pages=2))
    await crew.pass_time(20)
    crew.hot = {"g1": [("http://a/", 5), ("http://b/", 4)]}
    await crew.until(lambda: bool(crew.plans[-1].hot_pages))
    crew.disks["g2"].queue = set(sorted(crew.disks["g2"].queue)[:20])
    await crew.pass_time(3)
    assert crew.plans[-1].moves and crew.rounds[max(crew.rounds)] == "idle: g2"


async def test_leader_refuses_an_expression_that_cannot_be_read():
    with pytest.raises(SettingsError, match=r"character 1.*queud"):
        Crew(replace(SETTINGS, trigger="queud > 3"))


async def test_leader_puts_back_a_plan_that_the_whiteboard_has_forgotten():
    crew = await giant("g1", "g2")
    await crew.pass_time(10)
    before = await crew.plan()
    await crew.space.remove(template(PlanPosted))
    await crew.pass_time(1)
    assert await crew.plan() == before


async def test_follower_puts_back_a_plan_that_the_leader_never_saw():
    crew = await giant("g1", "g2")
    await crew.pass_time(10)
    before = await crew.plan()
    follower = next(name for name in crew.processes if name not in crew.leaders())
    leader = crew.leaders()[0]
    newer = Plan(before.epoch + 5, before.gatherers, before.cuts, before.owners)
    crew.processes[leader].frozen = True
    await crew.space.out(PlanPosted(newer.epoch, 1, newer.encode(), committed=True))
    await crew.pass_time(0.5)  # the follower reads it, and then the whiteboard forgets it
    assert crew.disks[follower].plan == newer
    posted = PlanPosted(before.epoch, 1, before.encode(), committed=True)
    await crew.space.out(posted)
    crew.processes[leader].frozen = False
    await crew.pass_time(8)
    assert (await crew.plan()).epoch == newer.epoch


async def test_healthy_crawl_is_not_rebalanced_for_ever():
    crew = await giant(*FIVE, pages=6000, speed=2)
    await crew.pass_time(500)
    assert len(crew.plans) <= 12
    assert await crew.state() is CrawlState.RUNNING or not any(crew.queued().values())
    late = [plan for plan in crew.plans[6:] if plan.moves]
    assert len(late) <= 4


# -- other versions, and a crawl that stands still ---------------------------------------------------------


@pytest.fixture
def version_99(monkeypatch):
    """Writes a tuple as a later version of GCS would."""

    async def out(space, item):
        with monkeypatch.context() as later:
            later.setitem(codec._headers, type(item), (bytes((item.code, 99)),) * 2)
            await space.out(item)

    return out


@pytest.mark.parametrize("kind", ["member", "plan"])
async def test_leader_that_cannot_read_the_board_resigns_and_changes_nothing(version_99, kind):
    """It must take no newer heartbeat for a missing gatherer, and put no plan of its own in place of a newer one."""
    crew = await giant("g1", "g2")
    await crew.pass_time(10)
    before, plans = await crew.posted(), len(crew.plans)
    newer = Member("g9", "run") if kind == "member" else PlanPosted(before.epoch + 1, 9, b"later")
    await version_99(crew.space, newer)
    await crew.pass_time(SETTINGS.lease_s)
    assert crew.leaders() == []
    assert crew.ghosts == []
    assert len(crew.plans) == plans
    assert await crew.space.count(template(type(newer))) == (3 if kind == "member" else 1)
    assert await crew.posted() == (before if kind == "member" else None)


async def test_leader_that_cannot_read_a_plan_resigns():
    """Its tuple can be read, but not what it holds."""
    crew = await giant("g1", "g2")
    await crew.pass_time(10)
    plan = (await crew.posted()).plan
    await crew.space.out(PlanPosted(99, 9, b"\xff" + plan[1:]))
    leader = crew.processes[crew.leaders()[0]].leader
    await leader.step()
    assert not leader.leads
    assert (await crew.posted()).epoch == 99


async def test_team_in_which_nobody_can_lead_is_stopped(version_99):
    crew = await giant("g1", "g2", settings=replace(SETTINGS, recover_s=5.0))
    await crew.pass_time(10)
    await version_99(crew.space, Member("g9", "run"))
    await crew.pass_time(30)
    control = await crew.space.read(template(Control))
    assert (control.state, control.reason) == (CrawlState.STOPPING, "stuck")
    assert "install one version everywhere" in control.detail


@pytest.mark.parametrize(
    ("unread", "why"), [(2, "cannot be read by g1 (2)"), (0, "nobody takes the messages of g1 (3)")]
)
async def test_crawl_in_which_everybody_waits_is_stopped(unread, why):
    board = MemoryBoard(clock := TickingClock())
    space = MemorySpace(board, "g1")
    plan = Plan(1, ("g1", "g2"), (FIRST_KEY, b"m"), (0, 1))
    await space.out(PlanPosted(1, 1, plan.encode(), committed=True))
    settings = replace(SETTINGS, recover_s=20.0)
    leader = Candidate(space, "g1", LeaderConfig(settings=settings, ghost=_no_ghost, random=Random(1)), clock.now)

    async def live(
        seconds: float, received: int = 0, state: CrawlState = CrawlState.RUNNING, there: str = "g1 g2"
    ) -> CrawlState:
        await space.out(Control(state))
        for _ in range(round(seconds)):
            for name, kept in ((name, 3 if name == "g1" else 0) for name in there.split()):
                figures = {"waits": 1.0, "outbox": kept, "unread": unread if kept else 0}
                beat = int(clock.now())
                told = Member(name, "r", "", 1, 1, "running", not kept, 5, received, figures=figures, beat=beat)
                await space.out(told, ttl_s=settings.lease_s)
            await leader.step()
            clock.advance(1.0)
        return (await space.read(template(Control))).state

    assert await live(15) is CrawlState.RUNNING
    assert await live(15, received=1) is CrawlState.RUNNING, "something has moved"
    assert await live(60, received=2, state=CrawlState.PAUSED) is CrawlState.PAUSED
    await space.out(PlanPosted(1, 1, plan.encode(), committed=False))
    assert await live(15, received=2) is CrawlState.RUNNING
    await space.take(template(Member, gatherer="g2"))
    assert await live(40, received=2, there="g1") is CrawlState.RUNNING, "g2 may come back"
    assert await live(15, received=3) is CrawlState.RUNNING
    assert await live(8, received=3) is CrawlState.STOPPING
    control = await space.read(template(Control))
    assert control.reason == "stuck"
    assert why in control.detail


async def _no_ghost(_name: str) -> bool:
    return False
