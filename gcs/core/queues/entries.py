"""An entry is a (key, id) pair as one 16-byte number, so that arrays of them sort, merge and search as a whole.

The number is complex: numpy orders complex numbers by their real part, then by their imaginary part. The real part is
the negated key, so that the best entry is the smallest. The imaginary part is the id, its bits read as a float:
positive floats sort as their bits do, and the offset keeps them out of the denormal ones, which a processor may be
told to take for zero. Nothing is ever computed with an entry; entries are compared, moved and unpacked.

Invariant: unpack(pack(keys, ids)) == (keys, ids), and pack keeps the order: key descending, then id ascending.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gcs.core.queues.contract import Ids, Keys
from gcs.errors import UsageError

Entries: TypeAlias = NDArray[np.complex128]

#: ids must be smaller, so that their bits are those of a finite float
MAX_ID = 1 << 62
#: added to an id, to keep its bits out of the denormal floats
OFFSET = np.uint64(1 << 52)
#: bytes of an entry, in memory and on disk
ENTRY_BYTES = 16


def check(keys: Keys, ids: Ids) -> None:
    """Refuse pairs that have no order."""
    if keys.shape != ids.shape or keys.ndim != 1:
        raise UsageError(f"keys and ids must be two rows of one length, not {keys.shape} and {ids.shape}")
    if keys.size and np.isnan(keys.min()):
        raise UsageError("a key is not a number (NaN): give every id a priority that can be compared")
    if ids.size and ids.max() >= MAX_ID:
        raise UsageError(f"id {ids.max()} is too large for a queue: keep ids below 2**62")


def pack(keys: Keys, ids: Ids) -> Entries:
    keys, ids = np.asarray(keys, np.float64), np.asarray(ids, np.uint64)
    check(keys, ids)
    entries = np.empty(keys.shape, np.complex128)
    np.subtract(0.0, keys, out=entries.real)  # and -0.0 becomes 0.0, so that equal keys are equal bits
    np.add(ids, OFFSET, out=entries.imag.view(np.uint64))
    return entries


def unpack(entries: Entries) -> tuple[Keys, Ids]:
    return 0.0 - entries.real, entries.imag.view(np.uint64) - OFFSET
