"""The seed-server of WEB-SAILOR: keeps every URL and decides which client fetches what. startup → step* → shutdown.

    clients ─► Finds (what they fetched, every link) ─► registry: count, mark ─► the best seeds ─► UrlBlock ─► clients
    parent  ◄─ Finds: links outside of its domains;     parent ─► UrlBlock: links into them, also into new ones
                           seeds held for a client ─► ClientPace ("hurry up", "slow down")

Invariants
- A message is acked only after its effect is committed and the links that it sends on are sent. A crash repeats
  messages: links may count twice, nothing is lost.
- A seed is marked `out` in the registry before it is sent. It is sent again if its client is idle though seeds
  are out to it, so a block that the whiteboard forgot is no loss.
- A URL is out to one client at a time. A client that does not come back within recover_s loses its seeds. A server
  below does not: while it is away, its links wait on the whiteboard, and the crawl does not end.
- A session begins when all clients of the last one are here, or have been waited for, and have told what they know of
  its pages. So each page is asked for with the validators of the copy that is held, whichever client gets it now.
"""

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from gcs.core.messages.template import template
from gcs.core.messages.termination import Standstill, TeamSnapshot, look, still, why_stuck
from gcs.core.messages.tuples import ClientPace, Control, CrawlState, Finds, Link, Member, MemberState, Seeds, UrlBlock
from gcs.core.plan.seed_domains import SeedServerSettings, Word, domain_of, room, say
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.url.queued_url import QueuedUrl
from gcs.errors import UsageError
from gcs.events import Events
from gcs.ports.dset_registries import DsetRegistries
from gcs.ports.space.port import SEEDS_INBOX, Space, Taken
from gcs.ports.system.process import new_run
from gcs.ports.url_registry import Node, UrlRegistry
from gcs.roles.seedserver.clients import Clients

events = Events("seed-server")

#: tuples taken at a time
TAKE = 64
#: the registry's notes: clients and their domains (the name is that of older disks), and the last session that began
CLIENTS_NOTE, SESSION_NOTE = "household", "begun"
#: steps for which a client may be idle, though seeds are out to it, before they are sent again
PATIENT_STEPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedServerConfig:
    """What a seed-server is told when it starts."""

    name: str
    rules: SeedServerSettings
    team: TeamSettings
    #: the server above this one; "" for the only server, or the top of a hierarchy
    parent: str = ""
    session: int = 1
    #: seconds for which hosts may have to be left alone that were asked before this process started
    pause_s: float = 0.0


@dataclass(slots=True)
class OutgoingLinks:
    """Links for one client or server. Filled while a step takes in and hands out; sent at the end of the step."""

    links: list[Link] = field(default_factory=list)
    #: what the last session knew of some of the links
    copies: list[QueuedUrl] = field(default_factory=list)

    def add(self, link: Link, copy: QueuedUrl | None) -> None:
        self.links.append(link)
        if copy is not None:
            self.copies.append(copy)

    def add_nodes(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self.add(Link(node.url, node.worth, node.depth, node.parent), node.copy)


class SeedServer:
    """One seed-server: the only one, the top of a hierarchy, or below a parent."""

    def __init__(
        self,
        config: SeedServerConfig,
        space: Space,
        registry: UrlRegistry | DsetRegistries,
        *,
        clock: Callable[[], float],
        on_word: Callable[[str, Word, int, int], None] = lambda *_: None,
    ) -> None:
        """`clock` is monotonic. `on_word` hears each word to a client: client, word, connections, seeds held for it."""
        self._space, self.registry, self._clock, self._on_word = space, registry, clock, on_word
        self.name, self._parent, self._session = config.name, config.parent, config.session
        self._rules, self._team = config.rules, config.team
        self._run = new_run()
        self._clients = Clients(config.rules, registry.note(CLIENTS_NOTE))
        self._started_free_at = clock() + config.pause_s
        self._free_at: dict[str, float] = {}  # domain → when any client may ask all of its hosts
        self._out: dict[str, int] = defaultdict(int)  # client → seeds that are out to it
        self._connections: dict[str, int] = defaultdict(lambda: config.rules.connections)
        self._idle: dict[str, int] = defaultdict(int)  # client → steps for which it was idle, though it has seeds
        self._missing_since: dict[str, float] = {}
        self._sent = self._received = self._beats = 0
        self._beat_at = 0.0
        self._snapshot: TeamSnapshot | None = None
        self._still: Standstill | None = None
        self.state = CrawlState.RUNNING

    async def run(self) -> None:
        """Serve until the crawl ends."""
        await self.startup()
        try:
            while self.state in (CrawlState.RUNNING, CrawlState.PAUSED):
                await self.step()
        finally:
            await self.shutdown()

    async def startup(self) -> None:
        """Go on from the last commit. Waits while an earlier process of this name may be alive."""
        before = await self._space.read(template(Member, gatherer=self.name))
        while before is not None:
            await asyncio.sleep(self._team.beat_s)
            now = await self._space.read(template(Member, gatherer=self.name))
            if now is not None and now != before:
                raise UsageError(f"a seed-server called {self.name} serves this crawl already: use another --name")
            before = now
        self.registry.renew(self._session)
        for name in {*self._clients.owners.values()}:
            self._out[name] = len(self.registry.out_with(name))
        events.info("started", server=self.name, parent=self._parent, domains=len(self._clients.owners))

    async def shutdown(self) -> None:
        """Commit everything, and take this server off the board."""
        self.registry.commit()
        self.registry.close()
        await self._space.take(template(Member, gatherer=self.name, run=self._run))
        await self._space.close()

    # -- a step ----------------------------------------------------------------------------------------

    async def step(self) -> None:
        """Take messages in, hand seeds out, and every beat see to the clients."""
        await self._meet()
        taken: list[Taken[Any]] = []
        if self._clients.present:
            wait_s = 0.0 if self._beat_at + self._team.beat_s < self._clock() else self._team.beat_s / 2
            taken = await self._space.take_many(
                [template(Finds), template(UrlBlock)], at=self.name, limit=TAKE, timeout_s=wait_s
            )
            if not self._parent:
                taken += await self._space.take_many([template(Seeds)], at=SEEDS_INBOX, limit=TAKE)
        else:
            await asyncio.sleep(self._team.beat_s / 2)
        outgoing = self._take_in(taken)
        if self.state is CrawlState.RUNNING and self._begin_when_ready():
            self._hand_out(outgoing)
        self.registry.set_note(CLIENTS_NOTE, self._clients.encode())
        self.registry.commit()
        if await self._send(outgoing):
            self._received += len(taken)
            await self._space.ack(taken)
        else:
            await self._space.release(taken)

    def _take_in(self, taken: Iterable[Taken[Any]]) -> dict[str, OutgoingLinks]:
        """Put links and visits into the registry; returns the links for other servers."""
        outgoing: dict[str, OutgoingLinks] = defaultdict(OutgoingLinks)
        counts = self.registry.counts()
        for each in taken:
            # links from below may belong to other servers: those into unknown domains go up
            copies, goes_up = list[QueuedUrl](), bool(self._parent)
            match each.item:
                case Seeds(urls=urls):
                    links = [Link(url, 0) for url in urls]
                case Finds(links=links, copies=copies) as finds:
                    self._count_visits(finds)
                case UrlBlock(links=links, copies=copies):
                    goes_up = False
                case other:
                    raise AssertionError(f"a seed-server takes no {type(other).__name__}")
            known, mine = {copy.url: copy for copy in copies}, list[tuple[Link, str]]()
            for link in links:
                domain = domain_of(link.url, self._rules.domain)
                if goes_up and domain not in self._clients.owners:
                    outgoing[self._parent].add(link, known.get(link.url))
                    continue
                owner = self._clients.owner_of(domain, counts)
                if owner is not None and self._clients.is_server(owner):
                    outgoing[owner].add(link, known.get(link.url))
                else:
                    mine.append((link, domain))
            self.registry.add(mine, known)
        return outgoing

    async def _send(self, outgoing: dict[str, OutgoingLinks]) -> bool:
        """Send links and seeds; False if links for a server did not fit into its inbox, so must be taken again.

        Seeds that did not fit are out to their client in the registry: they are sent again.
        """
        for to, batch in outgoing.items():
            self._sent += 1
            if to == self._parent:
                finds = Finds(self.name, [], batch.links, session=self._session, copies=batch.copies)
                receipt = await self._space.out_many(Finds, [finds], to=to)
            else:
                receipt = await self._space.out_many(UrlBlock, [UrlBlock(0, batch.links, copies=batch.copies)], to=to)
            if receipt.full:
                self._idle[to] = PATIENT_STEPS
                if to == self._parent or self._clients.is_server(to):
                    return False
        return True

    def _count_visits(self, finds: Finds) -> None:
        """Mark what a client has visited, and when its hosts may be asked again. A server below has visited nothing.

        A visit of an earlier session that was not told in time does not count: this session asks for the page again.
        """
        changed = self.registry.visited(finds.done if finds.session == self._session else ())
        self._out[finds.client] = max(0, self._out[finds.client] - changed)
        now = self._clock()
        for host, wait_s in finds.free_in.items():
            domain = domain_of(f"http://{host}/", self._rules.domain)
            self._free_at[domain] = max(self._free_at.get(domain, 0.0), now + wait_s)

    def _begin_when_ready(self) -> bool:
        """Begin the session once all clients have told what they know from the last one; True if it has begun."""
        session = str(self._session).encode()
        if self._session == 1 or self.registry.note(SESSION_NOTE) == session:
            return True
        there = [self._clients.present[name] for name in self._clients.clients]
        if self._clients.missing_clients or any(member.settled_epoch < self._session for member in there):
            return False
        self.registry.set_note(SESSION_NOTE, session)
        events.info("session", server=self.name, session=self._session, clients=len(there))
        return True

    def _hand_out(self, outgoing: dict[str, OutgoingLinks]) -> None:
        """Give every client the best seeds of its domains, as many as it may have."""
        counts = self.registry.counts()
        for domain in counts:
            self._clients.owner_of(domain, counts)  # a domain whose client is gone gets another
        for domain, to in self._clients.settle(counts, self._is_free):
            events.info("moved", domain=domain, to=to, server=self.name)
        for client in self._clients.clients:
            if self._idle[client] >= PATIENT_STEPS:
                self._idle[client] = 0
                outgoing[client].add_nodes(self.registry.out_with(client))
            free = room(self._connections[client], self._out[client], self._rules)
            best = [
                (node.rank, domain)
                for domain in self._clients.domains_of(client)
                if (node := self.registry.best(domain))
            ]
            heapq.heapify(best)
            while best and free:
                _, domain = heapq.heappop(best)
                seeds = self.registry.hand_out(domain, client, 1)
                outgoing[client].add_nodes(seeds)
                self._out[client] += len(seeds)
                free -= 1
                if node := self.registry.best(domain):
                    heapq.heappush(best, (node.rank, domain))

    def _is_free(self, domain: str) -> bool:
        """Whether politeness lets another client ask the hosts of a domain."""
        return self._clock() >= max(self._free_at.get(domain, 0.0), self._started_free_at)

    # -- every beat: clients and servers -----------------------------------------------------------------

    async def _meet(self) -> None:
        """Every beat: see which members are there, set their pace, post a heartbeat, end the crawl if it is done."""
        now = self._clock()
        if now < self._beat_at + self._team.beat_s:
            return
        # on a slow line a step takes longer than a beat: this server's heartbeat has to last until the next one
        lease_s = max(self._team.lease_s, 3 * (now - self._beat_at)) if self._beats else self._team.lease_s
        self._beat_at = now
        control, seeds, finds, links = await asyncio.gather(
            self._space.read(template(Control)),
            self._space.count(template(Seeds), at=SEEDS_INBOX),
            self._space.count(template(Finds), at=self.name),
            self._space.count(template(UrlBlock), at=self.name),
        )
        self.state = control.state if control else CrawlState.RUNNING
        everybody = await self._space.scan(template(Member))
        mine = [member for member in everybody if member.server == self.name and member.state != MemberState.GONE]
        for name in self._clients.meet(mine):
            events.info("joined", member=name, server=self.name)
            self._out[name] = len(self.registry.out_with(name))
        if self.state in (CrawlState.RUNNING, CrawlState.PAUSED):  # otherwise all leave, and none is missing
            self._miss({member.gatherer for member in everybody if member.state == MemberState.GONE}, now)
        counts = self.registry.counts()
        self._clients.share(counts)
        await self._set_pace({domain: count.held for domain, count in counts.items()})
        for client in self._clients.clients:
            is_idle = self._clients.present[client].passive and self._out[client] > 0
            self._idle[client] = self._idle[client] + 1 if is_idle else 0
        busy = (
            finds or links or self._clients.missing_servers or any(count.held or count.out for count in counts.values())
        )
        await self._beat(not busy, lease_s)
        if not self._parent:
            # this server's own heartbeat in `everybody` is that of the last beat
            await self._end_if_done([] if busy else everybody, seeds)
            await self._end_if_stuck(everybody, now)

    def _miss(self, gone: set[str], now: float) -> None:
        """Take back the seeds of a client that has left, or is away for too long. A missing server is waited for."""
        for name in self._clients.missing:
            if name not in self._missing_since and self._clients.is_server(name):
                events.warning("server-missing", member=name, server=self.name, advice="start it again, on its disk")
            since = self._missing_since.setdefault(name, now)
            if self._clients.is_server(name) or (name not in gone and now < since + self._team.recover_s):
                continue
            back = self.registry.take_back(name)
            self._clients.forget(name)
            self._out.pop(name, None)
            self._missing_since.pop(name)
            events.info("left", member=name, server=self.name, taken_back=back)
        for name in self._clients.present:
            self._missing_since.pop(name, None)

    async def _set_pace(self, held: dict[str, int]) -> None:
        for client in self._clients.clients:
            mine = sum(held.get(domain, 0) for domain in self._clients.domains_of(client)) + self._out[client]
            word, then = say(self._connections[client], mine, self._rules)
            self._connections[client] = then
            if word is not Word.STEADY:
                await self._space.out(ClientPace(client, then, str(word)))
                events.info("pace", client=client, word=str(word), connections=then, held=mine)
            self._on_word(client, word, then, mine)

    async def _beat(self, passive: bool, lease_s: float) -> None:
        self._beats += 1
        await self._space.out(
            Member(
                gatherer=self.name,
                run=self._run,
                state=MemberState.RUNNING,
                passive=passive,
                blocks_sent=self._sent,
                blocks_received=self._received,
                figures={"waits": 1.0},  # it only answers
                beat=self._beats,
                server=self._parent,
                is_server=True,
            ),
            ttl_s=lease_s,
        )

    async def _end_if_done(self, members: list[Member], seeds: int) -> None:
        """End the crawl if nobody has anything to do, in two snapshots (`core.messages.termination`)."""
        there = [member for member in members if member.state != MemberState.GONE]
        later = look(there, 0, seeds) if self._clients.clients or len(there) > 1 else None
        if later is None or self._snapshot is None or not self._snapshot.is_same(later):
            self._snapshot = later
        elif self._snapshot.is_confirmed_by(later):
            events.info("done", server=self.name)
            await self._space.out(Control(CrawlState.DONE, self.name))
            self.state = CrawlState.DONE

    async def _end_if_stuck(self, members: list[Member], now: float) -> None:
        """Stop a crawl in which everybody waits for others, for good (`core.messages.termination`).

        Blocks that this server sends again and again to a client that does not answer are no progress.
        """
        there = [member for member in members if member.state != MemberState.GONE]
        received = self._received if self._clients.clients and not self._clients.missing else None
        earlier, later = self._still, still(there, (received,), now)
        self._still = later
        if self.state is not CrawlState.RUNNING or earlier is None or later is None or received is None:
            return
        ours = {member.gatherer for member in there if member.is_server}
        if _without(earlier, ours) != _without(later, ours):
            return
        self._still = earlier
        if earlier.is_lasting(later, self._team.recover_s):
            why = why_stuck(there)
            events.warning("stuck", server=self.name, reason=why)
            await self._space.out(Control(CrawlState.STOPPING, self.name, "stuck", why))


def _without(team: Standstill, servers: set[str]) -> dict[str, tuple[object, ...]]:
    return {name: state for name, state in team.members.items() if name not in servers}
