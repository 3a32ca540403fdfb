"""The question every partitioner answers: m superpages, k gatherers, who owns what?

The times of Teng §4.5 are derived here, so that the partitioners agree on them:

    T_i = Σ_{j in U_i} w_j / r_ij  +  B_i / c_i

where B_i counts the links between U_i and the rest. (The paper prints B_i/c_i inside the sum; as B_i belongs to the
whole of U_i, it is taken here once.)

Politeness is owed to a host, whoever owns it: no gatherer is done before its slowest host. So T_i is the larger of this
sum and that time (`core.plan.host_limits`). The largest T_i cannot fall below the time of the slowest host of all, and
up to there balance gains nothing: it is the `tolerance`.

An `Assignment` is the answer while a partitioner works on it.

Invariant: a problem is checked when made; a partitioner may trust it and must not change its arrays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gcs.core.partition.partition_graph import Floats, LinkArrays, Numbers
from gcs.errors import UsageError

Owners = NDArray[np.int64]

#: in `PartitionProblem.current`: the owner has left, or there was none
GONE = -1
#: forwarding a URL in a block costs about a thousandth of fetching and summarising a page
URLS_PER_PAGE_TIME = 1000.0


@dataclass(frozen=True, slots=True)
class PartitionProblem:
    """What a partitioner is told. Only the fields that it needs have to be given."""

    #: (m,) or (m, c). The first column is the work (URLs); METIS balances all columns, the others the first
    weights: Numbers = field(repr=False)
    #: how many gatherers there are
    k: int
    #: pages per second: one for all, one each (k,), or Teng's table R (k, m)
    rates: float | Floats = 1.0
    #: URLs per second that a gatherer can send and receive: one for all or one each (k,)
    communication_rates: float | Floats = URLS_PER_PAGE_TIME
    #: super-hyperlinks S; needed by Partition II and METIS, heeded by the sticky form
    links: LinkArrays | None = field(default=None, repr=False)
    #: sort key at which each superpage begins; needed by the hash forms and DSets
    keys: Sequence[bytes] = field(default=(), repr=False)
    #: who owns each superpage now, in the numbering of today's k gatherers, or GONE; needed by the sticky form
    current: Owners | None = field(default=None, repr=False)
    #: names of the gatherers, which a consistent hash remembers them by; their numbers where empty
    names: Sequence[str] = ()
    #: how much more than the mean a gatherer may get
    tolerance: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        m = self.m
        if self.k < 1:
            raise UsageError(f"a partition needs at least one gatherer, not {self.k}")
        if self.weights.ndim not in (1, 2) or not np.all(self.weights >= 0):
            raise UsageError("weights must be a vector or a matrix of numbers that are not negative")
        for name, value, shapes in (
            ("rates", np.asarray(self.rates), [(), (self.k,), (self.k, m)]),
            ("communication_rates", np.asarray(self.communication_rates), [(), (self.k,)]),
        ):
            if value.shape not in shapes or not np.all(value > 0):
                raise UsageError(f"{name} must be positive and of one of the shapes {shapes}, not {value.shape}")
        for what, length in (
            ("links", m if self.links is None else self.links.units),
            ("keys", len(self.keys) or m),
            ("current owners", m if self.current is None else len(self.current)),
        ):
            if length != m:
                raise UsageError(f"{length} {what} for {m} superpages")
        if self.current is not None and not np.all((self.current >= GONE) & (self.current < self.k)):
            raise UsageError(f"a current owner is not among the {self.k} gatherers; mark those that left as {GONE}")
        if self.names and len(set(self.names)) != self.k:
            raise UsageError(f"{self.k} gatherers need {self.k} different names, not {list(self.names)}")

    @property
    def m(self) -> int:
        """How many superpages there are."""
        return len(self.weights)

    @property
    def work(self) -> Floats:
        """(m,) what each superpage weighs."""
        return (self.weights if self.weights.ndim == 1 else self.weights[:, 0]).astype(np.float64)

    def times_s(self) -> Floats:
        """(m, k) how long gatherer i works on superpage j: w_j / r_ij."""
        rates = np.asarray(self.rates, np.float64)
        return self.work[:, None] / (rates.T if rates.ndim == 2 else np.broadcast_to(rates, self.k))

    def link_s(self) -> Floats:
        """(k,) how long gatherer i is busy with one crossing link: 1 / c_i."""
        return 1 / np.broadcast_to(np.asarray(self.communication_rates, np.float64), self.k)

    def shares(self) -> Floats:
        """(k,) the part of the whole that each gatherer should get, by its mean rate; they add up to 1."""
        rates = np.asarray(self.rates, np.float64)
        if rates.ndim == 2:
            rates = np.average(rates, axis=1, weights=self.work) if self.work.any() else np.ones(self.k)
        rates = np.broadcast_to(rates, self.k)
        shares: Floats = rates / rates.sum()
        return shares


#: the one signature: (problem) → owner of each superpage, 0 ≤ owner < k, the same for the same problem
Partitioner = Callable[[PartitionProblem], Owners]


class Assignment:
    """Owners being worked on: mutable, private to the partitioners. Superpages begin without owner.

    The greedy passes fill it; local improvement and the sticky form change it move by move. It keeps T_i exact at
    O(k + degree) a move, so that a search over 10,000 superpages × 100 gatherers takes a second.

    Invariant: after any sequence of `place` and `move`, `times_s` is what Teng's formula gives for `owners` (links to
    superpages that are not placed yet count nothing). It decides nothing.
    """

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
