"""Rebalance with little to hand over: start from the current owners, and charge for every weight that moves.

What is minimised, move by move, is

    Σ_i  how far T_i lies outside  mean · (1 ± tolerance)   +   CHARGE · (time of what is not with its current owner)

so that a move is made only where it takes out more imbalance than `CHARGE` times the work it hands over. Superpages
whose owner has left (or that are new) are placed first, greedily, and are free to move.

Invariant: with nobody joining or leaving and all times inside the band, nothing moves.
It does not look for the best cut: it heeds links as a part of T_i only. Where they matter more, plan afresh.
"""

import numpy as np

from gcs.core.partition.greedy import partition_i, partition_ii, place_all
from gcs.core.partition.partition_graph import Floats
from gcs.core.partition.problem import GONE, Assignment, Owners, PartitionProblem

#: imbalance that the move of one second of work must remove, in seconds; from a full to an idle gatherer it removes 2
CHARGE = 0.5
_LEAST_GAIN = 1e-7


def partition(problem: PartitionProblem) -> Owners:
    """Owners near the current ones; where there are none yet, those of Partition I, or II if links are given."""
    if problem.current is None:
        return partition_i(problem) if problem.links is None else partition_ii(problem)
    assignment = Assignment(problem, heed_links=problem.links is not None)
    kept = np.flatnonzero(problem.current != GONE)
    assignment.place_many(kept, problem.current[kept])
    place_all(assignment, np.flatnonzero(problem.current == GONE))
    _settle(assignment, problem.current, problem.tolerance)
    return assignment.owners


def _settle(assignment: Assignment, current: Owners, band: float) -> None:
    """Make the best move, out of the slowest gatherer or into the fastest, until none pays."""
    for _ in range(2 * len(current)):
        times_s, mean_s = assignment.times_s, assignment.mean_s()
        slowest, fastest = int(times_s.argmax()), int(times_s.argmin())
        out = assignment.of(slowest)
        into = np.flatnonzero(assignment.owners != fastest)
        gain, superpage, part = max(
            _best(assignment, current, out, np.arange(assignment.k), (mean_s, band)),
            _best(assignment, current, into, np.array([fastest]), (mean_s, band)),
        )
        if gain <= _LEAST_GAIN * mean_s:
            return
        assignment.move(superpage, part)


def _best(
    assignment: Assignment, current: Owners, superpages: Owners, parts: Owners, aim: tuple[float, float]
) -> tuple[float, int, int]:
    """The move of one of the superpages to one of the parts that gains most: (gain, superpage, part)."""
    if not len(superpages):
        return 0.0, 0, 0
    owners, times_s = assignment.owners[superpages], assignment.times_s
    leave_s = assignment.leaving_s(superpages)
    enter_s = assignment.entering_s(superpages)[:, parts]
    before_s = _outside(times_s, *aim)
    gain: Floats = (before_s[owners] - _outside(times_s[owners] - leave_s, *aim))[:, None]
    gain = gain + before_s[parts] - _outside(times_s[parts] + enter_s, *aim)
    # what leaves its current owner is charged for; without one (GONE) it is charged everywhere, which changes nothing
    away = np.not_equal.outer(current[superpages], parts).astype(np.float64) - (current[superpages] != owners)[:, None]
    gain -= CHARGE * away * assignment.cost_s[superpages, owners][:, None]
    gain[owners[:, None] == parts] = -np.inf
    row, column = np.unravel_index(gain.argmax(), gain.shape)
    return float(gain[row, column]), int(superpages[row]), int(parts[column])


def _outside(times_s: Floats, mean_s: float, band: float) -> Floats:
    """How far times lie outside mean · (1 ± band)."""
    return np.maximum(np.abs(times_s - mean_s) - band * mean_s, 0.0)
