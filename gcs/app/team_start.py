"""Beginning a team's crawl: it is put on the whiteboard, unless somebody else is at work there or in its directory.

Invariant: who is refused has changed nothing of the crawl that is there, on the whiteboard or in the directory.
"""

import time
from pathlib import Path

import msgspec

from gcs.app.crawl_dir import running
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

#: seconds for a gatherer that was killed a moment ago to let go of its directory
LET_GO_S = 1.0


async def open_crawl(
    space: Space,
    settings: Settings,
    seeds: list[str],
    gatherers: int,
    session: int = 1,
    blueprint: bytes = b"",
    fresh: bool = False,
) -> Charter:
    """Put a crawl on the whiteboard, or go on with the one that is there; so many gatherers are expected.

    Seeds that were added while an earlier run went on (`gcs seed`) are seeds of this one, too; not those of another
    crawl that had the same name at the same whiteboard. `fresh`: they have no disks yet, so that one that is done is
    not gone on with; else its plan and its accounts would be ours, and those it counts on be waited for.
    """
    before = await space.read(template(Charter))
    if before and fresh and await _has_ended(space):
        before = None
        for kind in (PlanPosted, PlanNote, Account):
            await space.remove(template(kind))
    if before and not set(seeds) & set(before.seeds):
        await _refuse_running(space, settings.crawl.name)
    if before and set(seeds) <= set(before.seeds):
        seeds = before.seeds
    charter = Charter(msgspec.json.encode(settings), seeds, max(1, gatherers), session, blueprint)
    await space.out(charter)
    await space.out(Control(CrawlState.RUNNING, "crew"))
    await space.out(Seeds(seeds), to=SEEDS_INBOX)
    return charter


async def _has_ended(space: Space) -> bool:
    control = await space.read(template(Control))
    is_done = control is not None and control.state is CrawlState.DONE
    return is_done and all(member.state == MemberState.GONE for member in await space.scan(template(Member)))


async def _refuse_running(space: Space, name: str) -> None:
    """Another crawl of our name must have ended: its charter would be ours, and its gatherers would crawl for us."""
    control = await space.read(template(Control))
    there = [each.gatherer for each in await space.scan(template(Member)) if each.state != MemberState.GONE]
    if there and control is not None and control.state in (CrawlState.RUNNING, CrawlState.PAUSED):
        raise UsageError(
            f"another crawl called '{name}' is running at this whiteboard ({', '.join(sorted(there))}):"
            " give this one another --name, or add to that one with gcs seed and gcs gatherer"
        )


def refuse_one_alone(directory: Path) -> None:
    """One that crawls alone here knows of no team, which would fetch the same while its first gatherer waits."""
    give_up_at = time.monotonic() + LET_GO_S
    while running(directory) == ["g0"]:  # with others beside it, it is a ghost of its team, and will let go
        if time.monotonic() > give_up_at:
            raise UsageError(f"{directory}: another crawl is running here; stop it or choose another -o DIR")
        time.sleep(LET_GO_S / 10)
