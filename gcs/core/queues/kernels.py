"""The loops of the queues: plain Python that numba compiles, where it is installed, to code that runs without the GIL.

Cells are entries seen as rows of two floats (see `entries`): row a goes before row b if a[0] < b[0], or the first are
equal and a[1] < b[1]. Every kernel returns how often it compared two entries, however many floats that took.
A kernel calls no other: each compiles alone.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Cells: TypeAlias = NDArray[np.float64]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


@functools.cache
def _compiler() -> Any:
    try:
        import numba
    except ImportError:  # the extra is not installed
        return None
    return numba.njit


def is_compiled() -> bool:
    """Whether kernels run compiled here."""
    return _compiler() is not None


@functools.cache
def compiled(kernel: Kernel) -> Kernel:
    """The kernel as fast as it can be had: compiled by numba, or as it stands."""
    compiler = _compiler()
    if compiler is None:
        return kernel
    try:
        fast: Kernel = compiler(nogil=True, cache=True)(kernel)
    except RuntimeError:  # nowhere to keep what was compiled: compile in every process
        fast = compiler(nogil=True)(kernel)
    return fast


def heap_push(heap: Cells, size: int, new: Cells) -> int:
    """Add rows to a binary heap of `size` rows, whose array has room; each climbs until its parent is better."""
    comparisons = 0
    for i in range(new.shape[0]):
        key, tail = new[i, 0], new[i, 1]
        at = size + i
        while at > 0:
            parent = (at - 1) >> 1
            comparisons += 1
            if heap[parent, 0] < key or (heap[parent, 0] == key and heap[parent, 1] <= tail):
                break
            heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
            at = parent
        heap[at, 0], heap[at, 1] = key, tail
    return comparisons


def heap_pop(heap: Cells, size: int, out: Cells) -> int:
    """Move the best rows of a binary heap to `out`: the last row takes the root's place and sinks, as in textbooks."""
    comparisons = 0
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1] = heap[0, 0], heap[0, 1]
        size -= 1
        key, tail = heap[size, 0], heap[size, 1]
        at = 0
        child = 1
        while child < size:
            if child + 1 < size:
                comparisons += 1
                left, right = heap[child, 0], heap[child + 1, 0]
                if right < left or (right == left and heap[child + 1, 1] < heap[child, 1]):
                    child += 1
            comparisons += 1
            if key < heap[child, 0] or (key == heap[child, 0] and tail <= heap[child, 1]):
                break
            heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
            at = child
            child = 2 * at + 1
        heap[at, 0], heap[at, 1] = key, tail
    return comparisons


def cells(entries: NDArray[np.complex128]) -> Cells:
    """The same memory as rows of two floats."""
    return entries.view(np.float64).reshape(-1, 2)
