"""An assignment being worked on: owners, the time T_i of every gatherer, the links of every superpage to every part.

This is the state that the greedy passes fill, and that local improvement and the sticky form change move by move. It
keeps T_i exact at O(k + degree) a move, so that a search over 10,000 superpages × 100 gatherers takes a second.

Invariant: after any sequence of `place` and `move`, `times_s` is what Teng's formula gives for `owners` (links to
superpages that are not placed yet count nothing). It must not decide anything.
"""

import numpy as np

from gcs.core.partition.partition_graph import Floats
from gcs.core.partition.problem import GONE, Owners, PartitionProblem


class Assignment:
    """Mutable, private to the partitioners. Superpages begin without owner."""

    def __init__(self, problem: PartitionProblem, heed_links: bool) -> None:
        m, k = problem.m, problem.k
        self.k = k
        self.owners: Owners = np.full(m, GONE, np.int64)
        #: (m, k) w_j / r_ij
        self.cost_s = problem.times_s()
        #: (k,) T_i, and the part of it that is work
        self.times_s: Floats = np.zeros(k)
        self.work_s: Floats = np.zeros(k)
        self.link_s = problem.link_s()
        self.links = problem.links if heed_links else None
        #: (m, k) links between superpage j and what is in part i; (m,) their sum. None where links are not heeded
        self.ties: Floats | None = np.zeros((m, k)) if self.links else None
        self.placed_ties: Floats = np.zeros(m)

    def of(self, part: int) -> Owners:
        return np.flatnonzero(self.owners == part)

    def mean_s(self) -> float:
        """The time each gatherer would need if all were equally busy (with one rate for all)."""
        return float(self.times_s.mean())

    def communication_s(self) -> float:
        """The time that all gatherers together spend on crossing links: Σ B_i / c_i."""
        if self.ties is None:
            return 0.0
        owned = np.flatnonzero(self.owners >= 0)
        owners = self.owners[owned]
        crossing = self.placed_ties[owned] - self.ties[owned, owners]
        return float(crossing @ self.link_s[owners])

    def place(self, superpage: int, part: int) -> None:
        """Give a superpage that has no owner to a part."""
        self.owners[superpage] = part
        self.times_s[part] += self.cost_s[superpage, part]
        self.work_s[part] += self.cost_s[superpage, part]
        if self.ties is not None:
            ties = self.ties[superpage]
            self.times_s += ties * self.link_s
            self.times_s[part] += (self.placed_ties[superpage] - 2 * ties[part]) * self.link_s[part]
            self._tie(superpage, part, +1)

    def place_many(self, superpages: Owners, parts: Owners) -> None:
        """Give many superpages that have no owner to their parts at once."""
        if self.links is not None:
            for superpage, part in zip(superpages.tolist(), parts.tolist()):
                self.place(superpage, part)
            return
        self.owners[superpages] = parts
        np.add.at(self.work_s, parts, self.cost_s[superpages, parts])
        self.times_s = self.work_s.copy()

    def remove(self, superpage: int) -> None:
        part = int(self.owners[superpage])
        self.times_s[part] -= self.cost_s[superpage, part]
        self.work_s[part] -= self.cost_s[superpage, part]
        if self.ties is not None:
            ties = self.ties[superpage]
            self.times_s -= ties * self.link_s
            self.times_s[part] -= (self.placed_ties[superpage] - 2 * ties[part]) * self.link_s[part]
            self._tie(superpage, part, -1)
        self.owners[superpage] = GONE

    def move(self, superpage: int, part: int) -> None:
        self.remove(superpage)
        self.place(superpage, part)

    def swap(self, left: int, right: int) -> None:
        """Let two superpages change places."""
        here, there = int(self.owners[left]), int(self.owners[right])
        self.move(left, there)
        self.move(right, here)

    def leaving_s(self, superpages: Owners) -> Floats:
        """(n,) by how much each one's owner is relieved if it gives the superpage away."""
        return self.cost_s[superpages, self.owners[superpages]] + self.leaving_links_s(superpages)

    def leaving_links_s(self, superpages: Owners) -> Floats:
        """(n,) the part of `leaving_s` that is communication."""
        if self.ties is None:
            return np.zeros(len(superpages))
        owners = self.owners[superpages]
        return (self.placed_ties[superpages] - 2 * self.ties[superpages, owners]) * self.link_s[owners]

    def entering_s(self, superpages: Owners) -> Floats:
        """(n, k) by how much each part is burdened if it takes the superpage over from another."""
        return self.cost_s[superpages] + self.entering_links_s(superpages)

    def entering_links_s(self, superpages: Owners) -> Floats:
        """(n, k) the part of `entering_s` that is communication."""
        if self.ties is None:
            return np.zeros((len(superpages), self.k))
        return (self.placed_ties[superpages][:, None] - 2 * self.ties[superpages]) * self.link_s

    def between(self, left: Owners, right: Owners) -> Floats:
        """(n, l) the links between two lists of superpages."""
        found = np.zeros((len(left), len(right)))
        if self.links is None:
            return found
        column = np.full(len(self.owners), -1)
        column[right] = np.arange(len(right))
        for row, superpage in enumerate(left.tolist()):
            span = slice(*self.links.offsets[superpage : superpage + 2].tolist())
            columns = column[self.links.targets[span]]
            known = columns >= 0
            found[row, columns[known]] = self.links.costs[span][known]
        return found

    def _tie(self, superpage: int, part: int, sign: int) -> None:
        assert self.links is not None and self.ties is not None
        span = slice(*self.links.offsets[superpage : superpage + 2].tolist())
        neighbours, counts = self.links.targets[span], sign * self.links.costs[span]
        self.ties[neighbours, part] += counts  # neighbours are distinct: no np.add.at needed
        self.placed_ties[neighbours] += counts
