"""METIS, called through ctypes: K-way partition of the links with every column of the weights balanced (C4).

pymetis hands one constraint on; its compiled module exports METIS itself, which takes several. Where it is not
installed, the system's libmetis does. Loading that library is the one thing in `core` that touches the disk.

While METIS runs, its own handler of SIGTERM replaces that of GCS: it loses the signal, or crashes the process when
another thread gets it. So SIGTERM is blocked for the call, and the call is refused outside the main thread: a role that
plans with METIS gives it a process of its own.

Invariant: the same problem gives the same owners (METIS draws from the C library's generator, seeded on every call).
`giants` names the units that no partition can balance (`partition_graph.site_model` cuts
sites so that there are none).
"""

import ctypes
import ctypes.util
import functools
import signal
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gcs.core.partition.greedy import partition_ii
from gcs.core.partition.partition_graph import Floats, Numbers
from gcs.core.partition.problem import GONE, Owners, PartitionProblem
from gcs.errors import GcsError, UsageError

#: METIS is asked for this part of the tolerance: asked for 5 %, it has given 5.003 %
_ASKED = 0.6
#: small graphs are partitioned several times in one call, and METIS keeps the best: at most so many times, and units
_TRIES, _TRIED_UNITS = 8, 100_000
#: calls with other seeds and methods, where the first broke the tolerance
_MORE_CALLS = 4
_NUMBER_OF_OPTIONS = 40
_OK = 1
_STATUS = {-2: "it refused the input", -3: "it ran out of memory", -4: "it failed inside, or was interrupted"}


def partition(problem: PartitionProblem) -> Owners:
    """Owners with the least cost of crossing links that METIS finds within the tolerance on every weight.

    A unit that outweighs a part (see `giants`) gets a part of its own, and the rest is balanced among the others. Where
    METIS breaks the tolerance in all its tries, the most balanced answer is returned: look at the metrics.
    """
    if problem.links is None:
        raise UsageError("METIS partitions links: give the problem some")
    if not problem.m:
        return np.empty(0, np.int64)
    alone, largest_first = giants(problem), np.argsort(-problem.shares(), kind="stable")
    if not alone:
        return _balanced(problem)
    owners = np.full(problem.m, GONE, np.int64)
    owners[alone] = largest_first[: len(alone)]
    rest, parts = np.flatnonzero(owners == GONE), largest_first[len(alone) :]
    smaller = PartitionProblem(
        problem.weights[rest],
        len(parts),
        rates=problem.shares()[parts],
        links=problem.links.among(rest),
        tolerance=problem.tolerance,
        seed=problem.seed,
    )
    owners[rest] = parts[_balanced(smaller)]
    return owners


def giants(problem: PartitionProblem) -> list[int]:
    """The units that are heavier than a part, so that no partition into k can be balanced, heaviest first."""
    weights = _constraints(problem)
    weights = weights / weights.sum(axis=0)
    shares = -np.sort(-problem.shares())
    found: list[int] = []
    left = np.ones(weights.shape[1])
    for unit in np.argsort(-weights.max(axis=1), kind="stable")[: problem.k - 1].tolist():
        room = (1 + problem.tolerance) * left * shares[len(found)] / shares[len(found) :].sum()
        if not (weights[unit] > room).any():
            break
        found.append(unit)
        left -= weights[unit]
    return found


def _constraints(problem: PartitionProblem) -> Floats:
    """(m, c) the weights that can be balanced: columns that weigh nothing, or the same as another, are left out."""
    weights = problem.weights.reshape(problem.m, -1).astype(np.float64)
    same = [any((column == other).all() for other in weights.T[:at]) for at, column in enumerate(weights.T)]
    weights = weights[:, weights.any(axis=0) & ~np.array(same)]
    return weights if weights.shape[1] else np.ones((problem.m, 1))


def _balanced(problem: PartitionProblem) -> Owners:
    if problem.k == 1 or problem.m <= problem.k:
        return partition_ii(problem)
    assert problem.links is not None
    weights = _constraints(problem)
    best: tuple[float, int, Owners] | None = None
    for call in range(1 + _MORE_CALLS):
        owners = _call(problem, weights, problem.seed + call, recursive=call % 2 == 1)
        excess = _imbalance(problem, weights, owners) - problem.tolerance
        if excess <= 0:
            return owners
        cost = problem.links.crossing(owners)
        if best is None or (excess, cost) < best[:2]:
            best = excess, cost, owners
    assert best is not None
    return best[2]


def _imbalance(problem: PartitionProblem, weights: Floats, owners: Owners) -> float:
    """By how much the worst part is above its share, over all columns."""
    loads = np.stack([np.bincount(owners, column, problem.k) for column in weights.T])
    return float((loads / loads.sum(axis=1, keepdims=True) / problem.shares()).max()) - 1


def _call(problem: PartitionProblem, weights: Floats, seed: int, recursive: bool) -> Owners:
    if threading.current_thread() is not threading.main_thread():
        raise GcsError("METIS takes over SIGTERM while it runs: call it on the main thread of a process")
    metis, links = _library(), problem.links
    assert links is not None
    constraints = weights.shape[1]
    options = np.zeros(_NUMBER_OF_OPTIONS, metis.integer)
    metis.set_default_options(_pointer(options))
    options[metis.seed] = 1 + seed % (2**31 - 1)  # 0 means the same as 1 to the C library's generator
    options[metis.ncuts] = min(max(_TRIED_UNITS // problem.m, 1), _TRIES)
    owners, cut = np.zeros(problem.m, metis.integer), np.zeros(1, metis.integer)
    sizes = [np.array([size], metis.integer) for size in (problem.m, constraints, problem.k)]
    graph = [
        np.ascontiguousarray(links.offsets, metis.integer),  # a copy only where it has to be one
        np.ascontiguousarray(links.targets, metis.integer),
        np.ascontiguousarray(metis.whole(weights)),
        metis.whole(np.maximum(links.costs, 1)),
    ]
    shares = np.repeat(problem.shares().astype(np.float32), constraints)
    slack = np.full(constraints, 1 + _ASKED * problem.tolerance, np.float32)
    arguments = [
        *(sizes[0], sizes[1], graph[0], graph[1], graph[2], None, graph[3]),
        *(sizes[2], shares, slack, options, cut, owners),
    ]
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        status = (metis.recursive if recursive else metis.kway)(*map(_pointer, arguments))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    if status != _OK:
        raise GcsError(f"METIS: {_STATUS.get(status, status)}")
    return owners.astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Library:
    """The functions of a METIS build, the width of its integers, and where its options stand."""

    kway: "ctypes._NamedFuncPointer"
    recursive: "ctypes._NamedFuncPointer"
    set_default_options: "ctypes._NamedFuncPointer"
    integer: type[np.int32] | type[np.int64]
    seed: int
    ncuts: int

    def whole(self, numbers: Numbers) -> NDArray[np.generic]:
        """Weights or costs as integers, scaled so that their sum fits and fractions survive."""
        largest = float(np.iinfo(self.integer).max // 4)
        if numbers.dtype == self.integer and (numbers.sum(axis=0, dtype=np.float64) <= largest).all():
            return numbers
        values = numbers.astype(np.float64)
        total = values.sum(axis=0)
        fits = (total <= largest) & (values == np.rint(values)).all(axis=0)
        scale: Floats = np.where(fits, 1.0, min(largest, 2.0**40) / np.where(total > 0, total, 1.0))
        # what weighs something goes on weighing something
        return np.where(values > 0, np.maximum(np.rint(values * scale), 1), 0).astype(self.integer)


@functools.cache
def _library() -> _Library:
    """METIS as pymetis brings it, or else the system's."""
    path: str | None
    seed, ncuts = 8, 7  # METIS 5.1
    try:
        from pymetis import _internal  # the import costs time that only a plan by METIS should pay

        indices = vars(_internal)["options_indices"]
        path, seed, ncuts = _internal.__file__, indices.SEED, indices.NCUTS
    except (ImportError, KeyError):
        path = ctypes.util.find_library("metis")
    if path is None:
        raise UsageError("METIS is not here: install pymetis, or the system's libmetis5")
    return _bind(path, seed, ncuts)


def _bind(path: str, seed: int, ncuts: int) -> _Library:
    library = ctypes.CDLL(path)
    # METIS fills its 40 options with -1: how far it gets tells the width of its integers
    probe = np.zeros(_NUMBER_OF_OPTIONS, np.int64)
    library.METIS_SetDefaultOptions(_pointer(probe))
    return _Library(
        library.METIS_PartGraphKway,
        library.METIS_PartGraphRecursive,
        library.METIS_SetDefaultOptions,
        np.int64 if probe[-1] else np.int32,
        seed,
        ncuts,
    )


def _pointer(array: NDArray[np.generic] | None) -> ctypes.c_void_p | None:
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)
