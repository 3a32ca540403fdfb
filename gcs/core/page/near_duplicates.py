"""Pages that are nearly the same, by their signatures: each is put into the group of the first one that it is like.

Signatures of 64 bits that differ in at most three are alike. Cut into four parts, such signatures have one part in
common, so only groups with a part in common are looked at.

Invariant: pure, and the groups follow from the order of the pages alone. What a stranger makes up costs bounded time:
of groups with the same part, `MOST_LOOKED_AT` are looked at.
"""

from collections.abc import Iterator

#: signatures that differ in so few bits are of texts that are nearly the same
NEAR_BITS = 3
_PARTS, _PART_BITS = 4, 16
_MASK = (1 << _PART_BITS) - 1
#: groups that are compared for each part of a signature: a million pages have 15 that share one by chance
MOST_LOOKED_AT = 512


class SimhashGroups:
    """Groups of signatures; a group is the number of the first page in it."""

    def __init__(self) -> None:
        self._parts: tuple[dict[int, list[int]], ...] = tuple({} for _ in range(_PARTS))
        self._firsts: dict[int, int] = {}
        self._pages = 0

    def group_of(self, signature: int, _text: str = "") -> int:
        """The group of the next page; its own number, if it is like none before. A page without a text is like none."""
        number = self._pages
        self._pages += 1
        if not signature:
            return number
        if (same := self._firsts.get(signature)) is not None:
            return same
        for first in self._candidates(signature):
            if is_near(first, signature):
                return self._firsts[first]
        self._firsts[signature] = number
        for part, value in enumerate(_cut(signature)):
            self._parts[part].setdefault(value, []).append(signature)
        return number

    def _candidates(self, signature: int) -> Iterator[int]:
        for part, value in enumerate(_cut(signature)):
            yield from self._parts[part].get(value, ())[-MOST_LOOKED_AT:]


def is_near(one: int, other: int) -> bool:
    """Whether two signatures are of texts that are nearly the same."""
    return (one ^ other).bit_count() <= NEAR_BITS


def _cut(signature: int) -> Iterator[int]:
    for part in range(_PARTS):
        yield signature >> part * _PART_BITS & _MASK
