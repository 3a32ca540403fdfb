"""The roster of a running team: its members as the whiteboard shows them now."""

from collections.abc import Callable
from pathlib import Path

from gcs.app.find_crawl import CrawlAddress, visit
from gcs.app.terminal import columns
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Account, Charter, Control, HelperBeat, LeaderLease, Member, PlanPosted
from gcs.core.report.roster import Roster, Row, roster, workloads
from gcs.ports.space.port import BOARD, Space

#: clocks that differ from the whiteboard's by so many seconds are shown
TELL_S = 1.0

#: heading → the cell of a gatherer
COLUMNS: dict[str, Callable[[Row], str]] = {
    "gatherer": lambda row: row.gatherer + (" *" if row.leads else ""),
    "state": lambda row: row.state,
    "superpages": lambda row: f"{row.superpages:,}",
    "queued": lambda row: f"{row.queued:,}",
    "in flight": lambda row: f"{row.in_flight:,}",
    "pages": lambda row: f"{row.pages:,}",
    "pages/s": lambda row: f"{row.pages_per_s:,.0f}",
    "busy": lambda row: f"{row.busy:.0%}",
    "inbox": lambda row: f"{row.inbox:,}",
    "outbox": lambda row: f"{row.outbox:,}",
    "epoch": lambda row: f"{row.epoch}" + ("" if row.settled else " …"),
}


def read_roster(output: Path, url: str | None, crawl: str | None) -> Roster:
    """Ask the whiteboard for the members of a team."""
    return visit(CrawlAddress(output, url, crawl), _look)


async def _look(space: Space) -> Roster:
    waiting: dict[str, int] = {}
    for inbox in await space.inbox_sizes():
        if inbox.place != BOARD:
            waiting[inbox.place] = waiting.get(inbox.place, 0) + inbox.tuples
    charter, members = await space.read(template(Charter)), await space.scan(template(Member))
    accounts = await space.scan(template(Account))
    return roster(
        members,
        await space.read(template(PlanPosted)),
        await space.read(template(LeaderLease)),
        await space.read(template(Control)),
        waiting,
        await space.scan(template(HelperBeat)),
        workloads(members, accounts, charter.session if charter else 1),
    )


def table(team: Roster, with_outlook: bool = True) -> str:
    """The roster as text, one line for each gatherer."""
    lines = columns([list(COLUMNS), *([cell(row) for cell in COLUMNS.values()] for row in team.members)])
    for each in team.help:
        where = f" at {each.place}" if each.place else ""
        lines.append(
            f"helpers{where}: {each.helpers}, {each.connections} pages at once, {each.pages_per_s:,.0f} pages/s"
        )
    if with_outlook and team.outlook.text:
        lines.append(team.outlook.text)
    for row in team.members:
        if row.refused:
            lines.append(f"{row.gatherer} has refused {row.refused:,} tuples that are not of this team: see its log")
        if abs(row.skew_s) >= TELL_S:
            side = "ahead of" if row.skew_s > 0 else "behind"
            lines.append(
                f"{row.gatherer}: its clock is {abs(row.skew_s):,.1f} s {side} the whiteboard's; run NTP there"
            )
    state = "" if team.committed else ", hand-over under way"
    return "\n".join(
        [f"team {team.crawl_state}: epoch {team.epoch}, {team.superpages:,} superpages{state} (* leads)", *lines]
    )
