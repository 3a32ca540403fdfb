"""The mail: blocks and parts of ranges, between the outbox on our disk, the observer, and the turn that takes them in.

    arrivals     what the observer took     → in hand, until the commit that holds its effect; then acked
                                            → early, while it was routed under a plan that we do not have yet
    send         what leaves                → outbox on disk, shipped after the commit, kept until its receiver has it
    returned     what left for a gatherer that is gone, to be shared out anew

Invariants
- A block or part is acked only after the commit that holds its effect; the outbox row of what we send is in the same
  commit as its cause. So a crash at any point repeats messages, and loses none.
- Blocks are kept only for gatherers of our plan.
"""

from collections import deque
from collections.abc import Container, Iterable, Iterator
from typing import Any

import msgspec

from gcs.core.messages import codec
from gcs.core.messages.tuples import Consumed, Finds, HandOver, UrlBlock
from gcs.core.report.counters import Traffic
from gcs.ports.frontier.team_tables import TeamTables
from gcs.ports.space.port import Taken
from gcs.roles.gatherer.team.whiteboard import Whiteboard

#: parts of ranges that we lose which may be on their way at once: they are in memory
MOST_PARTS = 50


class BlockExchange:
    """What one gatherer sends to the others and receives from them."""

    def __init__(self, exchange: TeamTables, observer: Whiteboard) -> None:
        self._exchange, self._observer = exchange, observer
        self.traffic = Traffic()
        #: effects in the frontier, not committed; filled by arrivals, emptied by committed
        self._in_hand: list[Taken[Any]] = []
        self._early: deque[Taken[Any]] = deque()  # filled and emptied by arrivals
        self._returned: list[Consumed] = []  # filled by restore and recall; emptied by returned
        self._new: list[tuple[int, str, Consumed]] = []  # in the outbox, not committed
        self.received = 0
        #: URLs sent to each of the others, by this run
        self.sent: dict[str, int] = {}

    def restore(self, gatherers: Container[str] | None) -> None:
        """Go on with the outbox as it was; without a plan (None), everything goes where it was going."""
        for number, to, packed in list(self._exchange.blocks()):
            item: Any = codec.decode(packed)
            if gatherers is None or to in gatherers:
                self._observer.send(number, to, item)
            else:
                self._take_back(number, item)

    def recall(self, gatherers: Iterable[str]) -> None:
        """Only these are there: take back what is on its way to others."""
        for number, item in self._observer.recall(set(gatherers)):
            self._take_back(number, item)

    def drop_settled(self) -> None:
        """Forget what its receivers have committed."""
        while self._observer.settled:
            self._exchange.drop_block(self._observer.settled.popleft())

    def returned(self) -> list[Consumed]:
        """What was taken back."""
        returned, self._returned = self._returned, []
        return returned

    def arrivals(self, epoch: int) -> Iterator[Any]:
        """What has arrived, but for what was routed under a plan newer than ours."""
        waiting, self._early = self._early, deque()
        while waiting or self._observer.arrived:
            taken = waiting.popleft() if waiting else self._observer.took()
            if isinstance(taken.item, UrlBlock | HandOver) and taken.item.epoch > epoch:
                self._early.append(taken)
            else:
                self._in_hand.append(taken)
                yield self._once(taken.item)

    def send(self, items: Iterable[tuple[str, Any]]) -> None:
        """Put these into the outbox; the next commit lets them go."""
        for to, item in items:
            if isinstance(item, UrlBlock | HandOver):
                sender, serial = self._exchange.stamp()
                item = msgspec.structs.replace(item, sender=sender, serial=serial)
            packed = codec.encode(item)
            if isinstance(item, UrlBlock):
                self.traffic.exchanged_bytes += len(packed)
                self.sent[to] = self.sent.get(to, 0) + len(item.links)
            elif isinstance(item, Finds) and not item.copies:
                self.traffic.exchanged_bytes += len(packed)
            else:
                self.traffic.moved_bytes += len(packed)
            self._new.append((self._exchange.add_block(to, packed), to, item))

    def committed(self) -> None:
        """The commit is durable: ship what it holds, ack what it was made of."""
        for number, to, item in self._new:
            self._observer.send(number, to, item)
        self._new.clear()
        self.received += len(self._in_hand)
        self._observer.committed(self._in_hand)
        self._in_hand = []

    @property
    def room_for_parts(self) -> int:
        """How many more parts of ranges may be on their way."""
        unshipped = sum(type(item) is HandOver for _, _, item in self._new)
        return MOST_PARTS - self._observer.kept(HandOver) - unshipped

    @property
    def has_parts(self) -> bool:
        """Whether a part of ours is not known to be committed by its receiver."""
        return self.room_for_parts < MOST_PARTS

    @property
    def has_uncommitted(self) -> bool:
        """Whether a commit would let something go out or be acked."""
        return bool(self._in_hand or self._new)

    @property
    def is_empty(self) -> bool:
        """Nothing is on its way to us or from us, as far as we know."""
        pending = self._in_hand or self._new or self._early or self._returned
        return not pending and self._observer.is_idle and not self._exchange.kept()

    def _once(self, item: Any) -> Any:
        """The item; but what it is worth counts only the first time."""
        if not isinstance(item, UrlBlock | HandOver) or not item.sender:
            return item
        if self._exchange.is_first(item.name, item.sender, item.serial):
            return item
        if isinstance(item, UrlBlock):
            return msgspec.structs.replace(item, links=[msgspec.structs.replace(link, weight=0) for link in item.links])
        queued = [msgspec.structs.replace(each, worth=0.0) for each in item.queued]
        return msgspec.structs.replace(item, queued=queued)

    def _take_back(self, number: int, item: Consumed) -> None:
        self._exchange.drop_block(number)
        self._returned.append(item)
