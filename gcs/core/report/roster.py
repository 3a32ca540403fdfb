"""The roster: the members of a team and how they do, as the whiteboard shows them. Pure."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from gcs.core.messages.tuples import Control, HelperBeat, LeaderLease, Member, PlanPosted
from gcs.core.plan.plan import Plan


class Row(msgspec.Struct, frozen=True):
    """One member."""

    gatherer: str
    state: str
    leads: bool
    superpages: int
    queued: int
    in_flight: int
    pages: int
    pages_per_s: float
    busy: float
    #: blocks that wait in its inbox, and blocks of its own that others have not committed yet
    inbox: int
    outbox: int
    epoch: int
    settled: bool


class Help(msgspec.Struct, frozen=True):
    """The helpers of one place."""

    place: str
    helpers: int
    #: pages that they fetch at once
    connections: int
    pages_per_s: float


class Roster(msgspec.Struct, frozen=True):
    """The team."""

    crawl_state: str
    epoch: int
    superpages: int
    committed: bool
    members: list[Row]
    help: list[Help] = []


def rows(members: Iterable[Member], leader: LeaderLease | None, waiting: Mapping[str, int]) -> list[Row]:
    """The members in the order of their names; `waiting` are the blocks in each inbox."""
    return [_row(member, leader, waiting) for member in sorted(members, key=lambda member: natural(member.gatherer))]


def natural(name: str) -> list[str | int]:
    """A name as people sort it: g2 before g10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def roster(
    members: Iterable[Member],
    posted: PlanPosted | None,
    leader: LeaderLease | None,
    control: Control | None,
    waiting: Mapping[str, int],
    beats: Iterable[HelperBeat] = (),
) -> Roster:
    return Roster(
        crawl_state=str(control.state) if control else "",
        epoch=posted.epoch if posted else 0,
        superpages=len(Plan.decode(posted.plan).cuts) if posted else 0,
        committed=bool(posted and posted.committed),
        members=rows(members, leader, waiting),
        help=_help(list(beats)),
    )


def _help(beats: list[HelperBeat]) -> list[Help]:
    found = []
    for place in sorted({beat.place for beat in beats}):
        there = [beat for beat in beats if beat.place == place]
        connections, pages_per_s = sum(beat.connections for beat in there), sum(beat.pages_per_s for beat in there)
        found.append(Help(place, len(there), connections, round(pages_per_s, 2)))
    return found


def _row(member: Member, leader: LeaderLease | None, waiting: Mapping[str, int]) -> Row:
    figures = member.figures
    return Row(
        gatherer=member.gatherer,
        state=member.state,
        leads=leader is not None and leader.gatherer == member.gatherer,
        superpages=int(figures.get("superpages", 0)),
        queued=int(figures.get("queued", 0)),
        in_flight=int(figures.get("in_flight", 0)),
        pages=int(figures.get("pages", 0)),
        pages_per_s=figures.get("pages_per_s", 0.0),
        busy=figures.get("busy", 0.0),
        inbox=waiting.get(member.gatherer, 0),
        outbox=int(figures.get("outbox", 0)),
        epoch=member.epoch,
        settled=member.settled_epoch == member.epoch,
    )
