"""Any interleaving of out, take, ack, renew, release, crash and claim: nothing is lost, each tuple is completed once.

The receivers are idempotent: what they have done is a set, and it is changed before the ack, so that a crash between
the two repeats the work without repeating its effect. Senders lose receipts and send again. At the end all that is left
is taken and finished, and then the books must balance.
"""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Coroutine
from copy import deepcopy
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gcs.core.messages.outbox import Outbox
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Link, UrlBlock
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.ports.space.port import Flow, Handle, Numbered, Space, Taken
from gcs.ports.space.redis_space import open_space
from tests.ports.space.ticking_clock import TickingClock

URLS = template(UrlBlock)
SENDERS, TAKERS = ("s1", "s2"), ("g1", "g2", "g3")
#: a lease that nobody outlives in a test, and one that has ended after a tick
LONG_S, SHORT_S = 3600.0, 0.001

senders, takers, few = st.sampled_from(SENDERS), st.sampled_from(TAKERS), st.integers(1, 4)


class Machine(RuleBasedStateMachine):
    """The model: who holds what, what was done, and what was acked."""

    limits: ClassVar[SpaceSettings] = SpaceSettings(inbox_bytes=600, max_deliveries=5)

    def open(self, name: str) -> Space:
        raise NotImplementedError

    def tick(self) -> None:
        """Every lease of SHORT_S ends."""
        raise NotImplementedError

    def run(self, verb: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(verb)

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.spaces = {name: self.open(name) for name in (*SENDERS, *TAKERS)}
        self.outboxes: dict[str, Outbox[UrlBlock]] = {name: Outbox() for name in SENDERS}
        self.added = dict.fromkeys(SENDERS, 0)
        self.held: dict[str, list[Taken[UrlBlock]]] = {name: [] for name in TAKERS}
        #: whose lease each tuple is under; `held` may also name tuples whose lease somebody else has by now
        self.owner: dict[Handle, str] = {}
        self.deliveries: Counter[tuple[str, int]] = Counter()
        self.done: set[tuple[str, int]] = set()
        self.completed = 0

    @rule(sender=senders, count=few)
    def add(self, sender: str, count: int) -> None:
        for _ in range(count):
            self.added[sender] += 1
            links = [Link(f"http://{sender}/{self.added[sender]}")]
            self.outboxes[sender].add(UrlBlock(self.added[sender], links))

    @rule(sender=senders, count=few, receipt_is_lost=st.booleans())
    def out(self, sender: str, count: int, receipt_is_lost: bool) -> None:
        outbox = self.outboxes[sender]
        parcel = outbox.shipment(count)
        numbered = Numbered(sender, parcel.base, parcel.first)
        receipt = self.run(self.spaces[sender].out_many(UrlBlock, parcel.blocks, to="inbox", numbered=numbered))
        if not receipt_is_lost:
            for block in outbox.settle(receipt.sent, receipt.committed):
                assert (sender, block.epoch) in self.done, "dropped before it was done"

    @rule(taker=takers, count=few, lapsed=st.booleans())
    def take(self, taker: str, count: int, lapsed: bool) -> None:
        if lapsed:
            self.tick()
        lease_s = SHORT_S if lapsed else LONG_S
        taken = self.run(self.spaces[taker].take_many([URLS], at="inbox", limit=count, lease_s=lease_s))
        assert len(taken) <= count
        for each in taken:
            assert each.number == each.item.epoch
            assert lapsed or self.owner.get(each.handle, taker) == taker, "held by two within its lease"
            self.owner[each.handle] = taker
            self.deliveries[each.sender, each.number] += 1
        self.held[taker] += taken

    @rule(taker=takers, count=few, crash_before_ack=st.booleans())
    def finish(self, taker: str, count: int, crash_before_ack: bool) -> None:
        batch, self.held[taker] = self.held[taker][:count], self.held[taker][count:]
        self.done |= {(each.sender, each.number) for each in batch}
        if crash_before_ack:
            self.crash(taker)
        else:
            self.completed += self.run(self.spaces[taker].ack(batch))

    @rule(taker=takers)
    def crash(self, taker: str) -> None:
        """The process is gone with all it held; a new one of the same name takes its place."""
        self.held[taker] = []
        self.run(self.spaces[taker].close())
        self.spaces[taker] = self.open(taker)

    @rule(taker=takers, count=few)
    def release(self, taker: str, count: int) -> None:
        batch, self.held[taker] = self.held[taker][:count], self.held[taker][count:]
        self.run(self.spaces[taker].release(batch))
        for each in batch:
            if self.owner.get(each.handle) == taker:
                del self.owner[each.handle]

    @rule(taker=takers)
    def renew(self, taker: str) -> None:
        still = self.run(self.spaces[taker].renew(self.held[taker]))
        assert all(self.owner.get(each.handle, taker) == taker for each in still)
        self.held[taker] = still

    @invariant()
    def books_balance(self) -> None:
        if not hasattr(self, "spaces"):
            return
        space = self.spaces["s1"]
        flows = self.run(space.flows(UrlBlock, at="inbox"))
        waiting = self.run(space.scan(URLS, at="inbox"))
        assert sum(flow.sent for flow in flows.values()) == self.completed + len(waiting) + len(self.dead())
        for sender, flow in flows.items():
            assert 0 <= flow.committed <= flow.sent <= self.added[sender]

    def check_completions(self, everything: set[tuple[str, int]], dead: set[tuple[str, int]]) -> None:
        assert self.completed + len(dead) == len(everything), "completed more or less than once"

    def dead(self) -> set[tuple[str, int]]:
        return {(letter.sender, letter.number) for letter in self.run(self.spaces["s1"].dead_letters("inbox"))}

    def teardown(self) -> None:
        if not hasattr(self, "spaces"):
            return
        for _ in range(100):
            kept = {(sender, block.epoch) for sender, outbox in self.outboxes.items() for block in outbox.kept()}
            if kept <= self.done | self.dead() and not self.run(self.spaces["s1"].scan(URLS, at="inbox")):
                break
            for sender in SENDERS:
                self.out(sender, 50, receipt_is_lost=False)
            self.take("g1", 50, lapsed=True)
            self.finish("g1", 50, crash_before_ack=False)
        everything = {(sender, number) for sender in SENDERS for number in range(1, self.added[sender] + 1)}
        dead = self.dead()
        assert everything == self.done | dead, "lost"
        self.check_completions(everything, dead)
        assert all(self.deliveries[each] >= self.limits.max_deliveries for each in dead), "given up too early"
        space = self.spaces["s1"]
        first_dead = {sender: min((n for name, n in dead if name == sender), default=0) for sender in SENDERS}
        flows = {
            name: Flow(number, first_dead[name] - 1 if first_dead[name] else number)
            for name, number in self.added.items()
            if number
        }
        assert {k: v for k, v in self.run(space.flows(UrlBlock, at="inbox")).items() if v.sent} == flows
        assert [inbox.size_bytes for inbox in self.run(space.inbox_sizes()) if inbox.kind == "urls"] in ([0], [])
        for each in self.spaces.values():
            self.run(each.close())
        self.loop.close()


class MemoryMachine(Machine):
    def open(self, name: str) -> Space:
        if not hasattr(self, "board"):
            self.clock = TickingClock()
            self.board = MemoryBoard(self.clock, self.limits)
        return MemorySpace(self.board, name)

    def tick(self) -> None:
        self.clock.advance(2 * SHORT_S)


class ForgetfulMachine(MemoryMachine):
    """The server crashes and falls back to an earlier state of itself, as with appendfsync everysec.

    Acks that it forgot are made again, so completions cannot be counted; but still nothing is lost.
    """

    memory: tuple[Any, Any] | None = None

    @rule()
    def remember(self) -> None:
        """What has reached the disk."""
        self.memory = deepcopy((self.board.inboxes, self.board.dead))

    @rule()
    def forget(self) -> None:
        if self.memory is not None:
            last_ids = {key: inbox.last_id for key, inbox in self.board.inboxes.items()}
            self.board.inboxes, self.board.dead = deepcopy(self.memory)
            for key, last_id in last_ids.items():
                if key in self.board.inboxes:
                    self.board.inboxes[key].last_id = last_id  # ids are times: they do not come again
            self.owner = {}

    @invariant()
    def books_balance(self) -> None:
        """Not after a crash."""

    def check_completions(self, everything: set[tuple[str, int]], dead: set[tuple[str, int]]) -> None:
        """Not after a crash."""


TestModelInMemory = MemoryMachine.TestCase
TestModelOfAForgetfulServer = ForgetfulMachine.TestCase
TestModelOfAForgetfulServer.settings = settings(max_examples=80, stateful_step_count=50, deadline=None)
TestModelInMemory.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


def test_model_on_redis(embedded):
    """The same on a real server, shorter."""

    class RedisMachine(Machine):
        def open(self, name: str) -> Space:
            if not hasattr(self, "crawl"):
                self.crawl = f"m-{uuid.uuid4().hex[:12]}"
            return self.run(open_space(embedded, crawl=self.crawl, name=name, settings=self.limits))

        def tick(self) -> None:
            time.sleep(2 * SHORT_S)

    case = RedisMachine.TestCase()
    case.settings = settings(
        max_examples=20,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        phases=[Phase.generate],  # a real server does not shrink well
    )
    case.runTest()
