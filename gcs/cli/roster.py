"""The roster: the members of a running team, live, from the whiteboard."""

import asyncio
from pathlib import Path

import msgspec

from gcs.cli.control import visit
from gcs.core.plan import Plan
from gcs.core.template import template
from gcs.core.tuples import Control, Leader, Member, PlanPosted
from gcs.ports.space.port import BOARD, Space


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


class Roster(msgspec.Struct, frozen=True):
    """The team."""

    crawl_state: str
    epoch: int
    superpages: int
    committed: bool
    members: list[Row]


def read_roster(output: Path, url: str | None, crawl: str | None) -> Roster:
    """Ask the whiteboard who is there and how they do."""
    found: list[Roster] = []

    async def do(space: Space) -> None:
        found.append(await roster(space))

    asyncio.run(visit(output, url, crawl, do))
    return found[0]


async def roster(space: Space) -> Roster:
    """The team as the whiteboard shows it."""
    members = await space.scan(template(Member))
    posted = await space.read(template(PlanPosted))
    leader = await space.read(template(Leader))
    control = await space.read(template(Control))
    waiting: dict[str, int] = {}
    for pile in await space.piles():
        if pile.place != BOARD:
            waiting[pile.place] = waiting.get(pile.place, 0) + pile.tuples
    plan = Plan.decode(posted.plan) if posted else None
    return Roster(
        crawl_state=str(control.state) if control else "",
        epoch=posted.epoch if posted else 0,
        superpages=len(plan.cuts) if plan else 0,
        committed=bool(posted and posted.committed),
        members=[_row(member, leader, waiting) for member in sorted(members, key=lambda member: member.gatherer)],
    )


def table(team: Roster) -> str:
    """For a person."""
    head = (
        "gatherer",
        "state",
        "superpages",
        "queued",
        "in flight",
        "pages",
        "pages/s",
        "busy",
        "inbox",
        "outbox",
        "epoch",
    )
    rows = [
        (
            row.gatherer + (" *" if row.leads else ""),
            row.state,
            f"{row.superpages:,}",
            f"{row.queued:,}",
            f"{row.in_flight:,}",
            f"{row.pages:,}",
            f"{row.pages_per_s:,.0f}",
            f"{row.busy:.0%}",
            f"{row.inbox:,}",
            f"{row.outbox:,}",
            f"{row.epoch}" + ("" if row.settled else " …"),
        )
        for row in team.members
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in (head, *rows)]
    state = "" if team.committed else ", hand-over under way"
    return "\n".join(
        [f"team {team.crawl_state}: epoch {team.epoch}, {team.superpages:,} superpages{state} (* leads)", *lines]
    )


def _row(member: Member, leader: Leader | None, waiting: dict[str, int]) -> Row:
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
