"""The guard against spider traps: URLs that a site makes without end, told by their looks.

A broken relative link gives /a/a/a/…, a faceted search gives ever longer queries, a script gives ever longer
paths. Endless series of ordinary URLs (calendars) cannot be told by a URL: the budget of a host ends those.

Invariant: the verdict depends on the URL, its depth and the settings alone. Must stay cheap: it sees every new link.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guard:
    """The limits of what looks like a page. 0 stands for no limit."""

    #: links from the nearest seed
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
