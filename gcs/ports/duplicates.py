"""Near-duplicates of what was gathered: which page is of which group, and a report of the groups."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from gcs.core.page.near_duplicates import SimhashGroups
from gcs.errors import UsageError
from gcs.ports.records.reading import latest

#: how duplicates are found, the default first
METHODS = ("simhash", "minhash")
#: pages of a group that a report names
MOST_NAMED = 20


class Groups(Protocol):
    """Puts each page into the group of the first one that it is like."""

    def group_of(self, signature: int, text: str) -> int:
        """The group of the next page."""


class DuplicateGroup(msgspec.Struct, frozen=True):
    """Pages that are nearly the same; the first of them, and some of the others."""

    pages: int
    url: str
    title: str
    others: list[str]


class DuplicateReport(msgspec.Struct, frozen=True):
    """How much of a crawl comes more than once; the largest groups."""

    pages: int
    #: without near-duplicates
    unique: int
    groups: int
    largest: list[DuplicateGroup]


def groups_by(method: str) -> Groups:
    if method == "simhash":
        return SimhashGroups()
    if method != "minhash":
        raise UsageError(f"near-duplicates are found by {' or '.join(METHODS)}, not by {method}")
    from gcs.ports.minhash_groups import MinhashGroups

    return MinhashGroups()


class FirstOfGroup:
    """Picks the first page of each kind."""

    def __init__(self, method: str) -> None:
        self._groups = groups_by(method)
        self._pages = 0

    def add(self, signature: int, text: str) -> bool:
        """The next page; whether it is the first of its kind."""
        self._pages += 1
        return self._groups.group_of(signature, text) == self._pages - 1


def duplicate_report(place: str, method: str, most: int) -> DuplicateReport:
    """The groups of a crawl's pages, as they were found last; of each, some addresses are kept meanwhile."""
    found: dict[int, list[str]] = {}
    sizes: dict[int, int] = {}
    groups, count = groups_by(method), 0
    for url, title, group in _grouped(place, groups):
        count += 1
        sizes[group] = sizes.get(group, 0) + 1
        named = found.setdefault(group, [title, url])
        if 1 < sizes[group] <= MOST_NAMED + 1:
            named.append(url)
    several = sorted((group for group, size in sizes.items() if size > 1), key=lambda group: (-sizes[group], group))
    largest = []
    for group in several[:most]:
        title, url, *others = found[group]
        largest.append(DuplicateGroup(sizes[group], url, title, others))
    return DuplicateReport(count, len(sizes), len(several), largest)


def _grouped(place: str, groups: Groups) -> Iterator[tuple[str, str, int]]:
    for url, title, signature, text in latest(place, ("url", "title", "simhash", "text")):
        yield url, title, groups.group_of(signature, text)
