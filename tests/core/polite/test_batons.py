"""Batons: owners of one host on a simulated whiteboard. Whatever fails, two starts are a delay apart."""

import heapq
import random
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from gcs.core.messages.tuples import Baton, BatonCall
from gcs.core.polite.batons import TURN_REQUESTS, Batons
from gcs.core.polite.politeness import Politeness, Sharing
from gcs.core.polite.window import Host, Window

HOST = "a.example"
LEASE_S = 2.0


class World:
    """Time, the whiteboard, and who listens. Messages take a random time, and longer while their owner is cut off."""

    def __init__(self, seed: int, delay_s: float, latency_s: float = 0.02) -> None:
        self.random, self.delay_s, self.latency_s = random.Random(seed), delay_s, latency_s
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = 0
        self.owners: list[Owner] = []
        self.starts: list[tuple[float, str]] = []
        self.posts = 0
        self.baton: Baton | None = None
        self.leases: dict[str, tuple[int, float]] = {}  # holder → number, expiry
        self._past: list[tuple[float, Baton | None, dict[str, tuple[int, float]]]] = []

    def at(self, moment: float, call: Callable[[], None]) -> None:
        self._serial += 1
        heapq.heappush(self._events, (moment, self._serial, call))

    def send(self, owner: "Owner", call: Callable[[], None]) -> None:
        """To or from an owner; what is cut off arrives when the link is mended, however late."""
        self.at(max(self.now, owner.cut_until) + self.random.uniform(0.1, 1.0) * self.latency_s, call)

    def run(self, until: Callable[[], bool], seconds: float) -> bool:
        end = self.now + seconds
        while self._events and not until():
            moment, _, call = heapq.heappop(self._events)
            if moment > end:
                heapq.heappush(self._events, (moment, 0, call))
                self.now = end
                return until()
            self.now = moment
            call()
        return until()

    # -- the whiteboard --------------------------------------------------------------------------------

    def post(self, item: Baton | BatonCall, before: Baton | None) -> bool:
        self.posts += 1
        if isinstance(item, Baton):
            if self.baton != before:
                return False
            self.baton = item
            self._past.append((self.now, self.baton, dict(self.leases)))
        for owner in self.owners:
            self.send(owner, lambda owner=owner: owner.hears(item))
        return True

    def renew(self, holder: str, number: int, anew: bool = False) -> bool:
        known = self.leases.get(holder)
        if not anew and (known is None or known[1] <= self.now or known[0] != number - 1):
            return False
        self.leases[holder] = number, self.now + LEASE_S
        return True

    def alive(self) -> list[str]:
        return [holder for holder, (_, expiry) in self.leases.items() if expiry > self.now]

    def flush(self) -> None:
        self.baton, self.leases = None, {}

    def roll_back(self, seconds: float) -> None:
        """A restart that forgets the last moments."""
        before = [past for past in self._past if past[0] <= self.now - seconds]
        _, self.baton, leases = before[-1] if before else (0.0, None, {})
        self.leases = dict(leases)


class Owner:
    """A gatherer as far as the host goes: its window, its batons, its clock."""

    def __init__(self, world: World, name: str, pages: int) -> None:
        self.world, self.name = world, name
        self.clock_s = world.random.uniform(-5_000.0, 5_000.0)
        rules = Politeness(delay_s=world.delay_s)
        self.window: Window[int] = Window(rules, not_before=self.clock)
        self.window.share({HOST: Sharing.SHARED}, self.clock)
        self.batons = Batons(name, LEASE_S, self.window)
        self.pages, self.done, self.number = pages, 0, 0
        self.cut_until = 0.0
        self.dead = False
        self._turn_at: float | None = None
        world.owners.append(self)
        self.window.arrived(HOST)
        self.lease()
        self.turn()

    @property
    def clock(self) -> float:
        return self.world.now + self.clock_s

    def hears(self, item: Baton | BatonCall) -> None:
        if not self.dead:
            self.batons.saw(item, self.clock) if isinstance(item, Baton) else self.batons.heard(item, self.clock)
            self.turn()

    def more(self, pages: int) -> None:
        self.pages += pages
        self.window.arrived(HOST)
        self.turn()

    def turn(self) -> None:
        if self.dead:
            return
        for host in list(self.window.hungry.values()):
            self.window.feed(host, range(self.pages), more=False)
            self.pages = 0
        for host, _ in self.window.release(self.clock, 1):
            self.window.begin(host, self.clock)
            self.world.starts.append((self.world.now, self.name))
            self.world.at(self.world.now + 0.001, lambda host=host: self.ended(host))
        for item, before in self.batons.steps(self.clock):
            self.world.send(self, lambda item=item, before=before: self._post(item, before))
        at = self.window.next_at()
        if at is not None and (self._turn_at is None or not self.clock < self._turn_at <= at):
            self._turn_at = at
            self.world.at(at - self.clock_s, self.turn)

    def ended(self, host: Host[int]) -> None:
        if not self.dead:
            self.done += 1
            self.window.ended(host, self.clock, "10.0.0.1", 200)
            self.turn()

    def _post(self, item: Baton | BatonCall, before: Baton | None) -> None:
        if not self.world.post(item, before):
            self.world.send(self, self.look)

    def look(self) -> None:
        """At the board, now; the answer comes back later."""
        batons: Iterable[Baton] = [self.world.baton] if self.world.baton else []
        alive = self.world.alive()

        def arrives() -> None:
            if not self.dead:
                self.batons.looked(batons, alive, self.clock)
                self.turn()

        self.world.send(self, arrives)

    def lease(self) -> None:
        if self.dead:
            return
        self.number += 1
        number, sent_at = self.number, self.clock

        def arrives() -> None:
            renewed = self.world.renew(self.name, number)
            if not renewed:
                self.world.renew(self.name, number, anew=True)
            self.world.send(self, lambda: answer(renewed))

        def answer(renewed: bool) -> None:
            if self.dead:
                return
            if not renewed:
                self.batons.lost()
            self.batons.renewed(sent_at + 0.8 * LEASE_S)
            if self.batons.wants_look(self.clock):
                self.world.send(self, self.look)
            self.turn()
            self.world.at(self.world.now + LEASE_S / 4, self.lease)

        self.world.send(self, arrives)


def least_gap(world: World) -> float:
    return min(later - earlier for (earlier, _), (later, _) in pairwise(world.starts))


@pytest.mark.parametrize("delay_s", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("queues", [(100,), (50, 50), (25, 25, 25, 25), (91, 3, 3, 3), (100, 0)])
def test_owners_waste_nothing_of_what_the_delay_allows(delay_s: float, queues: tuple[int, ...]) -> None:
    world = World(1, delay_s)
    for at, pages in enumerate(queues):
        Owner(world, f"g{at}", pages)
    assert world.run(lambda: sum(owner.done for owner in world.owners) == sum(queues), 1_000.0)
    used_s = (len(world.starts) - 1) * delay_s / (world.starts[-1][0] - world.starts[0][0])
    assert used_s >= (0.9 if delay_s < 0.1 else 0.97), "a page takes 1 ms, and a message up to 20 ms"
    assert least_gap(world) >= delay_s


def test_owner_that_is_alone_at_work_sends_no_messages() -> None:
    world = World(1, 0.2)
    alone, _ = Owner(world, "g0", 200), Owner(world, "g1", 0)
    assert world.run(lambda: alone.done == 200, 100.0)
    assert world.posts == 1, "the baton, once"


def test_owners_take_turns_of_some_requests_each() -> None:
    world = World(1, 0.2)
    owners = [Owner(world, f"g{at}", 10 * TURN_REQUESTS) for at in range(2)]
    assert world.run(lambda: all(owner.done == 10 * TURN_REQUESTS for owner in owners), 1_000.0)
    changes = sum(one != other for (_, one), (_, other) in pairwise(world.starts))
    assert 15 <= changes <= 20
    assert world.posts <= 2 * changes + 3, "a call and a baton for each turn"


def test_owner_that_has_run_dry_passes_the_baton_at_once_and_gets_it_back_when_it_calls() -> None:
    world = World(1, 0.2)
    one, other = Owner(world, "g0", 3), Owner(world, "g1", 0)
    assert world.run(lambda: one.done == 3, 10.0)
    for owner in (other, one, other, one):
        before, begun = owner.done, world.now
        owner.more(2)
        assert world.run(lambda owner=owner, before=before: owner.done == before + 2, 10.0)
        assert world.now - begun < 2 * world.delay_s + 0.2, "no lease had to end"
    assert least_gap(world) >= world.delay_s


def test_baton_that_was_passed_on_is_not_held_again_because_the_whiteboard_has_forgotten_it() -> None:
    window: Window[int] = Window(Politeness(delay_s=1.0))
    batons = Batons("me", LEASE_S, window)
    batons.renewed(100.0)
    batons.saw(mine := Baton(HOST, "me", 4), 1.0)
    batons.heard(BatonCall(HOST, "you"), 2.0)
    [(passed, before)] = batons.steps(3.0)
    assert (passed, before) == (Baton(HOST, "you", 5), mine)
    batons.looked([mine], ["me", "you"], 4.0)
    assert not window.batons
    batons.heard(BatonCall(HOST, "you"), 4.0)
    [(taken, before)] = batons.steps(5.0)
    assert isinstance(taken, Baton) and before == mine
    assert (taken.holder, taken.serial, taken.wait_s) == ("me", 5, LEASE_S + 1.0), "for you may hold it now"


FAULTS = ("kill", "join", "cut", "flush", "roll back", "work")


@pytest.mark.parametrize("seed", range(60))
def test_starts_are_a_delay_apart_whatever_fails(seed: int) -> None:
    """Owners die, come, are cut off; the whiteboard forgets everything, or its last moments; no two clocks agree."""
    chance = random.Random(seed)
    world = World(seed, chance.choice([0.05, 0.2, 1.0]), chance.choice([0.005, 0.1, 0.4]))
    for at in range(3):
        Owner(world, f"g{at}", 100)
    for event in range(20):
        world.run(lambda: False, chance.uniform(0.0, 2.0))
        owner, fault = chance.choice([owner for owner in world.owners if not owner.dead]), chance.choice(FAULTS)
        if fault == "kill" and sum(not owner.dead for owner in world.owners) > 1:
            owner.dead = True
        elif fault == "join":
            Owner(world, f"h{event}", 50)
        elif fault == "cut":
            owner.cut_until = world.now + chance.uniform(0.1, 2 * LEASE_S)
        elif fault == "flush":
            world.flush()
        elif fault == "roll back":
            world.roll_back(chance.uniform(0.0, 1.5))
        else:
            owner.more(20)
    assert world.run(lambda: all(owner.dead or not owner.window.waiting for owner in world.owners), 3_000.0)
    assert least_gap(world) >= world.delay_s
