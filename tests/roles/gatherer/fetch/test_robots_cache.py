"""Stored rules go to the next owner of a host, and serve the request that waited for them."""

import pytest

from gcs.core.page.robots import MAX_BODY_BYTES
from gcs.core.polite.politeness import Politeness
from gcs.roles.gatherer.fetch.robots_cache import MEMORY_BYTES, RobotsCache


class Cache(RobotsCache):
    def __init__(self) -> None:
        self.notes: dict[str, bytes] = {}
        super().__init__(Politeness(robots_cache_s=100.0), "gcs", self.notes.get, self.notes.__setitem__)


def test_robots_cache_exports_the_rules_of_all_origins_of_a_host() -> None:
    cache, heir = Cache(), Cache()
    for origin in ("http://a.example", "https://a.example", "http://a.example:8080", "http://b.example"):
        cache.answered(origin, 200, b"User-agent: *\nDisallow: /x", 0.0)
    exported = cache.export(["a.example", "c.example"])
    assert set(exported) == {"a.example"}
    heir.take_over(exported["a.example"])
    for origin in ("http://a.example", "https://a.example", "http://a.example:8080"):
        rules = heir.rules(origin, 50.0)
        assert rules is not None and not rules.allows(f"{origin}/x")
    assert heir.rules("http://b.example", 50.0) is None
    assert heir.rules("http://a.example", 100.0) is None, "the rules are too old"


def test_robots_cache_serves_old_rules_to_the_request_that_waited_for_them() -> None:
    """If a host's delay is longer than rules are valid, asking again before each page would never reach a page."""
    cache, origin = Cache(), "http://a.example"
    assert cache.rules(origin, 0.0) is None
    cache.answered(origin, 200, b"User-agent: *\nDisallow: /x", 0.0)
    rules = cache.rules(origin, 100.0)
    assert rules is not None and not rules.allows(f"{origin}/x")
    assert cache.rules(origin, 100.0) is None, "old rules are returned once"
    for _ in range(Politeness().robots_tries):
        cache.unreachable(origin, "timeout", 100.0)
    closed = cache.rules(origin, 300.0)
    assert closed is not None and closed.provisional
    assert cache.rules(origin, 300.0) is None


@pytest.mark.parametrize("lines", [20_000, 1])
def test_memory_is_bounded_by_bytes_not_only_by_origins(lines: int) -> None:
    """A stranger with a thousand host names has a robots.txt of 500 KB for each, of many lines or of one."""
    cache = Cache()
    length = (MAX_BODY_BYTES - 100) // lines - len("Disallow: /00000\n")
    body = b"User-agent: *\n" + b"".join(b"Disallow: /%05d%b\n" % (n, b"x" * length) for n in range(lines))
    for number in range(250):
        cache.notes.clear()
        cache.answered(f"http://h{number}", 200, body, 0.0)
    assert 0 < cache._size_bytes <= MEMORY_BYTES
    assert 10 < len(cache._memory) < 250
    assert (rules := cache.rules("http://h249", 1.0)) and len(rules.rules) == lines
