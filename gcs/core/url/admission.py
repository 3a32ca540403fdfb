"""Admission: which of a page's links become URLs of this crawl.

    links ─► judged lately? ─► in scope? ─► a trap? ─► admitted

The order matters for speed only: the memory of recent links (`Recent`) answers nine of ten in a fraction of a
microsecond. A spider trap is a site that makes URLs without end; `Guard` tells such URLs by their looks.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import filterfalse

from gcs.core.url.queued_url import QueuedUrl, level_of
from gcs.core.url.scope import Scope

#: a memory of requisites holds so many times fewer URLs than that of links
_FEWER = 4


@dataclass(frozen=True, slots=True)
class Guard:
    """The limits of what looks like a page. 0 stands for no limit."""

    #: links from the nearest seed; 0 for no limit
    max_depth: int = 0
    #: length of a URL
    max_url_bytes: int = 2000
    #: segments of a path
    max_path_segments: int = 25
    #: times that a path may hold the same segment, or a query the same parameter with the same value
    max_repeats: int = 3
    #: parameters of a query
    max_query_params: int = 24

    def refuses(self, url: str, depth: int) -> str:
        """Why a canonical URL is taken for a trap; "" if it is not."""
        if depth > self.max_depth > 0:
            return "too deep"
        if len(url) > self.max_url_bytes > 0:
            return "too long"
        slashes = url.count("/") - 2  # of the path, and some of the query
        if slashes > self.max_repeats or slashes > self.max_path_segments or "&" in url:
            return self._looks_closer(url)
        return ""

    def _looks_closer(self, url: str) -> str:
        path, _, query = url[url.index("/", 8) + 1 :].partition("?")
        segments = path.split("/")
        if len(segments) > self.max_path_segments > 0:
            return "too many path segments"
        if self.max_repeats and len(set(segments)) < len(segments) and self._repeats(segments):
            return "repeating path"
        if query:
            params = query.split("&")
            if len(params) > self.max_query_params > 0:
                return "too many parameters"
            if len(set(params)) < len(params) and 0 < self.max_repeats < _most(params):
                return "repeating query"
        return ""

    def _repeats(self, segments: list[str]) -> bool:
        if _most(segments) > self.max_repeats:
            return True
        # the same two or more segments, max_repeats times in a row: /a/b/a/b/a/b
        for size in range(2, len(segments) // self.max_repeats + 1):
            run = 0  # pairs of segments, `size` apart, that are equal one after the other
            for one, other in zip(segments, segments[size:]):
                run = run + 1 if one == other else 0
                if run >= size * (self.max_repeats - 1):
                    return True
        return False


def _most(words: list[str]) -> int:
    """How often the most frequent one occurs."""
    return max(map(words.count, words))


class Recent:
    """Links judged lately: a bounded set of URLs. filled by: fresh; emptied by: age."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._half = max(capacity // 2, 1)
        self._young: set[str] = set()
        self._old: set[str] = set()

    def fresh(self, urls: Iterable[str]) -> list[str]:
        """The URLs that were not judged lately, which from now on they were."""
        young = self._young
        # both loops run in C, and most links end in the first
        found = list(filterfalse(self._old.__contains__, filterfalse(young.__contains__, urls)))
        if found:
            young.update(found)
            if len(young) >= self._half:
                self._old, self._young = young, set()
        return found

    def known(self, urls: Collection[str]) -> list[str]:
        """The URLs among these that were judged lately, each once."""
        return [*self._young.intersection(urls), *self._old.intersection(urls)]

    def clear(self) -> None:
        """Forget everything: what was judged may be judged otherwise now."""
        self._young.clear()
        self._old.clear()


class Admission:
    """The admission of one gatherer."""

    def __init__(self, scope: Scope, guard: Guard, recent: Recent) -> None:
        self._scope = scope
        self._guard = guard
        self._recent = recent
        #: of requisites: as a link, the same URL may be judged otherwise
        self._recent_requisites = Recent(recent.capacity // _FEWER)
        #: links refused, by reason
        self.refused: dict[str, int] = {}

    @property
    def seeds(self) -> tuple[str, ...]:
        return self._scope.seeds

    def widen(self, seeds: tuple[str, ...]) -> None:
        """Set all seeds anew: URLs that were out of scope may be in it now."""
        if set(seeds) != set(self._scope.seeds):
            self._scope = replace(self._scope, seeds=seeds)
            self._recent.clear()
            self._recent_requisites.clear()

    def covers(self, url: str) -> bool:
        """Whether the URL is in scope."""
        return self._scope.covers(url)

    def in_scope(self, urls: list[str]) -> list[str]:
        return urls if self._scope.is_everything else [url for url in urls if self._scope.covers(url)]

    def is_left_out(self, entry: QueuedUrl) -> bool:
        """Whether the patterns leave out a URL that was admitted: they may be others since."""
        return not self._scope.serves(entry.url) if level_of(entry.depth) else self._scope.leaves_out(entry.url)

    def admit(self, urls: Iterable[str], depth: int) -> list[str]:
        """The canonical URLs among these that the crawl wants and that were not judged lately."""
        return self.wanted(self._recent.fresh(urls), depth)

    def wanted(self, urls: Iterable[str], depth: int) -> list[str]:
        """The canonical URLs among these that the crawl wants."""
        admitted = []
        for url in urls:
            if reason := self._guard.refuses(url, depth) if self._scope.covers(url) else "out of scope":
                self.refused[reason] = self.refused.get(reason, 0) + 1
            else:
                admitted.append(url)
        return admitted

    def admit_requisites(self, urls: Iterable[str]) -> list[str]:
        """The canonical URLs among these that were not judged lately, and that a page of the crawl may need."""
        return self.wanted_requisites(self._recent_requisites.fresh(urls))

    def wanted_requisites(self, urls: Iterable[str]) -> list[str]:
        """The canonical URLs among these that a page of the crawl may need: its scope does not matter."""
        return [url for url in urls if self._scope.serves(url) and not self._guard.refuses(url, 0)]
