"""A seed-server's life: startup → step* → shutdown.

    clients ─► Finds (what they fetched, every link) ─► registry: count, mark ─► the best seeds ─► UrlBlock ─► clients
    parent  ◄─ Finds: links outside of our domain sets;  parent ─► UrlBlock: links into them, also into new ones
                                  seeds held for a client ─► Pace ("hurry up", "slow down")

Invariants
- What is taken is acked only after its effect is committed and what it sends on is sent. A crash repeats messages:
  links may count twice, nothing is lost.
- What a client shall fetch is in the registry (`out`) before it is sent, and is sent again when the client has nothing
  to do but should, so a block that the whiteboard forgot is no loss.
- A URL is in one client's hands at a time; a client that does not come back within recover_s loses what it had. A
  server below us does not: while it is away, what is for it waits on the whiteboard, and the crawl does not end.
- A session begins when all clients of the last one are here, or have been waited for, and we have what they know of its
  pages: so that each is asked for with the validators of the copy that is held, whoever gets it now.
"""

import asyncio
import heapq
import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from gcs.core.messages.template import template
from gcs.core.messages.termination import TeamSnapshot, look
from gcs.core.messages.tuples import (
    ClientPace,
    Control,
    CrawlState,
    Finds,
    Link,
    Member,
    MemberState,
    Queued,
    Seeds,
    UrlBlock,
)
from gcs.core.plan.seed_domains import SeedServerSettings, Word, domain_of, room, say
from gcs.core.plan.team_settings import TeamSettings
from gcs.errors import UsageError
from gcs.events import Events
from gcs.ports.space.port import SEEDS_INBOX, Space, Taken
from gcs.ports.url_registry import Node, UrlRegistry
from gcs.roles.seedserver.clients import Clients

# -- A parcel: what a seed-server has for one other, client or server. Links, and what the last session knew of some.


@dataclass(slots=True)
class OutgoingLinks:
    """Filled while a turn takes in and hands out; emptied when it is sent, at its end."""

    links: list[Link] = field(default_factory=list)
    copies: list[Queued] = field(default_factory=list)

    def add(self, link: Link, copy: Queued | None) -> None:
        """A link, and what is known of its page."""
        self.links.append(link)
        if copy is not None:
            self.copies.append(copy)

    def add_nodes(self, nodes: Iterable[Node]) -> None:
        """URLs of our registry, for a client to fetch."""
        for node in nodes:
            self.add(Link(node.url, node.worth, node.depth, node.parent), node.copy)


events = Events("seed-server")

#: tuples taken at a time
TAKE = 64
#: the inbox of seeds, and the notes that hold the household and the last session that has begun
NOTE, BEGUN = "household", "begun"
#: steps for which a client may be idle with seeds in its hands before they are sent again
PATIENT_STEPS = 5


class SeedServer:
    """One seed-server: the only one, the top of a hierarchy, or below a parent."""

    def __init__(
        self,
        name: str,
        space: Space,
        registry: UrlRegistry,
        rules: SeedServerSettings,
        team: TeamSettings,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
        pause_s: float = 0.0,
        parent: str = "",
        session: int = 1,
    ) -> None:
        """`clock` is monotonic, `wall` is not. `pause_s`: what hosts may be owed that were asked before we started."""
        self.name, self._space, self.registry, self._session = name, space, registry, session
        self._rules, self._team, self._clock, self._parent = rules, team, clock, parent
        self._run = f"{random.SystemRandom().getrandbits(48):012x}"
        self._house = Clients(rules, registry.note(NOTE))
        self._wall = wall
        self._started_free_at = wall() + pause_s
        self._free_at: dict[str, float] = {}  # domain → when all its hosts may be asked, by whomever
        self._out: dict[str, int] = {}  # client → seeds in its hands
        self._connections: dict[str, int] = {}
        self._idle: dict[str, int] = defaultdict(int)  # client → steps for which it was idle, though it has seeds
        self._missing_since: dict[str, float] = {}
        self._sent = self._received = self._beats = 0
        self._beat_at = 0.0
        self._look: TeamSnapshot | None = None
        self.state = CrawlState.RUNNING
        #: told of every word to a client: its name, the word, its connections, the seeds held for it
        self.on_word: Callable[[str, Word, int, int], None] = lambda *_: None

    async def run(self) -> CrawlState:
        """Serve until the crawl ends."""
        await self.startup()
        try:
            while self.state in (CrawlState.RUNNING, CrawlState.PAUSED):
                await self.step()
        finally:
            await self.shutdown()
        return self.state

    async def startup(self) -> None:
        """Go on as the last commit left it: who had what still has it. Waits while our former self may be alive."""
        before = await self._space.read(template(Member, gatherer=self.name))
        while before is not None:
            await asyncio.sleep(self._team.beat_s)
            now = await self._space.read(template(Member, gatherer=self.name))
            if now is not None and now != before:
                raise UsageError(f"a seed-server called {self.name} serves this crawl already: use another --name")
            before = now
        self.registry.renew(self._session)
        for name in {*self._house.owners.values()}:
            self._out[name] = len(self.registry.in_hands_of(name))
        events.info("started", server=self.name, parent=self._parent, domains=len(self._house.owners))

    async def shutdown(self) -> None:
        """Keep everything, and let the others see that we are not there."""
        self.registry.commit()
        self.registry.close()
        await self._space.take(template(Member, gatherer=self.name, run=self._run))
        await self._space.close()

    # -- the turn --------------------------------------------------------------------------------------

    async def step(self) -> None:
        """Take in what has come, hand out what may go, say how it stands."""
        await self._meet()
        taken: list[Taken[Any]] = []
        if self._house.present:
            wait_s = 0.0 if self._beat_at + self._team.beat_s < self._clock() else self._team.beat_s / 2
            taken = await self._space.take_many(
                [template(Finds), template(UrlBlock)], at=self.name, limit=TAKE, timeout_s=wait_s
            )
            if not self._parent:
                taken += await self._space.take_many([template(Seeds)], at=SEEDS_INBOX, limit=TAKE)
        else:
            await asyncio.sleep(self._team.beat_s / 2)
        onward = self._take_in(taken)
        if self.state is CrawlState.RUNNING and self._has_begun():
            self._hand_out(onward)
        self.registry.set_note(NOTE, self._house.encode())
        self.registry.commit()
        for to, parcel in onward.items():
            self._sent += 1
            links, copies = parcel.links, parcel.copies
            if to == self._parent:
                finds = Finds(self.name, [], links, session=self._session, copies=copies)
                receipt = await self._space.out_many(Finds, [finds], to=to)
            else:
                receipt = await self._space.out_many(UrlBlock, [UrlBlock(0, links, copies=copies)], to=to)
            if receipt.full:  # nothing of it was put: who is given seeds gets them again, links are taken again
                self._idle[to] = PATIENT_STEPS
                if to == self._parent or self._house.is_server(to):
                    await self._space.release(taken)
                    return
        self._received += len(taken)
        await self._space.ack(taken)

    def _take_in(self, taken: Iterable[Taken[Any]]) -> dict[str, OutgoingLinks]:
        """The effect on the registry; returns links for other servers."""
        onward: dict[str, OutgoingLinks] = defaultdict(OutgoingLinks)
        counts = self.registry.counts()
        for each in taken:
            item, is_ours, known = each.item, False, dict[str, Queued]()
            if isinstance(item, Seeds):
                links = [Link(url, 0) for url in item.urls]
            else:
                assert isinstance(item, Finds | UrlBlock)
                if isinstance(item, Finds):
                    self._deal_with(item)
                else:
                    is_ours = bool(self._parent)
                links, known = item.links, {copy.url: copy for copy in item.copies}
            mine: list[tuple[Link, str]] = []
            for link in links:
                domain = domain_of(link.url, self._rules.domain)
                if self._parent and not is_ours and domain not in self._house.owners:
                    onward[self._parent].add(link, known.get(link.url))
                    continue
                owner = self._house.owner_of(domain, counts)
                if owner is not None and self._house.is_server(owner):
                    onward[owner].add(link, known.get(link.url))
                else:
                    mine.append((link, domain))
            self.registry.add(mine, known)
        return onward

    def _deal_with(self, item: Finds) -> None:
        """What a client has done, and when its hosts may be asked again; a server below us has done nothing.

        What it did in an earlier session, and could not tell, is to be done again in this one.
        """
        changed = self.registry.visited(item.done if item.session == self._session else ())
        self._out[item.client] = max(0, self._out.get(item.client, 0) - changed)
        for host, at in item.free_at.items():
            domain = domain_of(f"http://{host}/", self._rules.domain)
            self._free_at[domain] = max(self._free_at.get(domain, 0.0), at)

    def _has_begun(self) -> bool:
        """Whether we know what our clients knew in the last session."""
        if self._session == 1 or self.registry.note(BEGUN) == str(self._session).encode():
            return True
        there = [self._house.present[name] for name in self._house.clients]
        if self._house.missing_clients or any(member.settled_epoch < self._session for member in there):
            return False
        self.registry.set_note(BEGUN, str(self._session).encode())
        events.info("session", server=self.name, session=self._session, clients=len(there))
        return True

    def _hand_out(self, onward: dict[str, OutgoingLinks]) -> None:
        """Give every client the best seeds of its domains, as many as it may have."""
        counts = self.registry.counts()
        for domain in counts:
            self._house.owner_of(domain, counts)  # nobody's, if its client is gone
        for domain, to in self._house.settle(counts, self._is_free):
            events.info("moved", domain=domain, to=to, server=self.name)
        for client in self._house.clients:
            connections = self._connections.setdefault(client, self._rules.connections)
            if self._idle[client] >= PATIENT_STEPS:
                self._idle[client] = 0
                onward[client].add_nodes(self.registry.in_hands_of(client))
            free = room(connections, self._out.get(client, 0), self._rules)
            best = [
                (node.rank, domain) for domain in self._house.domains_of(client) if (node := self.registry.best(domain))
            ]
            heapq.heapify(best)
            while best and free:
                _, domain = heapq.heappop(best)
                seeds = self.registry.hand_out(domain, client, 1)
                onward[client].add_nodes(seeds)
                self._out[client] = self._out.get(client, 0) + len(seeds)
                free -= 1
                if node := self.registry.best(domain):
                    heapq.heappush(best, (node.rank, domain))

    def _is_free(self, domain: str) -> bool:
        """Whether politeness lets another client ask the hosts of a domain."""
        return self._wall() >= max(self._free_at.get(domain, 0.0), self._started_free_at)

    # -- the others ------------------------------------------------------------------------------------

    async def _meet(self) -> None:
        """Every beat: say how we stand, see who is there, say how fast they may go, see whether all is done."""
        now = self._clock()
        if now < self._beat_at + self._team.beat_s:
            return
        self._beat_at = now
        control = await self._space.read(template(Control))
        self.state = control.state if control else CrawlState.RUNNING
        seeds = await self._space.count(template(Seeds), at=SEEDS_INBOX)
        waiting = await self._space.count(template(Finds), at=self.name)
        waiting += await self._space.count(template(UrlBlock), at=self.name)
        everybody = await self._space.scan(template(Member))
        mine = [member for member in everybody if member.server == self.name and member.state != MemberState.GONE]
        for name in self._house.meet(mine):
            events.info("joined", member=name, server=self.name)
            self._out.setdefault(name, len(self.registry.in_hands_of(name)))
        if self.state in (CrawlState.RUNNING, CrawlState.PAUSED):  # or all leave, and nobody is missed
            self._miss({member.gatherer for member in everybody if member.state == MemberState.GONE}, now)
        counts = self.registry.counts()
        self._house.share(counts)
        await self._set_pace({domain: count.held for domain, count in counts.items()})
        for client in self._house.clients:
            is_idle = self._house.present[client].passive and self._out.get(client, 0) > 0
            self._idle[client] = self._idle[client] + 1 if is_idle else 0
        busy = waiting or self._house.awaits or any(count.held or count.out for count in counts.values())
        await self._beat(passive=not busy)
        if not self._parent:
            # what hangs on the board of ourselves is of the last time
            await self._end_if_done([] if busy else everybody, seeds)

    def _miss(self, gone: set[str], now: float) -> None:
        """A client that has left, or is away for too long, has nothing any more. A server is waited for."""
        for name in self._house.missing:
            if name not in self._missing_since and self._house.is_server(name):
                events.warning("server-missing", member=name, server=self.name, advice="start it again, on its disk")
            since = self._missing_since.setdefault(name, now)
            if self._house.is_server(name) or (name not in gone and now < since + self._team.recover_s):
                continue
            back = self.registry.take_back(name)
            self._house.forget(name)
            self._out.pop(name, None)
            self._missing_since.pop(name)
            events.info("left", member=name, server=self.name, taken_back=back)
        for name in self._house.present:
            self._missing_since.pop(name, None)

    async def _set_pace(self, held: dict[str, int]) -> None:
        for client in self._house.clients:
            now = self._connections.setdefault(client, self._rules.connections)
            mine = sum(held.get(domain, 0) for domain in self._house.domains_of(client)) + self._out.get(client, 0)
            word, then = say(now, mine, self._rules)
            self._connections[client] = then
            if word is not Word.STEADY:
                await self._space.out(ClientPace(client, then, str(word)))
                events.info("pace", client=client, word=str(word), connections=then, held=mine)
            self.on_word(client, word, then, mine)

    async def _beat(self, passive: bool) -> None:
        self._beats += 1
        await self._space.out(
            Member(
                gatherer=self.name,
                run=self._run,
                state=MemberState.RUNNING,
                passive=passive,
                blocks_sent=self._sent,
                blocks_received=self._received,
                beat=self._beats,
                server=self._parent,
                is_server=True,
            ),
            ttl_s=self._team.lease_s,
        )

    async def _end_if_done(self, members: list[Member], seeds: int) -> None:
        """The crawl is over when nobody has anything to do, in two looks (`core.messages.termination`)."""
        there = [member for member in members if member.state != MemberState.GONE]
        later = look(there, 0, seeds) if self._house.clients or len(there) > 1 else None
        if later is None or self._look is None or not self._look.is_same(later):
            self._look = later
        elif self._look.is_confirmed_by(later):
            events.info("done", server=self.name)
            await self._space.out(Control(CrawlState.DONE, self.name))
            self.state = CrawlState.DONE
