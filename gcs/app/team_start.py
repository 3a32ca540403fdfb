"""Starting a team's crawl: the crawl is put on the whiteboard, unless another crawl runs there or in its directory.

Invariant: a start that is refused has changed nothing, on the whiteboard or in the directory.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gcs.app.crawl_dir import running_gatherers
from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    Account,
    Charter,
    Control,
    CrawlState,
    Member,
    MemberState,
    PlanNote,
    PlanPosted,
    Seeds,
)
from gcs.errors import UsageError
from gcs.ports.space.port import SEEDS_INBOX, Space
from gcs.settings import Settings

#: seconds until a gatherer that was killed a moment ago has released its directory
LET_GO_S = 1.0


@dataclass(frozen=True, slots=True)
class CrawlStart:
    """The crawl to put on the whiteboard."""

    settings: Settings
    seeds: list[str]
    #: gatherers that are expected
    gatherers: int
    session: int = 1
    #: the plan made ahead for the session, encoded; b"" for none
    blueprint: bytes = b""
    #: the gatherers have no disks yet: a crawl of this name that is done is not continued. Otherwise its plan and its
    #: accounts would count for this crawl, and its gatherers would be waited for.
    fresh: bool = False


async def open_crawl(space: Space, start: CrawlStart) -> Charter:
    """Put a crawl on the whiteboard, or go on with the one that is there.

    Seeds that were added during an earlier run (`gcs seed`) are seeds of this run, too; not those of another crawl
    that had the same name at the same whiteboard.
    """
    settings, seeds = start.settings, start.seeds
    before = await space.read(template(Charter))
    if before and start.fresh and await _has_ended(space):
        before = None
        for kind in (PlanPosted, PlanNote, Account):
            await space.remove(template(kind))
    if before and not set(seeds) & set(before.seeds):
        await _refuse_running(space, settings.crawl.name)
    if before and set(seeds) <= set(before.seeds):
        seeds = before.seeds
    charter = Charter(msgspec.json.encode(settings), seeds, max(1, start.gatherers), start.session, start.blueprint)
    await space.out(charter)
    await space.out(Control(CrawlState.RUNNING, "crew"))
    await space.out(Seeds(seeds), to=SEEDS_INBOX)
    return charter


async def _has_ended(space: Space) -> bool:
    control = await space.read(template(Control))
    is_done = control is not None and control.state is CrawlState.DONE
    return is_done and all(member.state == MemberState.GONE for member in await space.scan(template(Member)))


async def _refuse_running(space: Space, name: str) -> None:
    """Another crawl of this name must have ended: otherwise its gatherers would crawl for this one."""
    control = await space.read(template(Control))
    there = [each.gatherer for each in await space.scan(template(Member)) if each.state != MemberState.GONE]
    if there and control is not None and control.state in (CrawlState.RUNNING, CrawlState.PAUSED):
        raise UsageError(
            f"another crawl called '{name}' is running at this whiteboard ({', '.join(sorted(there))}):"
            " give this one another --name, or add to that one with gcs seed and gcs gatherer"
        )


def refuse_one_alone(directory: Path) -> None:
    """A gatherer that crawls alone here knows of no team, and the team would fetch the same pages."""
    give_up_at = time.monotonic() + LET_GO_S
    while running_gatherers(directory) == ["g0"]:  # with others beside it, g0 is a ghost of its team, and ends soon
        if time.monotonic() > give_up_at:
            raise UsageError(f"{directory}: another crawl is running here; stop it or choose another -o DIR")
        time.sleep(LET_GO_S / 10)
