"""The tree of a host's ordinary pages: page 0 is the home page, and every page has up to FAN children.

Numbers go level by level, and within a level round the parents (not parent by parent), so that a last,
unfinished level is spread evenly over the whole tree:

    level 0: 0    level 1: 1 … 10    level 2: 11 … 110, where 11, 21, 31 … are the children of 1

Invariant: `child in children(parent, pages)` ⇔ `parent_of(child) == parent` and child < pages.
"""

FAN = 10


def place_of(number: int) -> tuple[int, int]:
    """The level of a page and its rank in it. The last digit of the rank names its ancestor on level 1, the
    last two the one on level 2, and so on."""
    level, start, size = 0, 0, 1
    while number >= start + size:
        level, start, size = level + 1, start + size, size * FAN
    return level, number - start


def parent_of(number: int) -> int:
    """The parent of a page; the home page is its own."""
    level, rank = place_of(number)
    return _start(level - 1) + rank % _width(level - 1) if level else 0


def children(number: int, pages: int) -> range:
    """The children of a page in a tree of that many pages."""
    level, rank = place_of(number)
    first, width = _start(level + 1) + rank, _width(level)
    return range(first, min(pages, first + FAN * width), width)


def inner_pages(pages: int) -> int:
    """How many pages, from the first on, have children (at least one, so that there is always a parent)."""
    level = place_of(pages - 1)[0]
    if level == 0:
        return 1
    return _start(level - 1) + min(_width(level - 1), pages - _start(level))


def _width(level: int) -> int:
    """How many pages a full level has."""
    return int(FAN**level)


def _start(level: int) -> int:
    """The first number of a level."""
    return (_width(level) - 1) // (FAN - 1)
