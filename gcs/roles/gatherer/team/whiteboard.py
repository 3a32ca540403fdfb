"""The observer: the gatherer's ears and mouth at the whiteboard. It carries; it decides nothing.

Every task below waits for the whiteboard so that the gatherer's turn never has to:

    listen    blocks and hand-over parts of our inbox, seeds          → arrived    emptied by the turn
    follow    the newest plan, announcement and control               → fields     read by the turn
    ship      blocks of the outbox                                    → settled    emptied by the turn
    beat      our Member tuple; its receipt renews our tenure

Invariant: what arrived is acked only after the turn has committed it (`acks`); a block leaves the outbox only when
its receiver has committed it. Seeds have no sender that waits for us: a heartbeat tells of them before they are acked,
so that at no time nobody knows of them (`core.messages.termination`).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from gcs.core.messages.election import Tenure
from gcs.core.messages.outbox import Outbox
from gcs.core.messages.template import Template, template
from gcs.core.messages.tuples import (
    Account,
    Announcement,
    BusyNote,
    Charter,
    Consumed,
    Control,
    HandOver,
    Member,
    PlanPosted,
    Posted,
    RobotsNote,
    Seeds,
    UrlBlock,
)
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.tree.statistics import MeasuredWork
from gcs.errors import SpaceError
from gcs.events import Events
from gcs.ports.space.port import SEEDS_INBOX, Numbered, Space, Taken
from gcs.ports.tasks import end

events = Events("team")

T = TypeVar("T", bound=Posted)

#: tuples taken at a time, and held untouched at most
TAKE = 16
#: blocks shipped at a time
SHIP = 16
#: seconds to wait for an inbox that is full, or for a receipt of blocks that are sent but not committed; doubled as
#: long as nothing moves, up to the second
RETRY_S, MOST_RETRY_S = 0.2, 1.6
#: seconds for which it stays on the board that we have left for good, and that saying so may take
GONE_S, LEAVE_S = 120.0, 5.0


class _Lane:
    """Blocks on their way to one inbox, numbered under a name that is never used again: numbers once used are spent."""

    __slots__ = ("outbox", "sender")

    def __init__(self, sender: str) -> None:
        self.sender = sender
        self.outbox: Outbox[tuple[int, Consumed]] = Outbox()


class Whiteboard:
    """One gatherer's hold of the whiteboard."""

    def __init__(
        self,
        space: Space,
        me: str,
        run: str,
        settings: TeamSettings,
        clock: Callable[[], float],
        wake: Callable[[], None],
    ) -> None:
        self.space = space
        self._me = me
        self._run = run
        self._settings = settings
        self._clock = clock  # monotonic, also while the machine sleeps: leases are counted by it
        self._wake = wake
        self._member: Callable[[], Member]
        #: heartbeats go out one after the other: an older one must not replace a newer
        self._beating = asyncio.Lock()
        self._tenure: Tenure | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._lanes: dict[tuple[str, type[Consumed]], _Lane] = {}
        self._lanes_opened = 0
        self._ship_now = asyncio.Event()
        self._room = asyncio.Event()
        self._seeds_wanted = asyncio.Event()
        self._acks: deque[Taken[Any]] = deque()
        self.arrived: deque[Taken[Any]] = deque()
        self.settled: deque[int] = deque()
        self.plan: PlanPosted | None = None
        self.announcement: Announcement | None = None
        self.control: Control | None = None
        self.charter: Charter | None = None
        self.notes: deque[RobotsNote | BusyNote] = deque()  # of shared hosts; filled by follow, emptied by the turn
        self.posts: deque[tuple[Posted, float]] = deque()  # for the board, with their lifetime; emptied by ship
        self.failed: BaseException | None = None
        self.blocks_sent = 0
        #: URLs that were shipped by this run, and the seconds that it took: the paper's rate c
        self.exchanged = MeasuredWork()

    # -- life ------------------------------------------------------------------------------------------

    def start(self, beat: Callable[[], Member]) -> None:
        """Begin to listen, follow, ship and beat."""
        self._member = beat
        jobs: list[Awaitable[None]] = [
            self._listen(),
            self._listen_for_seeds(),
            self._follow(PlanPosted, "plan"),
            self._follow(Announcement, "announcement"),
            self._follow(Control, "control"),
            self._follow(Charter, "charter"),
            self._follow_notes(RobotsNote),
            self._follow_notes(BusyNote),
            self._ship(),
            self._live(),
        ]
        self._tasks = [asyncio.ensure_future(job) for job in jobs]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    async def close(self) -> None:
        """Ack what was committed, and let go."""
        await end(self._tasks)

    async def leave(self, account: Account | None, gone: Member | None) -> None:
        """Take our heartbeat from the board, so that nobody waits for its end; or say that we have left for good."""
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._ack()
                if account is not None:
                    await self.space.out(account)
                if gone is None:
                    await self.space.take(template(Member, gatherer=self._me, run=self._run))
                else:
                    await self.space.out(gone, ttl_s=GONE_S)
        except (SpaceError, TimeoutError) as error:
            events.warning("silent", gatherer=self._me, reason=str(error) or "the whiteboard does not answer")

    def may_fetch(self) -> bool:
        """Whether our membership holds by our own clock: others still count on us."""
        return self._tenure is not None and self._tenure.holds(self._clock())

    # -- what the turn gives ---------------------------------------------------------------------------

    def committed(self, taken: list[Taken[Any]]) -> None:
        """These tuples' effects are durable here."""
        if taken:
            self._acks.extend(taken)
            self._ship_now.set()

    def send(self, number: int, to: str, item: Consumed) -> None:
        """Ship a block that is durable in our outbox."""
        lane = self._lanes.get((to, type(item)))
        if lane is None:
            self._lanes_opened += 1
            lane = self._lanes[to, type(item)] = _Lane(f"{self._me}/{self._run}/{self._lanes_opened}")
        lane.outbox.add((number, item))
        self.blocks_sent += 1
        self._ship_now.set()

    def post(self, item: Posted, ttl_s: float) -> None:
        """Put a tuple on the board, soon."""
        self.posts.append((item, ttl_s))
        self._ship_now.set()

    def recall(self, keep: set[str]) -> list[tuple[int, Consumed]]:
        """Take back the blocks for destinations that are no longer there, also those that may be in their inboxes."""
        back: list[tuple[int, Consumed]] = []
        for (to, kind), lane in list(self._lanes.items()):
            if to not in keep:
                back += lane.outbox.kept()
                del self._lanes[to, kind]
        return back

    def kept(self, kind: type[Consumed]) -> int:
        """How many blocks of a kind are not known to be committed by their receivers."""
        return sum(len(lane.outbox) for (_, of_kind), lane in self._lanes.items() if of_kind is kind)

    def take_seeds(self, wanted: bool) -> None:
        """Only who is in the plan takes seeds: a stranger that died with them would not be missed."""
        if wanted:
            self._seeds_wanted.set()
        else:
            self._seeds_wanted.clear()

    @property
    def is_idle(self) -> bool:
        """Nothing has arrived, nothing is to be acked or shipped."""
        return not (self.arrived or self._acks or self.settled or any(lane.outbox for lane in self._lanes.values()))

    def took(self) -> Taken[Any]:
        """The next tuple that arrived."""
        taken = self.arrived.popleft()
        if len(self.arrived) < TAKE:
            self._room.set()
        return taken

    # -- tasks -----------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        wanted: list[Template[Any]] = [template(HandOver), template(UrlBlock)]
        while True:
            taken = await self.space.take_many(wanted, at=self._me, limit=TAKE, timeout_s=5.0)
            await self._take_in(taken)

    async def _listen_for_seeds(self) -> None:
        while True:
            await self._seeds_wanted.wait()
            taken = await self.space.take_many([template(Seeds)], at=SEEDS_INBOX, limit=1, timeout_s=1.0)
            if self._seeds_wanted.is_set():
                await self._take_in(taken)
            else:
                await self.space.release(taken)

    async def _take_in(self, taken: list[Taken[Any]]) -> None:
        if taken:
            self.arrived.extend(taken)
            self._wake()
        while len(self.arrived) >= TAKE:
            self._room.clear()
            await self._room.wait()

    async def _follow(self, kind: type[T], field: str) -> None:
        async for item in self.space.watch(template(kind)):
            setattr(self, field, item)
            self._wake()

    async def _follow_notes(self, kind: type[RobotsNote] | type[BusyNote]) -> None:
        async for note in self.space.watch(template(kind)):
            self.notes.append(note)
            self._wake()

    async def _ship(self) -> None:
        retry_s = RETRY_S
        while True:
            self._ship_now.clear()
            await self._ack(self._beat)
            while self.posts:
                item, ttl_s = self.posts.popleft()
                await self.space.out(item, ttl_s=ttl_s)
            waits = moves = False
            for (to, kind), lane in list(self._lanes.items()):
                box = lane.outbox
                if not len(box):
                    continue
                parcel = box.shipment(SHIP)
                numbered = Numbered(lane.sender, parcel.base, parcel.first)
                items = [item for _, item in parcel.blocks]
                begun_at = self._clock()
                receipt = await self.space.out_many(kind, items, to=to, numbered=numbered)
                self.exchanged.amount += sum(len(item.links) for item in items if isinstance(item, UrlBlock))
                self.exchanged.seconds += self._clock() - begun_at if items else 0.0
                for number, _ in box.settle(receipt.sent, receipt.committed):
                    self.settled.append(number)
                    self._wake()
                    moves = True
                waits |= len(box) > 0
                if box.due and not receipt.full:
                    self._ship_now.set()
            retry_s = RETRY_S if moves else min(2 * retry_s, MOST_RETRY_S)
            try:
                async with asyncio.timeout(retry_s if waits else None):
                    await self._ship_now.wait()
            except TimeoutError:
                pass

    async def _ack(self, beat: Callable[[], Awaitable[None]] | None = None) -> None:
        """Ack what is committed; who lives on tells of seeds first."""
        while self._acks:
            batch = [self._acks.popleft() for _ in range(min(len(self._acks), 64))]
            if beat and any(type(each.item) is Seeds for each in batch):
                await beat()
            await self.space.ack(batch)
            self._wake()

    async def _live(self) -> None:
        while True:
            await self._beat()
            await asyncio.sleep(self._settings.beat_s)

    async def _beat(self) -> None:
        async with self._beating:
            sent_at = self._clock()
            await self.space.out(self._member(), ttl_s=self._settings.lease_s)
            self._tenure = Tenure(sent_at, self._settings.lease_s)
        self._wake()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failed = self.failed or error
            self._wake()
