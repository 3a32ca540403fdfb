"""Notes of plans: what a plan changes, told for people (`core.tuples.PlanNote`)."""

from gcs.core.plan import Plan
from gcs.core.tree import node_of
from gcs.core.treemap import place_of
from gcs.core.tuples import Moved, PlanNote

#: pairs of gatherers, and places of each, that a note names
MOST_PAIRS, MOST_PLACES = 64, 3


def note_of(plan: Plan, *, at: float, reason: str, moved: float) -> PlanNote:
    """The note of a plan that is being published."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for move in plan.moves:
        pairs.setdefault((move.loser, move.winner), []).append(place_of(node_of(move.low, move.high)))
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
