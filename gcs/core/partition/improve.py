"""Local improvement of an assignment (Teng §5.3): moves and swaps that lower the peak, or cut crossing links.

`lower_peak` takes from the slowest gatherer; each step lowers the larger of the two times it touches, so that the
sorted list of times falls and the search ends. `cut_links` brings superpages to the parts they are linked with, while
nobody gets slower, or more work, than the tolerance allows; each step lowers the time all spend on communication.

Invariant: after `cut_links` no time is above (1 + tolerance) · mean, unless `lower_peak` cannot bring it there.
It must not place what has no owner.
"""

from typing import NamedTuple, Self

import numpy as np

from gcs.core.partition.assignment import Assignment
from gcs.core.partition.partition_graph import Floats
from gcs.core.partition.problem import Owners

#: a step must gain this much (relative to the mean time), or rounding could keep the search going
_LEAST_GAIN = 1e-7
#: the search for a lower peak ends when 2·k steps lowered it by less than this (relative)
_WORTH_IT = 2e-3
#: the slowest gatherer offers swaps to this many of the fastest
_SWAP_PARTNERS = 4
_PASSES = 8


def lower_peak(assignment: Assignment, enough_s: float = 0.0) -> None:
    """Move or swap superpages of the slowest gatherer until nothing helps, or until `enough_s` is reached."""
    least_s = _LEAST_GAIN * assignment.mean_s()
    last_s = np.inf
    while (peak_s := float(assignment.times_s.max())) < last_s * (1 - _WORTH_IT):
        last_s = peak_s
        for _ in range(2 * assignment.k):
            slowest = int(assignment.times_s.argmax())
            if assignment.times_s[slowest] <= enough_s:
                return
            if not (_move(assignment, slowest, least_s) or _swap(assignment, slowest, least_s)):
                return


def cut_links(assignment: Assignment, tolerance: float) -> None:
    """Save communication by moves and swaps, and lower the peak where it is above (1 + tolerance) · mean."""
    for _ in range(_PASSES):
        lower_peak(assignment, enough_s=(1 + tolerance) * assignment.mean_s())
        if not _pass(assignment, _Bounds.of(assignment, tolerance)):
            break
    # the mean has fallen with the communication
    lower_peak(assignment, enough_s=(1 + tolerance) * assignment.mean_s())


class _Bounds(NamedTuple):
    """How long a gatherer may be busy, and how long with work alone."""

    time_s: float
    work_s: float

    @classmethod
    def of(cls, assignment: Assignment, tolerance: float) -> Self:
        """The tolerance, or what is reached already where that is worse."""
        limits = [
            max((1 + tolerance) * float(s.mean()), float(s.max())) for s in (assignment.times_s, assignment.work_s)
        ]
        return cls(*limits)


def _move(assignment: Assignment, slowest: int, least_s: float) -> bool:
    members = assignment.of(slowest)
    if not len(members):
        return False
    left_s = assignment.times_s[slowest] - assignment.leaving_s(members)
    peaks = np.maximum(left_s[:, None], assignment.times_s + assignment.entering_s(members))
    peaks[:, slowest] = np.inf
    row, part = np.unravel_index(peaks.argmin(), peaks.shape)
    if peaks[row, part] > assignment.times_s[slowest] - least_s:
        return False
    assignment.move(int(members[row]), int(part))
    return True


def _swap(assignment: Assignment, slowest: int, least_s: float) -> bool:
    members = assignment.of(slowest)
    partners = np.argsort(assignment.times_s, kind="stable")[:_SWAP_PARTNERS]
    offers = np.flatnonzero(np.isin(assignment.owners, partners[partners != slowest]))
    if not (len(members) and len(offers)):
        return False
    here_s, there_s, _ = _swap_changes(assignment, members, offers)
    parts = assignment.owners[offers]
    peaks = np.maximum(assignment.times_s[slowest] + here_s, assignment.times_s[parts] + there_s)
    row, column = np.unravel_index(peaks.argmin(), peaks.shape)
    if peaks[row, column] > assignment.times_s[slowest] - least_s:
        return False
    assignment.swap(int(members[row]), int(offers[column]))
    return True


def _pass(assignment: Assignment, bounds: _Bounds) -> bool:
    """Visit the superpages in the order of what a move of theirs would save; say whether it was worth another pass."""
    everyone = np.arange(len(assignment.owners))
    hopes_s = assignment.leaving_links_s(everyone) - assignment.entering_links_s(everyone).min(axis=1)
    least_s = _LEAST_GAIN * assignment.mean_s()
    saved_s = 0.0
    for superpage in np.argsort(-hopes_s, kind="stable").tolist():
        if hopes_s[superpage] <= least_s:
            break
        saved_s += _settle(assignment, superpage, bounds, least_s)
    return saved_s > _WORTH_IT * assignment.communication_s()


def _settle(assignment: Assignment, superpage: int, bounds: _Bounds, least_s: float) -> float:
    """Bring a superpage to the part where it saves most, or swap it into a full one; what was saved."""
    owner, one = int(assignment.owners[superpage]), np.array([superpage])
    saved_s: Floats = assignment.leaving_links_s(one)[0] - assignment.entering_links_s(one)[0]
    saved_s[owner] = 0.0
    wish = int(saved_s.argmax())
    if saved_s[wish] <= least_s:
        return 0.0
    fits = assignment.times_s + assignment.entering_s(one)[0] <= bounds.time_s
    fits &= assignment.work_s + assignment.cost_s[superpage] <= bounds.work_s
    if not fits[wish] and (saved := _make_room(assignment, superpage, wish, bounds)) > least_s:
        return saved
    saved_s[~fits] = 0.0
    part = int(saved_s.argmax())
    if saved_s[part] <= least_s or assignment.times_s[owner] - assignment.leaving_s(one)[0] > bounds.time_s:
        return 0.0
    assignment.move(superpage, part)
    return float(saved_s[part])


def _make_room(assignment: Assignment, superpage: int, part: int, bounds: _Bounds) -> float:
    """Swap the superpage with the one of a full part with which it saves most; what was saved."""
    owner, offers = int(assignment.owners[superpage]), assignment.of(part)
    if not len(offers):
        return 0.0
    here_s, there_s, saved_s = (change[0] for change in _swap_changes(assignment, np.array([superpage]), offers))
    saved_s[assignment.times_s[owner] + here_s > bounds.time_s] = 0.0
    saved_s[assignment.times_s[part] + there_s > bounds.time_s] = 0.0
    cost_s = assignment.cost_s
    saved_s[assignment.work_s[owner] + cost_s[offers, owner] - cost_s[superpage, owner] > bounds.work_s] = 0.0
    saved_s[assignment.work_s[part] + cost_s[superpage, part] - cost_s[offers, part] > bounds.work_s] = 0.0
    best = int(saved_s.argmax())
    if saved_s[best] > 0:
        assignment.swap(superpage, int(offers[best]))
    return float(saved_s[best])


def _swap_changes(assignment: Assignment, members: Owners, offers: Owners) -> tuple[Floats, Floats, Floats]:
    """(n, l) how both sides' times change, and what is saved, if a member (all of one part) and an offer swap."""
    here, there = int(assignment.owners[members[0]]), assignment.owners[offers]
    # each side's reckoning takes the link between the two as saved, but it goes on crossing the border
    kept = 2 * assignment.between(members, offers)
    here_s = (
        assignment.entering_links_s(offers)[:, here]
        - assignment.leaving_links_s(members)[:, None]
        + kept * assignment.link_s[here]
    )
    there_s = (
        assignment.entering_links_s(members)[:, there]
        - assignment.leaving_links_s(offers)
        + kept * assignment.link_s[there]
    )
    cost_s = assignment.cost_s
    here_work_s = cost_s[offers, here] - cost_s[members, here][:, None]
    there_work_s = cost_s[members][:, there] - cost_s[offers, there]
    return here_s + here_work_s, there_s + there_work_s, -(here_s + there_s)
