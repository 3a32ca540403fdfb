"""PageRank of a graph in compressed sparse rows: the importance that orders of a crawl are judged by.

The standard iteration; pages without links give to all alike. Out-links of page u are
`targets[offsets[u] : offsets[u + 1]]`.

Invariant: the ranks are positive and sum to 1.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DAMPING = 0.85


def pagerank(
    offsets: Ints, targets: NDArray[np.signedinteger], tolerance: float = 1e-8, most_rounds: int = 100
) -> Floats:
    """The PageRank of every page, iterated until the sum of all changes is below the tolerance."""
    pages = len(offsets) - 1
    if not pages:
        return np.empty(0)
    degrees = np.diff(offsets)
    linking, inverse = degrees > 0, 1.0 / np.maximum(degrees, 1)
    ranks = np.full(pages, 1.0 / pages)
    for _ in range(most_rounds):
        gifts = np.repeat(ranks * inverse, degrees)
        new = np.bincount(targets, gifts, pages) + ranks[~linking].sum() / pages
        new = DAMPING * new + (1.0 - DAMPING) / pages
        change = float(np.abs(new - ranks).sum())
        ranks = new
        if change < tolerance:
            break
    return ranks
