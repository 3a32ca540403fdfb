"""The steps of the queues as loops that count comparisons, which numpy cannot: for the studies of Marin et al.

Compiled where numba is installed, slow where it is not. Every kernel returns how often it compared two entries, however
many floats that took.
"""

import numpy as np
from numpy.typing import NDArray

from gcs.core.queues.contract import QueueCounts
from gcs.core.queues.entries import Entries
from gcs.core.queues.kernels import Cells, cells, compiled


class Loops:
    """The primitives of `core.queues`, as loops that count."""

    def __init__(self) -> None:
        self.counts = QueueCounts()

    def sort(self, entries: Entries) -> Entries:
        ordered = entries.copy()
        self.counts.comparisons += compiled(sort_rows)(cells(ordered), cells(np.empty_like(ordered)))
        return ordered

    def merge(self, one: Entries, two: Entries) -> Entries:
        both = np.empty(len(one) + len(two), np.complex128)
        if len(one) and len(two):
            self.counts.comparisons += compiled(merge_rows)(cells(one), cells(two), cells(both))
        else:
            both[:] = one if len(one) else two
        return both

    def split(self, entries: Entries, pivot: np.complex128) -> tuple[Entries, Entries]:
        both = np.empty_like(entries)
        better = compiled(split_rows)(cells(entries), pivot.real, pivot.imag, cells(both))
        self.counts.comparisons += len(entries)
        return both[:better], both[better:]

    def select(self, entries: Entries, count: int) -> Entries:
        ordered = entries.copy()
        self.counts.comparisons += compiled(select_rows)(cells(ordered), count)
        return ordered

    def classify(self, pivots: Entries, entries: Entries) -> NDArray[np.uint16]:
        chunks = np.empty(len(entries), np.uint16)
        self.counts.comparisons += compiled(classify_rows)(cells(pivots), cells(entries), chunks)
        return chunks


def sort_rows(rows: Cells, spare: Cells) -> int:
    """Sort rows in place: merge sort, bottom up; two long halves in order are only copied."""
    comparisons = 0
    size = rows.shape[0]
    width = 1
    old, new = rows, spare
    swapped = False
    while width < size:
        for start in range(0, size, 2 * width):
            a, a_end = start, min(start + width, size)
            b, b_end = a_end, min(start + 2 * width, size)
            to = start
            if width >= 8 and b < b_end:
                comparisons += 1
                if old[a_end - 1, 0] < old[b, 0] or (old[a_end - 1, 0] == old[b, 0] and old[a_end - 1, 1] <= old[b, 1]):
                    b_end = b  # in order: copy both
            while a < a_end and b < b_end:
                comparisons += 1
                if old[b, 0] < old[a, 0] or (old[b, 0] == old[a, 0] and old[b, 1] < old[a, 1]):
                    new[to, 0], new[to, 1] = old[b, 0], old[b, 1]
                    b += 1
                else:
                    new[to, 0], new[to, 1] = old[a, 0], old[a, 1]
                    a += 1
                to += 1
            while a < a_end:
                new[to, 0], new[to, 1] = old[a, 0], old[a, 1]
                a += 1
                to += 1
            b_end = min(start + 2 * width, size)
            while b < b_end:
                new[to, 0], new[to, 1] = old[b, 0], old[b, 1]
                b += 1
                to += 1
        old, new = new, old
        swapped = not swapped
        width *= 2
    if swapped:
        rows[:] = spare
    return comparisons


def merge_rows(one: Cells, two: Cells, out: Cells) -> int:
    """Merge two sorted runs, of at least one row each. What lies before or behind the other run is found by bisection;
    between, the rows of `two` find their places by bisection if they are few, and row by row if not.
    """
    ones, twos = one.shape[0], two.shape[0]
    comparisons = 0
    key, tail = one[ones - 1, 0], one[ones - 1, 1]
    low, high = 0, twos  # rows of `two` that do not go behind all of `one`
    while low < high:
        mid = (low + high) >> 1
        comparisons += 1
        if two[mid, 0] < key or (two[mid, 0] == key and two[mid, 1] < tail):
            low = mid + 1
        else:
            high = mid
    inner = low
    a = b = to = 0
    steps = 1
    while (1 << steps) < ones:
        steps += 1
    few = inner * steps < inner + ones
    while b < inner:
        key, tail = two[b, 0], two[b, 1]
        if few or b == 0:
            low, high = a, ones
            while low < high:
                mid = (low + high) >> 1
                comparisons += 1
                if key < one[mid, 0] or (key == one[mid, 0] and tail < one[mid, 1]):
                    high = mid
                else:
                    low = mid + 1
        else:
            low = a
            while low < ones:
                comparisons += 1
                if key < one[low, 0] or (key == one[low, 0] and tail < one[low, 1]):
                    break
                low += 1
        while a < low:
            out[to, 0], out[to, 1] = one[a, 0], one[a, 1]
            a += 1
            to += 1
        out[to, 0], out[to, 1] = key, tail
        b += 1
        to += 1
    while a < ones:
        out[to, 0], out[to, 1] = one[a, 0], one[a, 1]
        a += 1
        to += 1
    out[to:] = two[b:]
    return comparisons


def split_rows(rows: Cells, key: float, tail: float, out: Cells) -> int:
    """Rows better than the pivot to the front of `out`, the others to its end; returns how many are better."""
    low, high = 0, rows.shape[0] - 1
    for i in range(rows.shape[0]):  # one comparison each
        first, second = rows[i, 0], rows[i, 1]
        out[low, 0], out[low, 1] = first, second
        out[high, 0], out[high, 1] = first, second
        if first < key or (first == key and second < tail):
            low += 1
        else:
            high -= 1
    return low


def select_rows(rows: Cells, count: int) -> int:
    """Move the best `count` rows to the front: quickselect, pivot the median of three."""
    comparisons = 0
    low, high = 0, rows.shape[0] - 1
    while low < high:
        mid = (low + high) >> 1
        x, y, z = low, mid, high
        comparisons += 3
        if rows[y, 0] < rows[x, 0] or (rows[y, 0] == rows[x, 0] and rows[y, 1] < rows[x, 1]):
            x, y = y, x
        if rows[z, 0] < rows[y, 0] or (rows[z, 0] == rows[y, 0] and rows[z, 1] < rows[y, 1]):
            y, z = z, y
        if rows[y, 0] < rows[x, 0] or (rows[y, 0] == rows[x, 0] and rows[y, 1] < rows[x, 1]):
            x, y = y, x
        key, tail = rows[y, 0], rows[y, 1]
        i, j = low, high
        while i <= j:
            comparisons += 1
            while rows[i, 0] < key or (rows[i, 0] == key and rows[i, 1] < tail):
                i += 1
                comparisons += 1
            comparisons += 1
            while key < rows[j, 0] or (key == rows[j, 0] and tail < rows[j, 1]):
                j -= 1
                comparisons += 1
            if i <= j:
                first, second = rows[i, 0], rows[i, 1]
                rows[i, 0], rows[i, 1] = rows[j, 0], rows[j, 1]
                rows[j, 0], rows[j, 1] = first, second
                i += 1
                j -= 1
        if count - 1 <= j:
            high = j
        elif count - 1 >= i:
            low = i
        else:
            break
    return comparisons


def classify_rows(pivots: Cells, rows: Cells, chunks: NDArray[np.uint16]) -> int:
    """For each row, how many of the sorted pivots are not worse than it: bisection."""
    comparisons = 0
    for i in range(rows.shape[0]):
        key, tail = rows[i, 0], rows[i, 1]
        low, high = 0, pivots.shape[0]
        while low < high:
            mid = (low + high) >> 1
            comparisons += 1
            if key < pivots[mid, 0] or (key == pivots[mid, 0] and tail < pivots[mid, 1]):
                high = mid
            else:
                low = mid + 1
        chunks[i] = low
    return comparisons
