"""The difference of two texts, line by line: lines that occur once in both are anchors. Takes about linear time.

For people: it is not the shortest difference, but a true one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class ChangedLine(NamedTuple):
    """A line that was added ("+"), is gone ("-") or is the same (" ")."""

    mark: str
    line: str


def difference(older: Sequence[str], newer: Sequence[str]) -> list[ChangedLine]:
    """The lines of both, marked."""
    found: list[ChangedLine] = []
    low, high = 0, 0
    for at, to in [*_anchors(older, newer), (len(older), len(newer))]:
        found += _between(older[low:at], newer[high:to])
        if at < len(older):
            found.append(ChangedLine(" ", older[at]))
        low, high = at + 1, to + 1
    return found


def _anchors(older: Sequence[str], newer: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of places of the same line, which occurs once in each; as many as can be in order."""
    there, here = Counter(older), Counter(newer)
    place = {line: at for at, line in enumerate(newer) if here[line] == 1}
    pairs = [(at, place[line]) for at, line in enumerate(older) if there[line] == 1 and line in place]
    tails: list[int] = []  # of increasing sequences: the least last place, and which pair has it
    last: list[int] = []
    before: list[int] = []
    for number, (_, to) in enumerate(pairs):
        length = bisect_left(tails, to)
        before.append(last[length - 1] if length else -1)
        tails[length : length + 1] = [to]
        last[length : length + 1] = [number]
    chosen = []
    number = last[-1] if last else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _between(older: Sequence[str], newer: Sequence[str]) -> Iterator[ChangedLine]:
    """Without an anchor: the same at the beginning, the same at the end, and all else has changed."""
    most = min(len(older), len(newer))
    head = next((at for at in range(most) if older[at] != newer[at]), most)
    tail = next((at for at in range(most - head) if older[-1 - at] != newer[-1 - at]), most - head)
    yield from (ChangedLine(" ", line) for line in older[:head])
    yield from (ChangedLine("-", line) for line in older[head : len(older) - tail])
    yield from (ChangedLine("+", line) for line in newer[head : len(newer) - tail])
    yield from (ChangedLine(" ", line) for line in older[len(older) - tail :])
