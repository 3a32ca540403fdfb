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

A crawl that cannot end. If everybody waits for others (a message that nobody can read or deliver), the crawl would
stand still for ever. So when, over some time and many heartbeats of all, everybody has waited and nothing has changed,
the crawl is *stuck*: it is stopped, with everything kept on the disks, and says why.

Invariant: never says that a crawl is over which could go on by itself; always does, after a few beats, when it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gcs.core.messages.tuples import Member

#: newer heartbeats of each member that the second look needs
FRESH_BEATS = 2
#: heartbeats of each member during which nothing may change before a crawl counts as stuck. Seconds alone would not do:
#: the machines may have slept
STILL_BEATS = 10


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


@dataclass(frozen=True, slots=True)
class Standstill:
    """A team in which everybody waits for others: gatherer → all that would change if it did not, and → beat."""

    members: dict[str, tuple[object, ...]]
    beats: dict[str, int]
    since: float

    def is_lasting(self, later: "Standstill", seconds: float) -> bool:
        """Whether nothing has changed for so many seconds, and for many heartbeats of each member."""
        is_long = all(later.beats[name] >= beat + STILL_BEATS for name, beat in self.beats.items())
        return is_long and later.since - self.since >= seconds


def still(members: Iterable[Member], board: tuple[object, ...], now: float) -> Standstill | None:
    """A team that stands still now, under what the board says; None if somebody is at work."""
    team = list(members)
    if not team or not all(member.figures.get("waits") for member in team):
        return None
    states: dict[str, tuple[object, ...]] = {
        each.gatherer: (each.run, each.epoch, each.settled_epoch, each.state, each.blocks_sent, each.blocks_received)
        for each in team
    }
    return Standstill(states | {"": board}, {member.gatherer: member.beat for member in team}, now)


def why_stuck(members: Iterable[Member]) -> str:
    """What holds a team up that stands still, and what to do."""
    unread = {member.gatherer: int(member.figures.get("unread", 0)) for member in members}
    if any(unread.values()):
        names = ", ".join(f"{name} ({count})" for name, count in sorted(unread.items()) if count)
        return f"messages of another version of GCS cannot be read by {names}: install one version everywhere"
    kept = {member.gatherer: int(member.figures.get("outbox", 0)) for member in members}
    if any(kept.values()):
        names = ", ".join(f"{name} ({count})" for name, count in sorted(kept.items()) if count)
        return (
            f"nobody takes the messages of {names}: is Redis out of memory, were messages set aside (gcs space ls),"
            " or is a gatherer of an older version?"
        )
    return "everybody waits, and nothing is under way: were messages set aside (gcs space ls)?"
