"""What a seed-server decides (WEB-SAILOR): which client crawls which domains, how many seeds it gets, how fast it goes.

A *DSet* is a set of domains; a client has one, and a domain is in one. The server hands a client only URLs of its
DSet, so that no two clients fetch the same page, and a client needs to know nobody but the server.

    hurry up    the server holds many seeds for the client's DSet: it may open twice as many connections
    slow down   it holds few: half as many will do

Invariant: a domain changes its client only while no client holds a URL of it, so a host never sees two clients.
Pure: it reads no clock and sends nothing.
"""

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from gcs.core.url.sortkey import host_name, host_of_key, sort_key
from gcs.errors import SettingsError


@dataclass(frozen=True, slots=True)
class SeedServerSettings:
    """How a seed-server shares out seeds. Used where team.coordination is seed-server."""

    #: which seed goes first: backlink, opic, bfs, or a score of your own, as crawl.order (which is not asked here)
    order: str = "backlink"
    #: what a domain is: the last label of a host name (com, edu …; of an address, the address), or the whole host
    domain: Literal["top", "host"] = "top"
    #: domain sets by hand, the words of each one: the first goes to the client that comes first; the rest is shared out
    dsets: tuple[str, ...] = ()
    #: a domain stays with its client for the client's life, as the paper has it, also where another has nothing to do
    for_life: bool = False
    #: keep the registry in so many files, each with a thread of its own: of the DSets by hand one each, and the other
    #: domains spread over all. 1: one file
    registries: int = 1
    #: connections of a client when it comes
    connections: int = 8
    #: connections of a client that was told to slow down, at least
    least_connections: int = 2
    #: connections of a client that was told to hurry up, at most
    most_connections: int = 64
    #: "slow down" below so many seeds held for each connection of a client
    slow_below: float = 1.0
    #: "hurry up" above so many seeds held for each connection of a client
    hurry_above: float = 8.0
    #: seeds that a client holds for each of its connections
    ahead: int = 4

    def __post_init__(self) -> None:
        if not 1 <= self.registries <= 64:
            raise SettingsError(f"seed_server.registries is {self.registries}: give 1 to 64")


def registry_of(domain: str, rules: SeedServerSettings) -> int:
    """The number of the registry in which the URLs of a domain are: one for each DSet."""
    for number, words in enumerate(rules.dsets):
        if domain in words.split():
            return number % rules.registries
    return zlib.crc32(domain.encode()) % rules.registries


class Word(StrEnum):
    """What the server says to a client about its connections."""

    STEADY = "steady"
    HURRY_UP = "hurry up"
    SLOW_DOWN = "slow down"


def domain_of(url: str, kind: Literal["top", "host"]) -> str:
    host = host_name(host_of_key(sort_key(url)))
    if kind == "host" or host.startswith("[") or host.replace(".", "").isdigit():
        return host
    return host.rpartition(".")[2]


def say(connections: int, held: int, rules: SeedServerSettings) -> tuple[Word, int]:
    """What to say to a client, and how many connections it gets; `held` are the seeds held for its DSet."""
    if held < rules.slow_below * connections and connections > rules.least_connections:
        return Word.SLOW_DOWN, max(rules.least_connections, connections // 2)
    if held > rules.hurry_above * connections and connections < rules.most_connections:
        return Word.HURRY_UP, min(rules.most_connections, connections * 2)
    return Word.STEADY, connections


def room(connections: int, out: int, rules: SeedServerSettings) -> int:
    """How many more seeds a client may hold."""
    return max(0, connections * rules.ahead - out)


def choose(domain: str, clients: Sequence[str], held: Mapping[str, int], rules: SeedServerSettings) -> str:
    """The client that gets a free domain: by the rules, in the order in which clients came; or the one with least."""
    for number, words in enumerate(rules.dsets):
        if domain in words.split():
            return clients[min(number, len(clients) - 1)]
    return min(clients, key=lambda client: held.get(client, 0))


def fair_moves(
    owners: Mapping[str, str], waiting: Mapping[str, int], clients: Collection[str], rules: SeedServerSettings
) -> dict[str, str]:
    """Domains that should move, each with its new client: from clients with several domains to clients with no seeds.

    `owners` is domain → client, `waiting` domain → its seeds that nobody has visited.
    """
    fixed = {word for words in rules.dsets for word in words.split()}
    loads = dict.fromkeys(clients, 0)
    domains: dict[str, list[tuple[int, str]]] = {client: [] for client in clients}
    for domain, client in owners.items():
        if client in loads and waiting.get(domain, 0):
            loads[client] += waiting[domain]
            domains[client].append((waiting[domain], domain))
    moves: dict[str, str] = {}
    for poor in sorted(client for client, load in loads.items() if not load):
        while True:
            rich = max(loads, key=lambda client: (len(domains[client]) > 1, loads[client], client))
            fitting = [
                (size, domain)
                for size, domain in domains[rich]
                if domain not in fixed and loads[poor] + size <= loads[rich] - size
            ]
            if len(domains[rich]) < 2 or not fitting:
                break
            size, domain = max(fitting)
            domains[rich].remove((size, domain))
            loads[rich] -= size
            loads[poor] += size
            moves[domain] = poor
    return moves
