"""The end of a crawl, detected exactly: nobody has anything to do, and nothing is under way.

Heartbeats are snapshots of different moments, so one look at them proves nothing: a gatherer that was passive may have
received a block since. But a gatherer is *passive* only if all it sent is committed by its receivers, and it wakes
only by what it receives. So if, between two looks, nobody has sent or received anything, and every snapshot of the
second look was taken after the first look, then all were passive at once with nothing under way: for good.

    beat b     in the first look
    beat b+1   may have been taken before the first look and posted after it (a slow network)
    beat b+2   was taken after b+1 was posted: after the first look

Seeds are counted before each look, and again at the end. A gatherer that has taken seeds says so in a heartbeat before
they are gone from that count; so seeds that were there earlier are in the counters of the look.

Invariant: never says that a crawl is over which could go on by itself; always does, after a few beats, when it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gcs.core.messages.tuples import Member

#: newer heartbeats of each member that the second look needs
FRESH_BEATS = 2


@dataclass(frozen=True, slots=True)
class TeamSnapshot:
    """A look at a team that was passive: gatherer → (run, blocks sent, blocks received), and → beat."""

    counters: dict[str, tuple[str, int, int]]
    beats: dict[str, int]

    def is_same(self, later: "TeamSnapshot") -> bool:
        """Whether nobody came or went, started again, sent or received anything between the two."""
        return self.counters == later.counters

    def is_confirmed_by(self, later: "TeamSnapshot") -> bool:
        """Whether the later look proves that the crawl was over at the time of this one."""
        return self.is_same(later) and all(later.beats[name] >= beat + FRESH_BEATS for name, beat in self.beats.items())


def look(members: Iterable[Member], epoch: int, seeds: int) -> TeamSnapshot | None:
    """A look at all members under the plan of this epoch; None if somebody has something to do."""
    team = list(members)
    if seeds or not team or not all(member.passive and member.settled_epoch >= epoch for member in team):
        return None
    return TeamSnapshot(
        {member.gatherer: (member.run, member.blocks_sent, member.blocks_received) for member in team},
        {member.gatherer: member.beat for member in team},
    )
