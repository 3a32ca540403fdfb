"""Space balance (Teng §3.1): the bytes that each gatherer will hold, evened out beside the work.

Superpages move from the gatherer that will hold most, or are swapped with smaller ones, as long as no gatherer's time
exceeds the tolerance for it. What is stored stays where it is; what can be shared out is what is still to come.

Invariant: the most that a gatherer holds never grows, nor does the longest time beyond the tolerance.
"""

from dataclasses import dataclass

import numpy as np

from gcs.core.partition.greedy import swap_changes
from gcs.core.partition.partition_graph import Floats
from gcs.core.partition.problem import Assignment, Owners, PartitionProblem

#: a gatherer may hold so many times the mean before anything moves for it
_ENOUGH = 1.05
#: a step must lower the larger of two holdings by this much of the mean
_LEAST_GAIN = 1e-6


@dataclass(frozen=True, slots=True)
class SpaceGoal:
    """The bytes that are still to come of each superpage (m,), and that each gatherer holds (k,)."""

    coming: Floats
    held: Floats

    def holdings(self, owners: Owners) -> Floats:
        """(k,) what each gatherer will hold."""
        holdings: Floats = self.held + np.bincount(owners, self.coming, len(self.held))
        return holdings


def level_space(problem: PartitionProblem, owners: Owners, goal: SpaceGoal) -> Owners:
    """Owners near these, whose holdings are as even as times within the tolerance allow."""
    assignment = Assignment(problem, heed_links=problem.links is not None)
    assignment.place_many(np.arange(problem.m), owners)
    limit_s = max((1 + problem.tolerance) * assignment.mean_s(), float(assignment.times_s.max()))
    space, mean = goal.holdings(owners), float(goal.holdings(owners).mean())
    for _ in range(2 * problem.m):
        fullest = int(space.argmax())
        if space[fullest] <= _ENOUGH * mean or not _relieve(assignment, space, goal.coming, fullest, limit_s, mean):
            break
    return assignment.owners


def _relieve(assignment: Assignment, space: Floats, coming: Floats, fullest: int, limit_s: float, mean: float) -> bool:
    """Make the move or swap that lowers the larger of the fullest's holdings and those of the other one most."""
    members, others = assignment.of(fullest), np.flatnonzero(assignment.owners != fullest)
    if not len(members):
        return False
    best, step = float(space[fullest]) - _LEAST_GAIN * mean, (-1, -1)
    enter_s = assignment.times_s + assignment.entering_s(members)
    peaks = np.maximum(space[fullest] - coming[members][:, None], space + coming[members][:, None])
    peaks[enter_s > limit_s] = np.inf
    peaks[:, fullest] = np.inf
    row, part = np.unravel_index(peaks.argmin(), peaks.shape)
    if peaks[row, part] < best:
        best, step = float(peaks[row, part]), (int(members[row]), int(part))
    swap = (-1, -1)
    if len(others):
        parts = assignment.owners[others]
        shift = coming[members][:, None] - coming[others]
        peaks = np.maximum(space[fullest] - shift, space[parts] + shift)
        here_s, there_s, _ = swap_changes(assignment, members, others)
        times_s = assignment.times_s
        peaks[(times_s[parts] + there_s > limit_s) | (times_s[fullest] + here_s > limit_s)] = np.inf
        row, column = np.unravel_index(peaks.argmin(), peaks.shape)
        if peaks[row, column] < best:
            swap = (int(members[row]), int(others[column]))
    for superpage, target in _moves(assignment, fullest, step, swap):
        space[assignment.owners[superpage]] -= coming[superpage]
        space[target] += coming[superpage]
        assignment.move(superpage, target)
    return step != (-1, -1) or swap != (-1, -1)


def _moves(assignment: Assignment, fullest: int, step: tuple[int, int], swap: tuple[int, int]) -> list[tuple[int, int]]:
    """A swap, if there is one (it is better than the move), or the move; as superpages with their new owners."""
    if swap != (-1, -1):
        return [(swap[0], int(assignment.owners[swap[1]])), (swap[1], fullest)]
    return [step] if step != (-1, -1) else []
