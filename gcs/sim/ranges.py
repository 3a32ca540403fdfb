"""Sites of a graph without URLs: ranges of pages that link among themselves.

Published graphs number their pages in the order of their URLs, so that a site is a range. Runs of a few pages grow
together with a neighbour, as long as more links lie between the two than chance would put there (the gain of
modularity): those first that gain more than the pairs beside them. On the Java documentation, whose hosts are known,
as many links leave the ranges as leave the hosts; small hosts that link to each other become one.

Invariant: ranges are numbered from 0 in the order of their pages; the same links make the same ranges.
"""

import numpy as np
from numpy.typing import NDArray

from gcs.sim.graph import Ids

#: pages of the runs at the beginning, at least, and how many runs there are at most
RUN_PAGES, RUNS = 10, 200_000


def ranges_of(offsets: Ids, targets: NDArray[np.int32]) -> NDArray[np.int32]:
    """The range of each page."""
    pages, total = len(offsets) - 1, len(targets)
    run_of_page = np.arange(pages) // max(RUN_PAGES, -(-pages // RUNS))
    ranges = np.unique(run_of_page)  # of each run
    sources, sinks = np.repeat(run_of_page, np.diff(offsets)), run_of_page[targets]
    ends = np.bincount(sources, minlength=len(ranges)) + np.bincount(sinks, minlength=len(ranges))
    low, high, links = _collapsed(np.minimum(sources, sinks), np.maximum(sources, sinks), np.ones(total, np.int64))
    collapsed_at = len(ends)
    while len(ends) > 1:
        beside = high - low == 1
        between = np.bincount(low[beside], links[beside], len(ends) - 1).astype(np.int64)
        gain = 2 * total * between - ends[:-1] * ends[1:]  # times 2 · total²: whole numbers, so that ties are ties
        merged = (gain > 0) & (gain >= np.append(gain[1:], 0)) & (gain > np.append(0, gain[:-1]))
        if not merged.any():
            break
        number = np.cumsum(np.append(True, ~merged)) - 1
        ranges, low, high = number[ranges], number[low], number[high]
        ends = np.bincount(number, ends).astype(np.int64)
        if len(ends) < collapsed_at / 2:
            low, high, links = _collapsed(low, high, links)
            collapsed_at = len(ends)
    return ranges.astype(np.int32)[run_of_page]


def _collapsed(low: Ids, high: Ids, links: Ids) -> tuple[Ids, Ids, Ids]:
    """Each pair of different ranges once, with all links between the two."""
    apart = low < high
    if not apart.any():
        return low[apart], high[apart], links[apart]
    width = int(high.max()) + 1
    pairs, where = np.unique(low[apart] * width + high[apart], return_inverse=True)
    return pairs // width, pairs % width, np.bincount(where, links[apart]).astype(np.int64)
