"""The clients of a seed-server, and which of them owns which domains.

A member is a crawl-client, or a seed-server one level down. URLs of a domain that a client owns are in the registry.
Links into a domain that a server owns are passed down, and wait on the whiteboard while that server is away.

Invariant: a domain has one owner. The owner changes only while none of the domain's URLs is out and its hosts' delays
are over (`settle`), or when the owner, a client, is gone. A domain of a server stays there, with its URLs.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from gcs.core.messages.tuples import Member, MemberState
from gcs.core.plan.seed_domains import SeedServerSettings, choose, fair_moves
from gcs.ports.url_registry import Count


class _Book(msgspec.Struct, array_like=True):
    """The part that survives: members in the order in which they came, domain → member, and the servers among them."""

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
        """The lasting part, as bytes for the registry's notes."""
        return msgspec.msgpack.encode(_Book(self._came, self.owners, self._servers))

    def meet(self, members: Iterable[Member]) -> list[str]:
        """Note which members are there now; returns the names that never came before."""
        self.present = {member.gatherer: member for member in members}
        self._servers |= {name for name, member in self.present.items() if member.is_server}
        new = [name for name in sorted(self.present) if name not in self._came]
        self._came += new
        return new

    @property
    def clients(self) -> list[str]:
        """The clients that are there and are not leaving, in the order in which they came."""
        return [name for name in self._members if name not in self._servers]

    @property
    def _members(self) -> list[str]:
        return [name for name in self._came if name in self.present and self.present[name].state == MemberState.RUNNING]

    def is_server(self, name: str) -> bool:
        """Whether a member, present or missing, is a seed-server."""
        return name in self._servers

    @property
    def missing(self) -> list[str]:
        """Members that have come and are not there now."""
        return [name for name in self._came if name not in self.present]

    @property
    def missing_clients(self) -> list[str]:
        """Clients that have come before and are not there now."""
        return [name for name in self.missing if name not in self._servers]

    @property
    def missing_servers(self) -> list[str]:
        """Servers that are away: their URLs are on their disks, so the crawl cannot end without them."""
        return [name for name in self.missing if name in self._servers]

    def owner_of(self, domain: str, held: Mapping[str, Count]) -> str | None:
        """The owner of a domain, chosen now if it has none; None if no member is there."""
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
        """Decide which domains move to clients that have nothing to do; none, if a DSet is for life."""
        if self._rules.for_life:
            return
        waiting = {domain: count.held + count.out for domain, count in counts.items()}
        decided = fair_moves(self.owners, waiting, self.clients, self._rules)
        self._moves = {domain: to for domain, to in decided.items() if counts[domain].held}

    def settle(self, counts: Mapping[str, Count], is_free: Callable[[str], bool]) -> list[tuple[str, str]]:
        """Carry out the moves of domains that have no URL out and whose hosts may be asked; returns these moves."""
        ready = [(domain, to) for domain, to in self._moves.items() if not counts[domain].out and is_free(domain)]
        for domain, to in ready:
            self.owners[domain] = to
            del self._moves[domain]
        return ready

    def forget(self, name: str) -> None:
        """Forget a client that is gone for good: its domains have no owner now."""
        self._came.remove(name)
        self.owners = {domain: owner for domain, owner in self.owners.items() if owner != name}
        self._moves = {domain: to for domain, to in self._moves.items() if to != name and domain in self.owners}
