"""URLs seen lately: the small memory in front of the frontier that answers most links.

Two generations of a set: when the young one is full it becomes the old one and the old one is dropped.
Memory is bounded by twice the capacity. A member is certainly known; a non-member may be known all the same.
"""


class Recent:
    """A bounded set of URLs. filled by: insert; emptied by: age."""

    def __init__(self, capacity: int) -> None:
        self._half = max(capacity // 2, 1)
        self._young: set[str] = set()
        self._old: set[str] = set()

    def __contains__(self, url: str) -> bool:
        return url in self._young or url in self._old

    def add(self, url: str) -> bool:
        """Remember the URL; False if it was remembered already."""
        if url in self._young:
            return False
        known = url in self._old
        self._young.add(url)
        if len(self._young) >= self._half:
            self._old, self._young = self._young, set()
        return not known

    def clear(self) -> None:
        """Forget everything: what was known may no longer be."""
        self._young.clear()
        self._old.clear()
