"""The roster: the members of a team and how they do, as the whiteboard shows them. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from gcs.core.messages.tuples import Account, Control, HelperBeat, LeaderLease, Member, MemberState, PlanPosted
from gcs.core.plan.plan import Plan
from gcs.core.report.estimate import Outlook, estimate
from gcs.core.report.report import decoded
from gcs.core.report.workload import Workload


class Row(msgspec.Struct, frozen=True):
    """How one member of the team stands."""

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
    #: tuples that it has refused, because they do not have the seal of the team
    refused: int = 0
    #: seconds by which its clock is ahead of the whiteboard's
    skew_s: float = 0.0


class Help(msgspec.Struct, frozen=True):
    """The helpers of one place."""

    place: str
    helpers: int
    #: pages that they fetch at once
    connections: int
    pages_per_s: float


class Roster(msgspec.Struct, frozen=True):
    """How all members of a team stand."""

    crawl_state: str
    epoch: int
    superpages: int
    committed: bool
    members: list[Row]
    help: list[Help] = []
    outlook: Outlook = Outlook()


def workloads(members: Iterable[Member], accounts: Iterable[Account] = (), session: int = 1) -> list[Workload]:
    """What the gatherers that are there have to do; of those of an earlier version, as far as their figures say.

    Gatherers that have gone have nothing to do: by their accounts, only the pages of this session count. If all have
    gone, their accounts tell how the crawl ended.
    """
    there = [member for member in members if member.state != MemberState.GONE and not member.is_server]
    names = {member.gatherer for member in there}
    shares = (decoded(account.share) for account in accounts if account.gatherer not in names)
    gone = [share for share in shares if share and share.session == session]
    return [*map(_workload, there), *(Workload(pages=share.counters.pages) if there else share.whole for share in gone)]


def _workload(member: Member) -> Workload:
    if member.work.known or not member.figures:
        return member.work
    figures = member.figures
    known, queued, pages = (int(figures.get(name, 0)) for name in ("known", "queued", "pages"))
    return Workload(known, queued, pages, (figures.get("explored", 0.0), 0.0, 1.0))


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
    works: Sequence[Workload] = (),
) -> Roster:
    return Roster(
        crawl_state=str(control.state) if control else "",
        epoch=posted.epoch if posted else 0,
        superpages=len(Plan.decode(posted.plan).cuts) if posted else 0,
        committed=bool(posted and posted.committed),
        members=rows(members, leader, waiting),
        help=_help(list(beats)),
        outlook=estimate(works, str(control.state) if control else "waiting"),
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
        refused=int(figures.get("refused", 0)),
        skew_s=figures.get("skew_s", 0.0),
    )
