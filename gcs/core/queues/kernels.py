"""How the loops of the queues are compiled: plain Python that numba, where it is installed, makes run without the GIL.

Cells are entries seen as rows of two floats (see `entries`): row a goes before row b if a[0] < b[0], or the first are
equal and a[1] < b[1]. A kernel compiles when it is first used, with those of its own module that it calls.
"""

import functools
from collections.abc import Callable
from types import FunctionType
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


def can_compile() -> bool:
    return _compiler() is not None


@functools.cache
def compiled(kernel: Kernel) -> Kernel:
    """The kernel as fast as it can be had: compiled by numba, or as it stands."""
    compiler = _compiler()
    if compiler is None:
        return kernel
    assert isinstance(kernel, FunctionType)
    names, known = kernel.__code__.co_names, kernel.__globals__
    own = [each for each in names if getattr(known.get(each), "__module__", "") == kernel.__module__]
    parts = {each: compiled(known[each]) for each in own}
    linked = FunctionType(kernel.__code__, known | parts, kernel.__name__)
    try:
        fast: Kernel = compiler(nogil=True, cache=True)(linked)
    except RuntimeError:  # nowhere to keep what was compiled: compile in every process
        fast = compiler(nogil=True)(linked)
    return fast


def cells(entries: NDArray[np.complex128]) -> Cells:
    """The memory of a heap, seen as rows of two floats."""
    return entries.view(np.float64).reshape(-1, 2)
