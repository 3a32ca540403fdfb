"""The household of a seed-server: who belongs to it, and who has which domains.

A member is a crawl-client, or a seed-server one level down. A domain that a member server has is its own: links into
it are passed down, and wait for it where it is away. One that a client has is crawled from our registry.

Invariant: a domain has one owner; it changes only while none of its URLs is out and its hosts' delays are over
(`settle`), or when its owner, a client, is gone. One that a server has stays there, for that server has its URLs.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from gcs.core.messages.tuples import Member, MemberState
from gcs.core.plan.seed_domains import SeedServerSettings, choose, fair_moves
from gcs.ports.url_registry import Count


class _Book(msgspec.Struct, array_like=True):
    """What survives: members in the order in which they came, domain → member, and which members are servers."""

    came: list[str] = []
    owners: dict[str, str] = {}
    servers: set[str] = set()


class Clients:
    """Members and domains of one seed-server."""

    def __init__(self, rules: SeedServerSettings, packed: bytes | None) -> None:
        self._rules = rules
        book = msgspec.msgpack.decode(packed, type=_Book) if packed else _Book()
        self._came, self.owners, self._servers = book.came, book.owners, book.servers
        self._moves: dict[str, str] = {}  # decided by share; carried out by settle
        self.present: dict[str, Member] = {}

    def encode(self) -> bytes:
        """As bytes, for the registry's notes."""
        return msgspec.msgpack.encode(_Book(self._came, self.owners, self._servers))

    def meet(self, members: Iterable[Member]) -> list[str]:
        """These are there now; returns those that were not, before."""
        self.present = {member.gatherer: member for member in members}
        self._servers |= {name for name, member in self.present.items() if member.is_server}
        new = [name for name in sorted(self.present) if name not in self._came]
        self._came += new
        return new

    @property
    def clients(self) -> list[str]:
        """The clients that are there and stay, in the order in which they came."""
        return [name for name in self._members if name not in self._servers]

    @property
    def _members(self) -> list[str]:
        return [name for name in self._came if name in self.present and self.present[name].state == MemberState.RUNNING]

    def is_server(self, name: str) -> bool:
        """Whether this member is a seed-server, be it there or not."""
        return name in self._servers

    @property
    def missing_clients(self) -> list[str]:
        """Clients that have come before and are not there now."""
        return [name for name in self.missing if name not in self._servers]

    @property
    def awaits(self) -> list[str]:
        """Servers that are away: what they have is on their disks, so nothing is over without them."""
        return [name for name in self.missing if name in self._servers]

    def owner_of(self, domain: str, held: Mapping[str, Count]) -> str | None:
        """Who has a domain; it is given to somebody if nobody has it. None if nobody is there."""
        owner = self.owners.get(domain)
        if owner is None and (members := self._members):
            loads: dict[str, int] = dict.fromkeys(members, 0)
            for each, name in self.owners.items():
                if name in loads:
                    loads[name] += 1 + (held[each].held if each in held else 0)
            owner = self.owners[domain] = choose(domain, members, loads, self._rules)
        return owner

    def domains_of(self, client: str) -> list[str]:
        """The domains from which a client is given seeds now."""
        return [domain for domain, name in self.owners.items() if name == client and domain not in self._moves]

    def share(self, counts: Mapping[str, Count]) -> None:
        """Let clients that have nothing to do have some of the others' domains."""
        waiting = {domain: count.held + count.out for domain, count in counts.items()}
        decided = fair_moves(self.owners, waiting, self.clients, self._rules)
        self._moves = {domain: to for domain, to in decided.items() if counts[domain].held}

    def settle(self, counts: Mapping[str, Count], is_free: Callable[[str], bool]) -> list[tuple[str, str]]:
        """Carry out the moves of which nothing is out any more, and whose hosts are owed nothing; returns them."""
        ready = [(domain, to) for domain, to in self._moves.items() if not counts[domain].out and is_free(domain)]
        for domain, to in ready:
            self.owners[domain] = to
            del self._moves[domain]
        return ready

    def forget(self, name: str) -> None:
        """A client is gone for good: its domains are nobody's."""
        self._came.remove(name)
        self.owners = {domain: owner for domain, owner in self.owners.items() if owner != name}
        self._moves = {domain: to for domain, to in self._moves.items() if to != name and domain in self.owners}

    @property
    def missing(self) -> list[str]:
        """Members that have come and are not there now."""
        return [name for name in self._came if name not in self.present]
