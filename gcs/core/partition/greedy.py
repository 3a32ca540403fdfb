"""Teng's two greedy partitions (§5.3): heaviest superpage first, each to the gatherer where it hurts least.

Partition I hurts least where T_s + w_j/r_sj is smallest. Partition II counts the links to what is placed already: a
superpage goes where the slowest gatherer stays fastest, among such where the sum of all times grows least, and among
such where there is least to do; so, as long as there is room below the peak, it joins what it is linked with. (One
without links goes as in I.)
Both are then improved locally (`core.partition.improve`).

Invariant: every superpage has an owner at the end; ties fall to the lowest number, so that the same problem gives the
same owners.
"""

import numpy as np

from gcs.core.partition.assignment import Assignment
from gcs.core.partition.improve import cut_links, lower_peak
from gcs.core.partition.partition_graph import Floats
from gcs.core.partition.problem import Owners, PartitionProblem
from gcs.errors import UsageError

#: times closer than this (relative) are the same
_SAME = 1e-9


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


# -- domain sets (WEB-SAILOR §3.1): sets of top-level domains, packed so that they weigh alike


def partition(problem: PartitionProblem) -> Owners:
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
