"""The roster: the members of a running team, live, from the whiteboard."""

from pathlib import Path

from gcs.app.find_crawl import CrawlAddress, visit
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, HelperBeat, LeaderLease, Member, PlanPosted
from gcs.core.report.roster import Roster, roster
from gcs.ports.space.port import BOARD, Space


def read_roster(output: Path, url: str | None, crawl: str | None) -> Roster:
    """Ask the whiteboard for the members of a team."""
    found: list[Roster] = []

    async def do(space: Space) -> None:
        found.append(await look(space))

    visit(CrawlAddress(output, url, crawl), do)
    return found[0]


async def look(space: Space) -> Roster:
    """Read the team from its whiteboard."""
    waiting: dict[str, int] = {}
    for inbox in await space.inbox_sizes():
        if inbox.place != BOARD:
            waiting[inbox.place] = waiting.get(inbox.place, 0) + inbox.tuples
    return roster(
        await space.scan(template(Member)),
        await space.read(template(PlanPosted)),
        await space.read(template(LeaderLease)),
        await space.read(template(Control)),
        waiting,
        await space.scan(template(HelperBeat)),
    )


def table(team: Roster) -> str:
    """The roster as text, one line for each gatherer."""
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
    for each in team.help:
        where = f" at {each.place}" if each.place else ""
        lines.append(
            f"helpers{where}: {each.helpers}, {each.connections} pages at once, {each.pages_per_s:,.0f} pages/s"
        )
    state = "" if team.committed else ", hand-over under way"
    return "\n".join(
        [f"team {team.crawl_state}: epoch {team.epoch}, {team.superpages:,} superpages{state} (* leads)", *lines]
    )
