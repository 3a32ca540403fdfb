"""The question every partitioner answers: m superpages, k gatherers, who owns what?

The times of Teng §4.5 are derived here, so that the partitioners agree on them:

    T_i = Σ_{j in U_i} w_j / r_ij  +  B_i / c_i

where B_i counts the links between U_i and the rest. (The paper prints B_i/c_i inside the sum; as B_i belongs to the
whole of U_i, it is taken here once.)

Invariant: a Problem is checked when made; a partitioner may trust it and must not change its arrays.
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
