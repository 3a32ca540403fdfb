"""Notes of plans: what a plan changes, told for people (`core.tuples.PlanNote`)."""

from gcs.core.plan import Move, Plan
from gcs.core.sortkey import FIRST_KEY, LAST_KEY, SUBTREE_END, subtree
from gcs.core.tree import node_of
from gcs.core.treemap import place_of
from gcs.core.tuples import Moved, PlanNote

#: pairs of gatherers, and places of each, that a note names
MOST_PAIRS, MOST_PLACES = 64, 3


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
            Moved(loser, winner, len(places), list(dict.fromkeys(places))[:MOST_PLACES])
            for (loser, winner), places in largest
        ],
        lost=len(plan.lost),
    )
