"""Ranks of whole arrays, for studies: apart from `rank`, because a crawl does without numpy.

Invariant: `ranks` of an array is `rank` of each.
"""

import numpy as np
from numpy.typing import NDArray

from gcs.core.ordering.rank import MOST

_SIGN, _ALL = 0x80000000, 0xFFFFFFFF


def ranks(importances: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rank of each importance."""
    bits = (np.clip(importances, -MOST, MOST) + 0.0).astype(np.float32).view(np.uint32)
    ascending = bits ^ np.where(bits & _SIGN, np.uint32(_ALL), np.uint32(_SIGN))
    return ((_ALL - ascending) >> 1).astype(np.int64)
