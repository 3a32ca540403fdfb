"""How one plan follows another: the values of a leader's decision, and the plans that need no arithmetic.

Five plans can follow. `first_plan` begins a crawl, `renewed` the next session of it. `refreshed` changes the hot pages
only. `recovered` gives away what a dead gatherer owned when its disk cannot be reached; it touches nothing else, so
that hand-overs between the living go on under it. The last, a new division of the work, is a Planner's
(`core.rebalance`).

Invariant: pure, and the epoch is provisional: the whiteboard gives the final one. A plan's `moves` are all ranges that
change hands with it, or still do from the plan before.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from gcs.core import ranges
from gcs.core.evidence import Evidence
from gcs.core.plan import ExchangeMode, Plan
from gcs.core.sortkey import FIRST_KEY, LAST_KEY, sort_key
from gcs.core.team import TeamSettings
from gcs.core.tree import Cuts


@dataclass(frozen=True, slots=True)
class Team:
    """For whom a plan is made."""

    #: who gets superpages, in order
    running: tuple[str, ...]
    #: who is to be relieved of everything
    leavers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan that may be published, and what it would change."""

    plan: Plan
    #: share of the weight that changes its owner
    moved: float
    #: time that all need together under the present owners, as a multiple of that under the plan; 1 where not measured
    locality: float = 1.0


class Beginning(Protocol):
    """Makes the first plan of a session, for those who run, from a plan made ahead."""

    def __call__(self, running: tuple[str, ...], old: Plan | None) -> Plan: ...


class Planner(Protocol):
    """Makes the next plan: with as little to hand over as can be, or `fresh`, as if nobody owned anything."""

    def __call__(
        self, old: Plan, team: Team, evidence: Evidence, settings: TeamSettings, *, fresh: bool = False
    ) -> Draft: ...


def first_plan(running: tuple[str, ...], cuts: Cuts, settings: TeamSettings, heir: str | None = None) -> Plan:
    """The superpages of the user's expansion, round-robin, or all to one who has begun the crawl alone.

    Nobody has anything to hand over.
    """
    owners = [at % len(running) if heir is None else running.index(heir) for at in range(len(cuts))]
    return Plan(
        epoch=1,
        gatherers=running,
        cuts=cuts,
        owners=tuple(owners),
        mode=ExchangeMode(settings.mode),
        lost=((FIRST_KEY, LAST_KEY),),
    )


def refreshed(old: Plan, hot: tuple[str, ...]) -> Plan:
    """The same plan with other hot pages; nothing changes hands."""
    return msgspec.structs.replace(old, epoch=old.epoch + 1, hot_pages=hot, lost=(), moves=(), leavers=())


def recovered(old: Plan, running: Sequence[str], dead: Collection[str], *, committed: bool) -> Plan:
    """The same plan without the dead: what they owned, or had to hand over, is lost and begun anew by those who run.

    Who is dead and runs has lost its disk: it begins anew with the others.
    `committed`: all that the old plan moves is handed over. If not, what the living owe one another stays due.
    """
    due = () if committed else old.moves
    lost = [(low, high) for low, high, owner in old.ranges() if owner in dead]
    lost += [(move.low, move.high) for move in due if move.loser in dead]
    lost += [] if committed else old.lost
    gatherers = tuple(sorted({*old.gatherers} - set(dead) | {*running}))
    owners = [old.gatherers[owner] for owner in old.owners]
    held = {name: 0 if name in dead else owners.count(name) for name in running}
    for at, owner in enumerate(owners):
        if owner in dead:
            owners[at] = min(held, key=lambda name: (held[name], name))
            held[owners[at]] += 1
    gone = ranges.unite(lost)
    return msgspec.structs.replace(
        old,
        epoch=old.epoch + 1,
        gatherers=gatherers,
        owners=tuple(map(gatherers.index, owners)),
        # their new owners have never heard of the hot ones
        hot_pages=tuple(url for url in old.hot_pages if not ranges.contains(gone, old.ground.place(sort_key(url)))),
        lost=gone,
        moves=tuple(move for move in due if not {move.loser, move.winner} & set(dead)),
        leavers=() if committed else tuple(name for name in old.leavers if name not in dead),
    )


def renewed(old: Plan, running: tuple[str, ...], session: int) -> Plan:
    """The same division for the next session: what those owned who are not there goes to those who have least."""
    plan = recovered(old, running, set(old.gatherers) - set(running), committed=True)
    return msgspec.structs.replace(plan, hot_pages=old.hot_pages, lost=ranges.EVERYTHING, session=session)


def hot_pages(old: Plan, evidence: Evidence, most: int) -> tuple[str, ...]:
    """The most linked candidates; those of the old plan first, as long as they are candidates."""
    known, counts = set(old.hot_pages), evidence.hot
    ranked = sorted(counts, key=lambda url: (url not in known, -counts[url], url))
    # those that the last session named stay, if there is room: everybody has them, met or not
    return tuple(dict.fromkeys([*ranked, *(old.hot_pages if old.session > 1 else ())]))[:most]
