"""Commands to a running crawl: what `gcs pause …` and the station put on its whiteboard.

Invariant: a command is put only where there is a crawl. Seeds are written into the charter (they define the scope)
before they are sent; if the crawl ends first, its next run finds them there.
"""

from collections.abc import Sequence

import msgspec

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, Consumed, Control, CrawlState, RebalanceCall, Seeds
from gcs.core.url.canonical import UrlRules, seed_url, why_no_seed
from gcs.errors import SpaceError, UsageError
from gcs.ports.space.port import LEADER_INBOX, SEEDS_INBOX, IfAbsent, IfHolds, Space

#: times that a charter is written anew because somebody else has just changed it
TRIES = 10
#: characters of a bad seed that its error shows
SHOWN = 100


class _Rules(msgspec.Struct):
    """The part of the settings that says how URLs are spelled."""

    urls: UrlRules = UrlRules()


class TooLateError(UsageError):
    """The crawl has ended, or is about to: it takes no orders."""


async def order(space: Space, state: CrawlState, by: str) -> None:
    """Let the crawl pause, go on or stop."""
    wanted = Control(state, by, "stopped" if state is CrawlState.STOPPING else "")
    for _ in range(TRIES):
        await _charter(space)
        control = await _control(space)
        if control.state is state or not (await space.out(wanted, given=IfHolds(control))).refused:
            return
    raise SpaceError("the state of this crawl is being changed by others all the time: try again")


async def call_rebalance(space: Space, by: str) -> None:
    """Ask the leader to share the work anew."""
    await _charter(space)
    await _control(space)
    await send(space, RebalanceCall(by), LEADER_INBOX)


async def add_seeds(space: Space, texts: Sequence[str]) -> list[str]:
    """Add seeds, as people write them; returns them as canonical URLs."""
    for _ in range(TRIES):
        charter = await _charter(space)
        await _control(space)
        rules = msgspec.json.decode(charter.settings, type=_Rules).urls
        seeds = list(dict.fromkeys(_seed(text, rules) for text in texts))
        everything = list(dict.fromkeys([*charter.seeds, *seeds]))
        receipt = await space.out(msgspec.structs.replace(charter, seeds=everything), given=IfHolds(charter))
        if not receipt.refused:
            await send(space, Seeds(seeds), SEEDS_INBOX)
            await _control(space)  # it may have ended just before
            return seeds
    raise SpaceError("the seeds of this crawl are being changed by others all the time: try again")


async def put_back(space: Space, charter: Charter, control: Control | None) -> bool:
    """Put a crawl back on a whiteboard that has forgotten it (emptied, or restarted without its file).

    False if it is there, or if there is no room: try again later. Its seeds are put back, too: some may have lain
    there, and one that is known changes nothing.
    """
    if await space.count(template(Charter)) or (await space.out(Seeds(charter.seeds), to=SEEDS_INBOX)).full:
        return False
    await space.out(control or Control(CrawlState.RUNNING), given=IfAbsent())
    await space.out(charter, given=IfAbsent())  # last: a call that was cut short is done again
    return True


async def send(space: Space, item: Consumed, to: str) -> None:
    """Put a tuple that nobody keeps for a second try into an inbox; SpaceError if there is no room."""
    if (await space.out(item, to=to)).full:
        raise SpaceError(f"the whiteboard has no room for {item.name}: try again later, or raise its maxmemory")


def _seed(text: str, rules: UrlRules) -> str:
    url = seed_url(text, rules)
    if url is None:
        raise UsageError(f"{text[:SHOWN]!r} {why_no_seed(text[:SHOWN])}")
    return url


async def _charter(space: Space) -> Charter:
    charter = await space.read(template(Charter))
    if charter is None:
        reason = space.refusals.reasons.get(Charter)
        raise SpaceError(
            f"the charter of the crawl {reason}" if reason else "there is no such crawl at this whiteboard"
        )
    return charter


async def _control(space: Space) -> Control:
    control = await space.read(template(Control))
    if control is None:
        raise SpaceError("there is no such crawl at this whiteboard")
    if control.state in (CrawlState.STOPPING, CrawlState.DONE):
        raise TooLateError(
            f"the crawl is {control.state}: it takes no orders; gcs crawl on its directory goes on with it"
        )
    return control
