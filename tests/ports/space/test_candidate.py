"""Election on the whiteboard: one leader at a time, and a leader that was away cannot publish."""

import asyncio
import random

from gcs.core.messages.template import template
from gcs.core.messages.tuples import LeaderLease, PlanPosted
from gcs.ports.space.candidate import Candidate
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.ports.space.port import IfHolds
from tests.ports.space.ticking_clock import TickingClock

LEASE_S = 10.0


class Hall:
    """Candidates on one board; each has a clock of its own that can be stopped (a paused process)."""

    def __init__(self, *names: str) -> None:
        self.clock = TickingClock(100.0)
        self.board = MemoryBoard(self.clock)
        self.candidates = {
            name: Candidate(MemorySpace(self.board, name), name, LEASE_S, self.clock.now) for name in names
        }

    async def step(self, *names: str) -> list[str]:
        """Let these (or all) take a step; returns who leads by its own opinion."""
        return [name for name in names or self.candidates if await self.candidates[name].step()]


async def test_candidate_first_to_stand_leads_and_the_others_follow():
    hall = Hall("g1", "g2", "g3")
    assert await hall.step() == ["g1"]
    assert await hall.step() == ["g1"]
    assert hall.candidates["g2"].seen == LeaderLease("g1", 1)


async def test_candidate_renews_and_stays():
    hall = Hall("g1", "g2")
    for _ in range(20):
        assert await hall.step() == ["g1"]
        hall.clock.advance(LEASE_S / 3)
    assert hall.candidates["g1"].leading().term == 1


async def test_candidate_that_is_gone_is_followed_by_another_with_a_higher_term():
    hall = Hall("g1", "g2")
    await hall.step()
    hall.clock.advance(LEASE_S / 2)
    assert await hall.step("g2") == []
    hall.clock.advance(LEASE_S / 2)
    assert await hall.step("g2") == ["g2"]
    assert hall.candidates["g2"].leading().term == 2


async def test_leader_that_was_paused_knows_it_and_cannot_publish():
    hall = Hall("g1", "g2")
    await hall.step()
    old = hall.candidates["g1"].leading()
    hall.clock.advance(LEASE_S)
    assert hall.candidates["g1"].leading() is None, "by its own clock"
    await hall.step("g2")
    space = MemorySpace(hall.board, "g1")
    assert (await space.out(PlanPosted(1, old.term, b""), given=IfHolds(old))).refused
    assert await hall.step() == ["g2"]


async def test_leader_that_was_paused_and_found_no_successor_stands_again_with_a_new_term():
    hall = Hall("g1")
    await hall.step()
    old = hall.candidates["g1"].leading()
    hall.clock.advance(2 * LEASE_S)
    assert await hall.step() == [], "it learns that its lease has gone"
    assert await hall.step() == ["g1"]
    assert hall.candidates["g1"].leading().term == old.term + 1
    space = MemorySpace(hall.board, "g1")
    assert (await space.out(PlanPosted(1, old.term, b""), given=IfHolds(old))).refused


async def test_leader_resigns_at_once():
    hall = Hall("g1", "g2")
    await hall.step()
    await hall.candidates["g1"].resign()
    assert hall.candidates["g1"].leading() is None
    assert await hall.step("g2") == ["g2"]
    await hall.candidates["g1"].resign()
    assert await hall.step("g2") == ["g2"], "resigning twice takes nobody else's lease"


async def test_terms_rise_even_if_the_space_forgot_them():
    hall = Hall("g1", "g2")
    for _ in range(3):
        await hall.step("g1")
        await hall.step("g2")
        await hall.candidates["g1"].resign()
    hall.board.tickets.clear()
    assert await hall.step("g2") == ["g2"]
    assert hall.candidates["g2"].leading().term == 4


async def test_never_two_leaders_however_steps_and_pauses_fall():
    """Whoever may act by its own clock is the one whose tuple is on the board."""
    rng = random.Random(7)
    hall = Hall("g1", "g2", "g3", "g4")
    reigns = set()
    for _ in range(3000):
        hall.clock.advance(rng.choice([0.1, 0.5, 1.0, LEASE_S / 3, LEASE_S]))
        await hall.step(rng.choice(list(hall.candidates)))
        leading = [leader for each in hall.candidates.values() if (leader := each.leading())]
        assert len(leading) <= 1
        if leading:
            board = await MemorySpace(hall.board, "x").read(template(LeaderLease))
            assert board == leading[0]
            reigns.add(leading[0].term)
    assert len(reigns) > 20


async def test_candidates_on_redis_elect_one(on_redis):
    spaces = [await on_redis.open(f"g{number}") for number in range(4)]
    clock = asyncio.get_running_loop().time
    candidates = [Candidate(space, space.name, LEASE_S, clock) for space in spaces]
    leaders = await asyncio.gather(*(candidate.step() for candidate in candidates))
    (leader,) = [each for each in leaders if each]
    assert await spaces[0].read(template(LeaderLease)) == leader
    assert not (await spaces[0].out(PlanPosted(1, leader.term, b""), given=IfHolds(leader))).refused
    winner = candidates[leaders.index(leader)]
    await winner.resign()
    assert (await spaces[0].out(PlanPosted(2, leader.term, b""), given=IfHolds(leader))).refused
    again = [each for each in await asyncio.gather(*(candidate.step() for candidate in candidates)) if each]
    assert [each.term > leader.term for each in again] == [True]


async def test_leader_keeps_its_lease_during_a_step_that_is_longer_than_that():
    """A step over a slow line, or one that computes a plan: the lease is renewed beside it."""
    board = MemoryBoard(clock := TickingClock())
    candidate = Candidate(MemorySpace(board, "g1"), "g1", 0.2, clock.now)
    first = await candidate.step()
    keeper = asyncio.create_task(candidate.keep())
    for _ in range(8):
        clock.advance(0.1)
        async with asyncio.timeout(10):
            while candidate._tenure.since < clock.now():
                await asyncio.sleep(0.005)
    keeper.cancel()
    assert first == candidate.leading() == await MemorySpace(board, "g2").read(template(LeaderLease))


async def test_leader_whose_lease_the_whiteboard_has_forgotten_stands_again_at_once():
    hall = Hall("g1")
    await hall.step()
    await MemorySpace(hall.board, "x").take(template(LeaderLease))
    hall.candidates["g1"].forget()
    assert hall.candidates["g1"].leading() is None
    assert await hall.step() == ["g1"]
    assert hall.candidates["g1"].leading().term == 2
