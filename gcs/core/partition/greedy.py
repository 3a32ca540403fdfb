"""Teng's two greedy partitions (§5.3), their local improvement, and domain sets.

Superpages are placed in the order of their weight, each with the gatherer where it does least harm. Partition I places
a superpage where T_s + w_j/r_sj is smallest. Partition II counts the links to what is placed already: the superpage
goes where the slowest gatherer stays fastest; among such gatherers, where the sum of all times grows least; among
those, where there is least to do. So, as long as there is room below the peak, it joins what it is linked with.
(One without links goes as in Partition I.)

Both results are then improved by moves and swaps. `lower_peak` takes from the slowest gatherer; each step lowers the
larger of the two times that it touches, so that the sorted list of times falls and the search ends. `cut_links` brings
superpages to the parts they are linked with, while nobody gets slower, or more work, than the tolerance allows; each
step lowers the time that all spend on communication.

Domain sets (WEB-SAILOR §3.1) are sets of top-level domains, packed by Partition I so that they weigh alike.

Invariant: every superpage has an owner at the end; ties fall to the lowest number, so that the same problem gives the
same owners. After `cut_links` no time is above (1 + tolerance) · mean, unless `lower_peak` cannot bring it there.
"""

from typing import NamedTuple, Self

import numpy as np

from gcs.core.partition.partition_graph import Floats
from gcs.core.partition.problem import Assignment, Owners, PartitionProblem
from gcs.errors import UsageError

#: times closer than this (relative) are the same
_SAME = 1e-9
#: a step must gain this much (relative to the mean time), or rounding could keep the search going
_LEAST_GAIN = 1e-7
#: the search for a lower peak ends when 2·k steps lowered it by less than this (relative)
_WORTH_IT = 2e-3
#: the slowest gatherer offers swaps to this many of the fastest
_SWAP_PARTNERS = 4
_PASSES = 8


def partition_i(problem: PartitionProblem) -> Owners:
    """Balance the work; links are not looked at."""
    assignment = Assignment(problem, heed_links=False)
    place_all(assignment, np.arange(problem.m))
    lower_peak(assignment)
    return assignment.owners


def partition_ii(problem: PartitionProblem) -> Owners:
    """Balance work and communication, with few crossing links, within the problem's tolerance."""
    assignment = Assignment(problem, heed_links=problem.links is not None)
    place_all(assignment, np.arange(problem.m))
    cut_links(assignment, problem.tolerance)
    return assignment.owners


def domain_sets(problem: PartitionProblem) -> Owners:
    """One DSet for each gatherer; some are empty where there are fewer domains than gatherers."""
    if not problem.keys and problem.m:
        raise UsageError("domain sets need the sort keys of the superpages")
    _, domains = np.unique([domain(key) for key in problem.keys], return_inverse=True)
    count = int(domains.max(initial=-1)) + 1
    work = np.bincount(domains, problem.work, count)
    times_s: Floats = np.zeros((count, problem.k))
    np.add.at(times_s, domains, problem.times_s())
    # the rate at which a gatherer gets through a whole domain
    rates = np.divide(work[:, None], times_s, out=np.ones_like(times_s), where=times_s > 0)
    return partition_i(PartitionProblem(work, problem.k, rates=rates.T, seed=problem.seed))[domains]


def domain(key: bytes) -> bytes:
    """The top-level domain of a sort key (of an address: the address); b"" for the root of the URL tree."""
    return key.partition(b"\x00")[0]


def place_all(assignment: Assignment, superpages: Owners) -> None:
    """Give these superpages, which have no owner, to the parts: the greedy pass of both partitions."""
    weight = assignment.cost_s[superpages].mean(axis=1)
    for superpage in superpages[np.argsort(-weight, kind="stable")].tolist():
        assignment.place(superpage, _least_harm(assignment, superpage))


def _least_harm(assignment: Assignment, superpage: int) -> int:
    """The part whose choice gives the smallest max_h T_h + Δ_h."""
    own: Floats = assignment.times_s + assignment.cost_s[superpage]
    if assignment.ties is None or not assignment.placed_ties[superpage]:
        return int(own.argmin())
    # Δ_h of a part that does not get it: its links to the superpage cross the border
    ties_s = assignment.ties[superpage] * assignment.link_s
    others = assignment.times_s + ties_s
    own += assignment.placed_ties[superpage] * assignment.link_s - ties_s
    slowest = int(others.argmax())
    peaks = np.maximum(own, others[slowest])
    others[slowest] = -np.inf
    peaks[slowest] = max(own[slowest], others.max())
    # own - times_s is what the chosen part gains, ties_s what it is spared as one of the others
    total = own - assignment.times_s - ties_s
    total[peaks > peaks.min() * (1 + _SAME)] = np.inf
    own[total > total.min() + _SAME * peaks.min()] = np.inf
    return int(own.argmin())


# -- local improvement


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
    here_s, there_s, _ = swap_changes(assignment, members, offers)
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
    here_s, there_s, saved_s = (change[0] for change in swap_changes(assignment, np.array([superpage]), offers))
    saved_s[assignment.times_s[owner] + here_s > bounds.time_s] = 0.0
    saved_s[assignment.times_s[part] + there_s > bounds.time_s] = 0.0
    cost_s = assignment.cost_s
    saved_s[assignment.work_s[owner] + cost_s[offers, owner] - cost_s[superpage, owner] > bounds.work_s] = 0.0
    saved_s[assignment.work_s[part] + cost_s[superpage, part] - cost_s[offers, part] > bounds.work_s] = 0.0
    best = int(saved_s.argmax())
    if saved_s[best] > 0:
        assignment.swap(superpage, int(offers[best]))
    return float(saved_s[best])


def swap_changes(assignment: Assignment, members: Owners, offers: Owners) -> tuple[Floats, Floats, Floats]:
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
