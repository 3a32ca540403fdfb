"""How one plan follows another: the values of a leader's decision, and the plans that need no arithmetic.

The replies of a round are merged into one tree, one table and one list of hot pages (`RoundEvidence`).

Five plans can follow. `first_plan` begins a crawl, `renewed` the next session of it. `refreshed` changes the hot pages
only. `recovered` gives away what a dead gatherer owned when its disk cannot be reached; it touches nothing else, so
that hand-overs between the living go on under it. The last, a new division of the work, is made by
`core.plan.rebalance`.

A `PlanNote` tells people what a plan changes.

Invariant: pure, and the epoch is provisional: the whiteboard gives the final one. A plan's `moves` are all ranges that
change their owner with it, or still do from the plan before.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import msgspec

from gcs.core.messages.tuples import Member, MovedRanges, PlanNote
from gcs.core.messages.tuples import StatisticsReply as Reply
from gcs.core.plan import keyspace
from gcs.core.plan.host_limits import HostLimits
from gcs.core.plan.plan import ExchangeMode, Move, Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.report.treemap import place_of
from gcs.core.tree import tree as trees
from gcs.core.tree.statistics import SuperpageFigures, SuperpageStatistics, merge
from gcs.core.tree.superpage_sketch import SuperpageSketch
from gcs.core.tree.tree import Cuts, UrlTree, limits_for, node_of
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY, SUBTREE_END, sort_key, subtree
from gcs.errors import CodecError

#: pairs of gatherers, and places of each, that a note names
MOST_PAIRS, MOST_PLACES = 64, 3


@dataclass(frozen=True, slots=True)
class RoundEvidence:
    """What is known of the crawl under the plan in force: the merged replies of a round."""

    tree: UrlTree
    statistics: SuperpageStatistics
    #: candidate hot pages, with how often they were met
    hot: Mapping[str, int]
    #: the delays of the hosts
    limits: HostLimits = field(default_factory=HostLimits)
    #: gatherer → the place where it says that it is
    places: Mapping[str, str] = field(default_factory=dict)
    #: gatherer → bytes of the pages that it has stored
    held_bytes: Mapping[str, float] = field(default_factory=dict)


def evidence_of(
    plan: Plan, replies: Iterable[Reply], members: Mapping[str, Member], limits: HostLimits, random: Random
) -> RoundEvidence:
    """The evidence of these replies, and of the heartbeats of the gatherers that did not reply."""
    copies, tables, hot = [UrlTree(plan.cuts, random)], [SuperpageStatistics()], dict[str, int]()
    delay_s, longer = limits.delay_s, dict(limits.longer)
    silent = {plan.gatherers[owner] for owner in plan.owners}
    for reply in sorted(replies, key=lambda reply: reply.gatherer):
        for url, count in reply.hot:
            hot[url] = hot.get(url, 0) + count
        delay_s = max(delay_s, reply.delay_s)
        for host, seconds in reply.delays:
            longer[host] = max(longer.get(host, 0.0), seconds)
        if reply.epoch != plan.epoch:
            continue
        try:
            copy, table = trees.decode(reply.tree, plan.cuts, random), SuperpageStatistics.decode(reply.rates)
        except CodecError:
            continue
        copies.append(copy)
        tables.append(table)
        silent.discard(reply.gatherer)
    for name in sorted(silent & members.keys()):
        copy, table = _guess(plan, name, members[name].figures, random)
        copies.append(copy)
        tables.append(table)
    limits = replace(limits, delay_s=delay_s, longer=longer)
    places = {name: member.place for name, member in members.items()}
    held = {name: member.figures.get("bytes", 0.0) for name, member in members.items()}
    return RoundEvidence(trees.merge(copies), merge(tables), hot, limits, places, held)


def _guess(plan: Plan, name: str, figures: Mapping[str, float], random: Random) -> tuple[UrlTree, SuperpageStatistics]:
    """A copy of the tree, and figures, as the owner might have sent them."""
    tree, statistics = UrlTree(plan.cuts, random), SuperpageStatistics()
    mine = [at for at, owner in enumerate(plan.owners) if plan.gatherers[owner] == name]
    queued = round(figures.get("queued", 0.0) / len(mine))
    seen = max(round(figures.get("known", 0.0) / len(mine)), queued)
    for at in mine if seen else ():
        low, high = tree.range_of(at)
        tree.put(at, SuperpageSketch(node_of(low, high), limits_for(0), random, [(low, float(seen))]))
        statistics.superpages[at] = SuperpageFigures(seen=seen, queued=queued)
    return tree, statistics


@dataclass(frozen=True, slots=True)
class TeamMembers:
    """The gatherers for which a plan is made."""

    #: those that get superpages, in order
    running: tuple[str, ...]
    #: those that give everything away
    leavers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan that may be published, and what it would change."""

    plan: Plan
    #: share of the weight that changes its owner
    moved: float
    #: time that all need together under the present owners, as a multiple of that under the plan; 1 where not measured
    locality: float = 1.0


def first_plan(running: tuple[str, ...], cuts: Cuts, settings: TeamSettings, heir: str | None = None) -> Plan:
    """These superpages, round-robin, or all to the one that has begun the crawl alone. Nobody has to hand over."""
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
    """The plan with other hot pages; no range changes its owner."""
    return msgspec.structs.replace(old, epoch=old.epoch + 1, hot_pages=hot, lost=(), moves=(), leavers=())


def recovered(old: Plan, running: Sequence[str], dead: Collection[str], *, committed: bool) -> Plan:
    """The same plan without the dead: what they owned, or had to hand over, is lost and begun anew by those that run.

    A gatherer that is dead and runs has lost its disk: it begins anew with the others.
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
    gone = keyspace.unite(lost)
    return msgspec.structs.replace(
        old,
        epoch=old.epoch + 1,
        gatherers=gatherers,
        owners=tuple(map(gatherers.index, owners)),
        # the new owners of a lost range do not know its hot pages
        hot_pages=tuple(url for url in old.hot_pages if not keyspace.contains(gone, old.keyspace.place(sort_key(url)))),
        lost=gone,
        moves=tuple(move for move in due if not {move.loser, move.winner} & set(dead)),
        leavers=() if committed else tuple(name for name in old.leavers if name not in dead),
    )


def renewed(old: Plan, running: tuple[str, ...], session: int) -> Plan:
    """The same division for the next session: what absent gatherers owned goes to those that have least."""
    plan = recovered(old, running, set(old.gatherers) - set(running), committed=True)
    return msgspec.structs.replace(plan, hot_pages=old.hot_pages, lost=keyspace.EVERYTHING, session=session)


def hot_pages(old: Plan, evidence: RoundEvidence, most: int) -> tuple[str, ...]:
    """The most linked candidates; those of the old plan first, as long as they are candidates."""
    known, counts = set(old.hot_pages), evidence.hot
    ranked = sorted(counts, key=lambda url: (url not in known, -counts[url], url))
    # those of the last session stay, if there is room: everybody has them already
    return tuple(dict.fromkeys([*ranked, *(old.hot_pages if old.session > 1 else ())]))[:most]


def _name(move: Move) -> str:
    """A range as people know it: the node that it is, or its first and last ones."""
    node = node_of(move.low, move.high)
    if (move.low, move.high) == subtree(node):
        return place_of(node)
    return f"{_end(move.low) or 'the beginning'} to {_end(move.high) or 'the end'}"


def _end(cut: bytes) -> str:
    return place_of(cut.removesuffix(SUBTREE_END)) if FIRST_KEY < cut < LAST_KEY else ""


def note_of(plan: Plan, *, at: float, reason: str, moved: float) -> PlanNote:
    """The note of a plan that is being published."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for move in plan.moves:
        pairs.setdefault((move.loser, move.winner), []).append(_name(move))
    largest = sorted(pairs.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_PAIRS]
    return PlanNote(
        epoch=plan.epoch,
        at=at,
        reason=reason,
        superpages=len(plan.cuts),
        gatherers=list(plan.gatherers),
        moved=round(moved, 4),
        moves=[
            MovedRanges(loser, winner, len(places), list(dict.fromkeys(places))[:MOST_PLACES])
            for (loser, winner), places in largest
        ],
        lost=len(plan.lost),
    )
