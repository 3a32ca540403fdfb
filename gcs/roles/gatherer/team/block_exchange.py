"""Block exchange: blocks of URLs and parts of ranges, between this gatherer's frontier and the inboxes of the team.

    send      → outbox on disk, in the commit of its cause → (committed) → lane → the receiver's inbox
    listen    the gatherer's inbox, and seeds → arrived → arrivals (a turn takes them in) → (committed) → acked

Invariants
- A tuple is acked only after the commit that holds its effect. The outbox row of a tuple that leaves is in the same
  commit as its cause, and goes when the receiver has committed the tuple. So a crash at any point repeats messages,
  and loses none; the worth that a repeated message carries counts once.
- Blocks are kept only for gatherers of the plan. A tuple that was routed under a newer plan waits for that plan.
- What another version of GCS wrote stays in the inbox, unacked, for a newer run of this gatherer; `unread` counts it.
- Seeds have no sender that waits for them: a heartbeat tells of them before they are acked, so that at no time nobody
  knows of them (`core.messages.termination`).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import msgspec

from gcs.core.messages import codec
from gcs.core.messages.outbox import Outbox
from gcs.core.messages.template import Template, template
from gcs.core.messages.tuples import Consumed, Finds, HandOver, Seeds, UrlBlock
from gcs.core.report.counters import Traffic
from gcs.core.tree.statistics import MeasuredWork
from gcs.errors import SpaceError
from gcs.events import Events
from gcs.ports.space.clock import lease_time
from gcs.ports.space.port import SEEDS_INBOX, Numbered, Taken
from gcs.ports.system.tasks import BackgroundTasks
from gcs.roles.gatherer.membership import MemberContext
from gcs.roles.gatherer.team.whiteboard import LEAVE_S, Whiteboard

events = Events("team")

Incoming: TypeAlias = Seeds | UrlBlock | HandOver
Outgoing: TypeAlias = UrlBlock | HandOver | Finds

#: parts of ranges that may be on their way to other owners at once: they are in memory
MOST_PARTS = 50
#: tuples taken at a time, and held untouched at most; tuples shipped, and acked, at a time
TAKE, SHIP, ACK = 16, 16, 64
#: seconds to wait for an inbox that is full, or for a receipt of blocks that are sent but not committed; doubled as
#: long as nothing moves, up to the second
RETRY_S, MOST_RETRY_S = 0.1, 0.4


class _Lane(NamedTuple):
    """Tuples on their way to one inbox, numbered under a name that is never used again: numbers once used are spent."""

    sender: str
    outbox: Outbox[tuple[int, Outgoing]]


class BlockExchange:
    """What one gatherer sends to the others and receives from them."""

    def __init__(
        self, context: MemberContext, traffic: Traffic, whiteboard: Whiteboard, tasks: BackgroundTasks
    ) -> None:
        self._context, self._space, self._tables = context, context.space, context.frontier.team_tables
        self._traffic, self._beat, self._tasks = traffic, whiteboard.beat, tasks
        # on their way in
        self._arrived: deque[Taken[Any]] = deque()  # filled by listen; emptied by arrivals
        self._early: deque[Taken[Any]] = deque()  # routed under a newer plan; filled and emptied by arrivals
        self._taken_in: list[Taken[Any]] = []  # effects not committed; filled by arrivals, emptied by committed
        self._to_ack: deque[Taken[Any]] = deque()  # filled by committed; emptied by ship
        self._room = asyncio.Event()
        self._seeds_wanted = asyncio.Event()
        # on their way out
        self._uncommitted: list[tuple[int, str, Outgoing]] = []  # in the outbox; filled by send, emptied by committed
        self._lanes: dict[tuple[str, type[Consumed]], _Lane] = {}
        self._lanes_opened = 0
        self._settled: deque[int] = deque()  # committed by their receivers; filled by ship, emptied by drop_settled
        self._returned: list[Outgoing] = []  # for gatherers that are gone; filled by restore and recall
        self._ship_now = asyncio.Event()
        #: tuples that were received and committed, and tuples that were sent, by this run
        self.received = self.sent = 0
        #: tuples in the inboxes that this program cannot read
        self.unread = 0
        #: URLs sent to each of the others, by this run
        self.urls_sent: dict[str, int] = {}
        #: URLs that were shipped by this run, and the seconds that it took: the paper's rate c
        self.shipped = MeasuredWork()

    # -- life ------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._tasks.start(self._listen(), self._listen_for_seeds(), self._ship(), self._count_unread())

    async def close(self) -> None:
        """Ack what was committed; the tasks have ended."""
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._ack(None)
        except (SpaceError, TimeoutError) as error:
            reason = str(error) or "the whiteboard does not answer"
            events.warning("silent", gatherer=self._context.name, reason=reason)

    def restore(self, gatherers: Container[str] | None) -> None:
        """Go on with the outbox as it was; without a plan (None), everything goes where it was going."""
        for number, to, packed in list(self._tables.blocks()):
            item: Any = codec.decode(packed)
            if gatherers is None or to in gatherers:
                self._into_lane(number, to, item)
            else:
                self._take_back(number, item)

    # -- in --------------------------------------------------------------------------------------------

    def take_seeds(self, wanted: bool) -> None:
        """Only a gatherer of the plan takes seeds: a stranger that died with them would not be missed."""
        if wanted:
            self._seeds_wanted.set()
        else:
            self._seeds_wanted.clear()

    def arrivals(self, epoch: int) -> Iterator[Incoming]:
        """The tuples that have arrived, except those that were routed under a plan newer than this epoch."""
        waiting, self._early = self._early, deque()
        while waiting or self._arrived:
            taken = waiting.popleft() if waiting else self._arrived.popleft()
            if len(self._arrived) < TAKE:
                self._room.set()
            if isinstance(taken.item, UrlBlock | HandOver) and taken.item.epoch > epoch:
                self._early.append(taken)
            else:
                self._taken_in.append(taken)
                yield self._once(taken.item)

    # -- out -------------------------------------------------------------------------------------------

    def send(self, items: Iterable[tuple[str, Outgoing]]) -> None:
        """Put these into the outbox, each with its destination; the next commit lets them go."""
        for to, item in items:
            if isinstance(item, UrlBlock | HandOver):
                sender, serial = self._tables.stamp()
                item = msgspec.structs.replace(item, sender=sender, serial=serial)
            packed = codec.encode(item)
            if isinstance(item, UrlBlock):
                self._traffic.exchanged_bytes += len(packed)
                self.urls_sent[to] = self.urls_sent.get(to, 0) + len(item.links)
            elif isinstance(item, Finds) and not item.copies:
                self._traffic.exchanged_bytes += len(packed)
            else:
                self._traffic.moved_bytes += len(packed)
            self._uncommitted.append((self._tables.add_block(to, packed), to, item))

    def committed(self) -> None:
        """The commit is durable: ship the tuples that it holds, ack the tuples that it was made of."""
        for number, to, item in self._uncommitted:
            self._into_lane(number, to, item)
        self._uncommitted.clear()
        self.received += len(self._taken_in)
        self._to_ack.extend(self._taken_in)
        self._taken_in.clear()
        self._ship_now.set()

    def drop_settled(self) -> None:
        """Forget the tuples that their receivers have committed."""
        while self._settled:
            self._tables.drop_block(self._settled.popleft())

    def recall(self, gatherers: Iterable[str]) -> None:
        """Only these gatherers are there: take back what is on its way to others, even if it is in their inboxes."""
        keep = set(gatherers)
        for (to, kind), lane in list(self._lanes.items()):
            if to not in keep:
                for number, item in lane.outbox.kept():
                    self._take_back(number, item)
                del self._lanes[to, kind]

    def returned(self) -> list[Outgoing]:
        """The tuples that were taken back, to be shared out anew."""
        returned, self._returned = self._returned, []
        return returned

    # -- what is under way -----------------------------------------------------------------------------

    @property
    def room_for_parts(self) -> int:
        """How many more parts of ranges may be on their way."""
        unshipped = sum(type(item) is HandOver for _, _, item in self._uncommitted)
        return MOST_PARTS - unshipped - sum(len(lane.outbox) for (_, of), lane in self._lanes.items() if of is HandOver)

    @property
    def has_parts(self) -> bool:
        """Whether a part of a range is not known to be committed by its receiver."""
        return self.room_for_parts < MOST_PARTS

    @property
    def moving(self) -> tuple[int, int]:
        """URLs on their way to other owners, and how many of them wait: they are in no frontier, but known."""
        parts = [item for _, _, item in self._uncommitted if type(item) is HandOver]
        for (_, kind), lane in self._lanes.items():
            if kind is HandOver:
                parts += [item for _, item in lane.outbox.kept() if type(item) is HandOver]
        queued = sum(len(part.queued) for part in parts)
        return queued + sum(len(part.seen) for part in parts), queued

    @property
    def has_uncommitted(self) -> bool:
        """Whether a commit would let something go out or be acked."""
        return bool(self._taken_in or self._uncommitted)

    @property
    def is_empty(self) -> bool:
        """Nothing is on its way in or out, as far as this gatherer knows."""
        coming = self._arrived or self._early or self._taken_in or self._to_ack
        going = self._uncommitted or self._settled or self._returned
        return not (coming or going or any(lane.outbox for lane in self._lanes.values()) or self._tables.kept())

    @property
    def is_sent(self) -> bool:
        """Everything that was sent is in the inboxes of its receivers."""
        return not self._uncommitted and not any(lane.outbox.due for lane in self._lanes.values())

    @property
    def is_received(self) -> bool:
        """Everything that was sent is committed by its receivers."""
        return not self._uncommitted and not any(lane.outbox for lane in self._lanes.values())

    # -- tasks -----------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        wanted: list[Template[Any]] = [template(HandOver), template(UrlBlock)]
        while True:
            await self._take_in(await self._space.take_many(wanted, at=self._context.name, limit=TAKE, timeout_s=5.0))

    async def _listen_for_seeds(self) -> None:
        while True:
            await self._seeds_wanted.wait()
            taken = await self._space.take_many([template(Seeds)], at=SEEDS_INBOX, limit=1, timeout_s=1.0)
            if self._seeds_wanted.is_set():
                await self._take_in(taken)
            else:
                await self._space.release(taken)

    async def _count_unread(self) -> None:
        while True:
            await asyncio.sleep(self._context.settings.beat_s)
            places = {place for place, _ in self._space.unread.kinds if place in (self._context.name, SEEDS_INBOX)}
            self.unread = sum([await self._space.count_unread(place) for place in places])

    async def _take_in(self, taken: list[Taken[Any]]) -> None:
        if taken:
            self._arrived.extend(taken)
            self._tasks.request_turn()
        while len(self._arrived) >= TAKE:
            self._room.clear()
            await self._room.wait()

    async def _ship(self) -> None:
        retry_s = RETRY_S
        while True:
            self._ship_now.clear()
            await self._ack(self._beat)
            is_moving = False
            for (to, kind), lane in list(self._lanes.items()):
                if len(lane.outbox):
                    is_moving |= await self._ship_lane(to, kind, lane)
            retry_s = RETRY_S if is_moving else min(2 * retry_s, MOST_RETRY_S)
            waits = any(len(lane.outbox) for lane in self._lanes.values())
            try:
                async with asyncio.timeout(retry_s if waits else None):
                    await self._ship_now.wait()
            except TimeoutError:
                pass

    async def _ship_lane(self, to: str, kind: type[Consumed], lane: _Lane) -> bool:
        """Send the next tuples of a lane; returns whether the receiver has committed any."""
        shipment = lane.outbox.shipment(SHIP)
        items = [item for _, item in shipment.blocks]
        begun_at = lease_time()
        numbered = Numbered(lane.sender, shipment.base, shipment.first)
        receipt = await self._space.out_many(kind, items, to=to, numbered=numbered)
        self.shipped.amount += sum(len(item.links) for item in items if isinstance(item, UrlBlock))
        self.shipped.seconds += lease_time() - begun_at if items else 0.0
        settled = lane.outbox.settle(receipt.sent, receipt.committed)
        if settled:
            self._settled.extend(number for number, _ in settled)
            self._tasks.request_turn()
        if lane.outbox.due and not receipt.full:
            self._ship_now.set()
        return bool(settled)

    async def _ack(self, beat: Callable[[], Awaitable[bool]] | None) -> None:
        """Ack what is committed; a gatherer that lives on tells of seeds first."""
        while self._to_ack:
            batch = [self._to_ack.popleft() for _ in range(min(len(self._to_ack), ACK))]
            if beat and any(type(each.item) is Seeds for each in batch):
                await beat()
            await self._space.ack(batch)
            self._tasks.request_turn()

    # -- the outbox ------------------------------------------------------------------------------------

    def _into_lane(self, number: int, to: str, item: Outgoing) -> None:
        lane = self._lanes.get((to, type(item)))
        if lane is None:
            self._lanes_opened += 1
            sender = f"{self._context.name}/{self._context.run}/{self._lanes_opened}"
            lane = self._lanes[to, type(item)] = _Lane(sender, Outbox())
        lane.outbox.add((number, item))
        self.sent += 1
        self._ship_now.set()

    def _take_back(self, number: int, item: Outgoing) -> None:
        self._tables.drop_block(number)
        self._returned.append(item)

    def _once(self, item: Incoming) -> Incoming:
        """The item; if it has arrived before, without its worth."""
        if isinstance(item, Seeds) or not item.sender:
            return item
        if self._tables.remember_serial(item.name, item.sender, item.serial):
            return item
        if isinstance(item, UrlBlock):
            return msgspec.structs.replace(item, links=[msgspec.structs.replace(link, weight=0) for link in item.links])
        queued = [msgspec.structs.replace(each, worth=0.0) for each in item.queued]
        return msgspec.structs.replace(item, queued=queued)
