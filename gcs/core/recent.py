"""Links judged lately: the small memory that answers most links of a page without the disk.

Two generations of a set: when the young one is full it becomes the old one and the old one is dropped, so
memory is bounded by the capacity. A member was judged (queued, refused or sent on) not long ago and need not be
judged again; a non-member may have been judged all the same.
"""

from collections.abc import Collection, Iterable


class Recent:
    """A bounded set of URLs. filled by: fresh; emptied by: age."""

    def __init__(self, capacity: int) -> None:
        self._half = max(capacity // 2, 1)
        self._young: set[str] = set()
        self._old: set[str] = set()

    def fresh(self, urls: Iterable[str]) -> list[str]:
        """The URLs that were not judged lately, which from now on they were."""
        young, old = self._young, self._old
        found = [url for url in urls if url not in young and url not in old]
        if found:
            young.update(found)
            if len(young) >= self._half:
                self._old, self._young = young, set()
        return found

    def known(self, urls: Collection[str]) -> list[str]:
        """Those of the URLs that were judged lately, each once."""
        return [*self._young.intersection(urls), *self._old.intersection(urls)]

    def clear(self) -> None:
        """Forget everything: what was judged may be judged otherwise now."""
        self._young.clear()
        self._old.clear()
