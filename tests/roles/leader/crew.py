"""Gatherers without a web: they hold keys, work them off, hand them over, and speak the protocol on a whiteboard.

What a member holds is its disk: it survives a kill, and a ghost goes on from it. A block between members waits in the
inbox of its receiver; its sender is not passive until it is taken.
"""

import random
from collections.abc import Callable
from dataclasses import replace

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Announcement, Control, CrawlState, Member, MemberState, PlanPosted, Seeds
from gcs.core.messages.tuples import StatisticsReply as Reply
from gcs.core.plan import keyspace
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.tree import tree as trees
from gcs.core.tree.statistics import SuperpageStatistics
from gcs.core.tree.tree import UrlTree
from gcs.core.url.sortkey import sort_key
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.ports.space.port import Space
from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.leader import Leader
from tests.ports.space.ticking_clock import TickingClock

Finds = Callable[[bytes], list[bytes]]


def keys_of(host: str, pages: int) -> list[bytes]:
    """Keys of a host with folders in folders."""
    return [sort_key(f"http://{host}/d{n % 40:02}/e{n % 7}/p{n}") for n in range(pages)]


class Disk:
    """What of a member survives it."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.queue: set[bytes] = set()
        self.done: set[bytes] = set()
        self.awaited: keyspace.Ranges = ()
        #: keys for ranges that are awaited
        self.held: set[bytes] = set()
        #: everything that was fetched here, with its links: the record log
        self.log: dict[bytes, list[bytes]] = {}
        #: (sender, queued, done, closed range)
        self.inbox: list[tuple[str, set[bytes], set[bytes], tuple[bytes, bytes] | None]] = []


class Process:
    """A run of a member, and its candidate for the lead."""

    def __init__(self, crew: "Crew", name: str, space: Space, state: MemberState = MemberState.RUNNING) -> None:
        self.crew, self.name, self.space, self.state = crew, name, space, state
        self.disk = crew.disks.setdefault(name, Disk())
        self.run = f"{crew.random.getrandbits(32):x}"
        self.frozen = False
        self.beats = self.sent = self.received = self.answered = 0
        self.rescan = False
        self.posted: PlanPosted | None = None
        config = replace(crew.config, expected=crew.expected, known_plan=lambda: self.posted)
        self.leader = Leader(space, name, config, crew.now)

    async def step(self) -> None:
        """One beat of the gatherer."""
        await self._adopt()
        self._receive()
        if not await self._taken_seeds() and self.state == MemberState.RUNNING:
            self._work()
        await self._answer()
        await self._beat()

    async def _adopt(self) -> None:
        posted = await self.space.read(template(PlanPosted))
        if posted is None or (self.disk.plan is not None and posted.epoch <= self.disk.plan.epoch):
            self.posted = posted if posted and self.disk.plan and posted.epoch == self.disk.plan.epoch else self.posted
            return
        disk, old, plan = self.disk, self.disk.plan, Plan.decode(posted.plan)
        had = keyspace.unite(old.ranges_of(self.name)) if old else ()
        has = keyspace.unite(plan.ranges_of(self.name))
        self.posted, disk.plan = posted, plan
        won = keyspace.subtract(has, had)
        disk.awaited = keyspace.subtract(keyspace.unite([*keyspace.intersect(disk.awaited, has), *won]), plan.lost)
        self.rescan = self.rescan or bool(plan.lost)
        for low, high, winner in plan.ranges():
            for part in keyspace.intersect([(low, high)], had) if winner != self.name else ():
                queued = {key for key in disk.queue if part[0] <= key < part[1]}
                done = {key for key in disk.done if part[0] <= key < part[1]}
                disk.queue -= queued
                disk.done -= done
                self._send(winner, queued, done, part)
        self._recall(plan)

    def _recall(self, plan: Plan) -> None:
        """Take back what nobody will take any more."""
        for name, disk in self.crew.disks.items():
            for block in [block for block in disk.inbox if block[0] == self.name]:
                if name not in plan.gatherers and name not in plan.leavers and name not in self.crew.processes:
                    disk.inbox.remove(block)
                    self._route(block[1] | block[2])

    def _receive(self) -> None:
        inbox, self.disk.inbox = self.disk.inbox, []
        for _, queued, done, closed in inbox:
            self.received += 1
            self.disk.done |= done
            if closed:
                self.disk.awaited = keyspace.subtract(self.disk.awaited, [closed])
            self._route(queued)
        held, self.disk.held = self.disk.held, set()
        self._route(held)
        if self.rescan:
            self.rescan = False
            self._route({link for links in self.disk.log.values() for link in links})

    def _work(self) -> None:
        own = [key for key in sorted(self.disk.queue) if not keyspace.contains(self.disk.awaited, key)]
        for key in own[: self.crew.speeds.get(self.name, self.crew.speed)]:
            self.disk.queue.discard(key)
            self.disk.done.add(key)
            self.disk.log[key] = self.crew.finds(key)
            self._route(set(self.disk.log[key]))

    def _route(self, keys: set[bytes]) -> None:
        plan, away = self.disk.plan, dict[str, set[bytes]]()
        for key in keys:
            owner = plan.owner_of(key) if plan else self.name
            if owner != self.name:
                away.setdefault(owner, set()).add(key)
            elif keyspace.contains(self.disk.awaited, key):
                self.disk.held.add(key)
            elif key not in self.disk.done:
                self.disk.queue.add(key)
        for owner, links in away.items():
            self._send(owner, links, set(), None)

    def _send(self, to: str, queued: set[bytes], done: set[bytes], closed: tuple[bytes, bytes] | None) -> None:
        self.sent += 1
        self.crew.disks.setdefault(to, Disk()).inbox.append((self.name, queued, done, closed))

    async def _taken_seeds(self) -> bool:
        if self.disk.plan is None or not self.disk.plan.ranges_of(self.name):
            return False
        taken = await self.space.take_many([template(Seeds)], at="seeds", limit=1)
        for each in taken:
            self._route({sort_key(url) for url in each.item.urls})
        await self.space.ack(taken)
        return bool(taken)

    async def _answer(self) -> None:
        asked = await self.space.read(template(Announcement))
        if asked is None or asked.round <= self.answered or self.disk.plan is None or self.crew.deaf == self.name:
            return
        self.answered = asked.round
        plan, statistics = self.disk.plan, SuperpageStatistics()
        tree = UrlTree(plan.cuts, random.Random(1))
        for key in sorted(self.disk.queue | self.disk.done):
            tree.visit(key)
            statistics.found(tree.locate(key))
        for key in sorted(self.disk.done):
            statistics.fetched(self.name, tree.locate(key), 1000, 1 / self.crew.speeds.get(self.name, self.crew.speed))
        hot = self.crew.hot.get(self.name, [])
        reply = Reply(self.name, asked.round, plan.epoch, trees.encode(tree), statistics.encode(), hot=hot)
        await self.space.out(reply, ttl_s=600)

    async def _beat(self) -> None:
        disk, self.beats = self.disk, self.beats + 1
        outbox = [block for other in self.crew.disks.values() for block in other.inbox if block[0] == self.name]
        passive = not (disk.queue or disk.awaited or disk.held or disk.inbox or outbox or self.rescan or not disk.plan)
        epoch = disk.plan.epoch if disk.plan else 0
        owns = bool(disk.plan and self.name in disk.plan.gatherers)
        members = await self.space.scan(template(Member))
        if (
            self.state != MemberState.RUNNING
            and passive
            and not owns
            and all(member.epoch >= epoch for member in members if member.state != MemberState.GONE)
        ):
            self.state = MemberState.GONE
        await self.space.out(
            Member(
                self.name,
                self.run,
                epoch=epoch,
                settled_epoch=0 if disk.awaited or self.rescan else epoch,
                state=self.state,
                passive=passive,
                blocks_sent=self.sent,
                blocks_received=self.received,
                figures={"queued": len(disk.queue), "known": len(disk.queue) + len(disk.done), "pages": len(disk.done)},
                beat=self.beats,
            ),
            ttl_s=600 if self.state == MemberState.GONE else self.crew.settings.lease_s,
        )
        if self.state == MemberState.GONE:
            await self.leader.resign()
            del self.crew.processes[self.name]


class Crew:
    """All members of a crawl, in one process, on one clock."""

    def __init__(self, settings: TeamSettings, speed: int = 0, finds: Finds = lambda _: [], expected: int = 1) -> None:
        self.settings, self.speed, self.finds, self.expected = settings, speed, finds, expected
        self.clock = TickingClock()
        self.now: Callable[[], float] = self.clock.now
        self.board = MemoryBoard(self.clock)
        self.space = MemorySpace(self.board, "test")
        self.random = random.Random(5)
        self.disks: dict[str, Disk] = {}
        self.processes: dict[str, Process] = {}
        self.speeds: dict[str, int] = {}
        self.reachable = True
        #: one that never replies
        self.deaf = ""
        #: the foreign pages that members have met most
        self.hot: dict[str, list[tuple[str, int]]] = {}
        self.ghosts: list[str] = []
        self.plans: list[Plan] = []
        #: round → reason
        self.rounds: dict[int, str] = {}
        #: what a leader is given
        self.config = LeaderConfig(settings=settings, ghost=self.raise_ghost, random=random.Random(1))

    def start(self, *names: str) -> None:
        for name in names:
            self.processes[name] = Process(self, name, MemorySpace(self.board, name))

    def kill(self, name: str) -> None:
        """It is gone at this instant; its disk stays."""
        del self.processes[name]

    async def raise_ghost(self, name: str) -> bool:
        if not self.reachable or name in self.processes:
            return False
        self.ghosts.append(name)
        self.processes[name] = Process(self, name, MemorySpace(self.board, name), state=MemberState.GHOST)
        return True

    async def pass_time(self, seconds: float) -> None:
        """Let everyone beat and lead for so long."""
        for _ in range(round(seconds / self.settings.beat_s)):
            for process in list(self.processes.values()):
                if not process.frozen:
                    await process.step()
            for process in list(self.processes.values()):
                if not process.frozen and process.name in self.processes:
                    await process.leader.step()
            posted = await self.posted()
            if posted and (not self.plans or self.plans[-1].epoch != posted.epoch):
                self.plans.append(Plan.decode(posted.plan))
            announced = await self.space.read(template(Announcement))
            if announced:
                self.rounds[announced.round] = announced.reason
            self.clock.advance(self.settings.beat_s)

    async def until(self, true: Callable[[], bool], most_s: float = 200.0) -> None:
        """Let time pass until it is so."""
        for _ in range(round(most_s / self.settings.beat_s)):
            if true():
                return
            await self.pass_time(self.settings.beat_s)
        raise AssertionError(f"not within {most_s} s")

    async def posted(self) -> PlanPosted | None:
        return await self.space.read(template(PlanPosted))

    async def plan(self) -> Plan:
        """The plan in force, which must be committed."""
        posted = await self.posted()
        assert posted and posted.committed
        return Plan.decode(posted.plan)

    async def state(self) -> CrawlState:
        control = await self.space.read(template(Control))
        return control.state if control else CrawlState.RUNNING

    def leaders(self) -> list[str]:
        return [name for name, process in self.processes.items() if process.leader.leads]

    def queued(self) -> dict[str, int]:
        """Of those who run."""
        return {name: len(process.disk.queue) for name, process in sorted(self.processes.items())}

    def imbalance(self) -> float:
        queued = self.queued().values()
        return max(queued) * len(queued) / sum(queued) - 1
