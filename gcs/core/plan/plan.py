"""The Plan: who crawls what, as an immutable value with an epoch.

Computed by the leader from merged statistics, published once, never edited. A gatherer that holds it routes by it
without asking anyone.

Invariant: the superpages partition the key space and each has exactly one owner among `gatherers`.
It does not know how it was made (`core.tree.superpages`, `core.partition`) nor how it is carried out.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Self

import msgspec
import xxhash

from gcs.core.messages.codec import pack, unpack
from gcs.core.plan.keyspace import Keyspace
from gcs.core.tree.tree import Cuts, is_expansion
from gcs.core.url.sortkey import LAST_KEY, PAGES, PAGES_END, host_of_key

_VERSION = 1
#: bits per key and probes per look-up of a Bloom filter: 0.9 % false
BITS, PROBES = 10, 7


class Bloom(msgspec.Struct, frozen=True):
    """A Bloom filter, small enough for everybody to hold. Without bits, nothing is known."""

    #: eight to a byte
    bits: bytes = b""

    @classmethod
    def of(cls, keys: Iterable[bytes], count: int) -> Self:
        """A filter that knows these keys, about `count` of them."""
        bits = bytearray(max(count * BITS // 8, 8))
        size = 8 * len(bits)
        for key in keys:
            for at in _probes(key, size):
                bits[at >> 3] |= 1 << (at & 7)
        return cls(bytes(bits))

    def __contains__(self, key: bytes) -> bool:
        bits = self.bits
        return bool(bits) and all(bits[at >> 3] >> (at & 7) & 1 for at in _probes(key, 8 * len(bits)))

    def __bool__(self) -> bool:
        return bool(self.bits)


def _probes(key: bytes, size: int) -> list[int]:
    digest = xxhash.xxh3_128_intdigest(key)
    low, step = digest & 0xFFFFFFFFFFFFFFFF, digest >> 64 | 1
    return [(low + probe * step) % size for probe in range(PROBES)]


class ExchangeMode(StrEnum):
    """What becomes of a foreign URL (Cho and Garcia-Molina)."""

    FIREWALL = "firewall"  # it is dropped
    CROSS_OVER = "cross-over"  # its finder fetches it when its own queue is empty
    EXCHANGE = "exchange"  # it is sent to its owner
    INDEPENDENT = "independent"  # its finder fetches it like its own


class Move(msgspec.Struct, frozen=True):
    """A range [low, high) that changes its owner."""

    low: bytes
    high: bytes
    loser: str
    winner: str


class Plan(msgspec.Struct, frozen=True):
    """The plan of one epoch. Superpage i is [cuts[i], cuts[i + 1]) and belongs to gatherers[owners[i]].

    Cuts, and all other ranges of a plan, are places in its `keyspace`.
    """

    epoch: int
    gatherers: tuple[str, ...]
    cuts: Cuts
    owners: tuple[int, ...]
    #: URLs of large in-degree that every gatherer takes for seen: nobody posts them (§6; Cho's replication)
    hot_pages: tuple[str, ...] = ()
    mode: ExchangeMode = ExchangeMode.EXCHANGE
    #: ranges that nobody will hand over: their owner and its disk are gone, or there never was one
    lost: tuple[tuple[bytes, bytes], ...] = ()
    #: what changes its owner with this plan; the next one is made when all of it is handed over, or given up
    moves: tuple[Move, ...] = ()
    #: gatherers that this plan relieves of everything; they go when they have handed it over
    leavers: tuple[str, ...] = ()
    keyspace: Keyspace = msgspec.field(default=Keyspace.TREE, name="ground")  # its name in crawls that exist
    #: what the last session knew, where everything else belongs to its finder (C5); empty: all goes by the cuts
    listed: Bloom = Bloom()
    #: whether it is hosts that are listed, not pages
    lists_hosts: bool = False
    #: number of the session for which it was made
    session: int = 1
    #: made ahead: changed only when somebody comes, goes or asks for it
    static: bool = False
    #: plans of the crawl before this one; epochs may leave numbers out
    before: int = 0

    def __post_init__(self) -> None:
        if not is_expansion(self.cuts) or len(self.owners) != len(self.cuts):
            raise ValueError("a plan needs ascending cuts from the first key, and an owner for each superpage")
        if len(set(self.gatherers)) != len(self.gatherers):
            raise ValueError("two gatherers of one name")
        if min(self.owners) < 0 or max(self.owners) >= len(self.gatherers):
            raise ValueError("a superpage is owned by nobody")

    def locate(self, key: bytes) -> int:
        return self.at(self.keyspace.place(key))

    def at(self, place: bytes) -> int:
        """The superpage of a place in the key space, such as a cut."""
        return bisect_right(self.cuts, place) - 1

    def locate_many(self, keys: Iterable[bytes]) -> list[int]:
        cuts = self.cuts
        places = keys if self.keyspace is Keyspace.TREE else map(self.keyspace.place, keys)
        return [bisect_right(cuts, place) - 1 for place in places]

    def owner_of(self, key: bytes) -> str:
        """The gatherer that crawls the page with this key."""
        return self.gatherers[self.owners[bisect_right(self.cuts, self.keyspace.place(key)) - 1]]

    def is_finders(self, key: bytes) -> bool:
        """Whether the page with this key belongs to the gatherer that finds it."""
        if self.mode is ExchangeMode.INDEPENDENT:
            return True
        return bool(self.listed) and (host_of_key(key) if self.lists_hosts else key) not in self.listed

    @property
    def mixes(self) -> bool:
        """Whether a gatherer may fetch pages of ranges that are not its own."""
        return self.mode in (ExchangeMode.CROSS_OVER, ExchangeMode.INDEPENDENT) or bool(self.listed)

    @property
    def shares_all_hosts(self) -> bool:
        """Whether any gatherer may ask any host."""
        return self.keyspace is Keyspace.URL_HASH or self.mixes

    def ranges(self) -> Iterator[tuple[bytes, bytes, str]]:
        """The key space as (low, high, owner), neighbours of one owner as one range."""
        low, last = self.cuts[0], self.owners[0]
        for cut, owner in zip(self.cuts, self.owners):
            if owner != last:
                yield low, cut, self.gatherers[last]
                low, last = cut, owner
        yield low, LAST_KEY, self.gatherers[last]

    def ranges_of(self, gatherer: str) -> list[tuple[bytes, bytes]]:
        """The ranges that a gatherer owns, neighbours joined."""
        return [(low, high) for low, high, owner in self.ranges() if owner == gatherer]

    def shared_hosts(self) -> dict[bytes, tuple[str, ...]]:
        """Hosts whose pages have several owners (as in `sortkey.host_of_key`), with these.

        Where the plan `shares_all_hosts`, all hosts are shared by all, and not all of them stand here.
        """
        shared: dict[bytes, tuple[str, ...]] = {}
        if self.keyspace is not Keyspace.TREE:
            return shared
        for host in {host_of_key(cut) for cut in self.cuts if b"\x00/" in cut}:
            first = bisect_right(self.cuts, host + PAGES) - 1
            last = bisect_left(self.cuts, host + PAGES_END)
            owners = {self.gatherers[owner] for owner in self.owners[first:last]}
            if len(owners) > 1:
                shared[host] = tuple(sorted(owners))
        return shared

    def changing_hosts(self) -> set[bytes]:
        """Shared hosts whose owners change with this plan: a part of their pages moves, not all."""
        if self.keyspace is not Keyspace.TREE:
            return set()
        moved = (*((move.low, move.high) for move in self.moves), *self.lost)
        return {host_of_key(end) for ends in moved for end in ends if b"\x00/" in end}

    def encode(self) -> bytes:
        return pack(_VERSION, self)

    @classmethod
    def decode(cls, data: bytes) -> "Plan":
        return unpack(cls, _VERSION, data)


def diff(old: Plan, new: Plan) -> list[Move]:
    """The ranges that move from one owner to another, in key order, neighbours with the same move as one."""
    moves: list[Move] = []
    for low, high, loser, winner in _aligned(old.ranges(), new.ranges()):
        if loser == winner:
            continue
        last = moves[-1] if moves else None
        if last and (last.high, last.loser, last.winner) == (low, loser, winner):
            moves[-1] = Move(last.low, high, loser, winner)
        else:
            moves.append(Move(low, high, loser, winner))
    return moves


def _aligned(
    old: Iterable[tuple[bytes, bytes, str]], new: Iterable[tuple[bytes, bytes, str]]
) -> Iterator[tuple[bytes, bytes, str, str]]:
    """Both divisions of the key space, cut at the cuts of either."""
    before, after = iter(old), iter(new)
    (low, end, loser), (_, stop, winner) = next(before), next(after)
    while True:
        high = min(end, stop)
        yield low, high, loser, winner
        if high == LAST_KEY:
            return
        low = high
        if end == high:
            _, end, loser = next(before)
        if stop == high:
            _, stop, winner = next(after)
