"""The robots desk: what is filed outlives the memory, and goes with its host."""

from gcs.core.polite.politeness import Politeness
from gcs.roles.gatherer.fetch.robots_cache import RobotsCache


class Desk(RobotsCache):
    def __init__(self) -> None:
        self.notes: dict[str, bytes] = {}
        super().__init__(Politeness(robots_cache_s=100.0), "gcs", self.notes.get, self.notes.__setitem__)


def test_desk_hands_on_what_is_filed_for_all_origins_of_a_host() -> None:
    desk, heir = Desk(), Desk()
    for origin in ("http://a.example", "https://a.example", "http://a.example:8080", "http://b.example"):
        desk.answered(origin, 200, b"User-agent: *\nDisallow: /x", 0.0)
    exported = desk.export(["a.example", "c.example"])
    assert set(exported) == {"a.example"}
    heir.take_over(exported["a.example"])
    for origin in ("http://a.example", "https://a.example", "http://a.example:8080"):
        rules = heir.rules(origin, 50.0)
        assert rules is not None and not rules.allows(f"{origin}/x")
    assert heir.rules("http://b.example", 50.0) is None
    assert heir.rules("http://a.example", 100.0) is None, "it is too old"


def test_rules_serve_the_request_that_they_were_asked_for_however_old() -> None:
    """A host's delay may be longer than rules are believed: to ask again before each page would never come to one."""
    desk, origin = Desk(), "http://a.example"
    assert desk.rules(origin, 0.0) is None
    desk.answered(origin, 200, b"User-agent: *\nDisallow: /x", 0.0)
    rules = desk.rules(origin, 100.0)
    assert rules is not None and not rules.allows(f"{origin}/x")
    assert desk.rules(origin, 100.0) is None, "once"
    for _ in range(Politeness().robots_tries):
        desk.unreachable(origin, "timeout", 100.0)
    closed = desk.rules(origin, 300.0)
    assert closed is not None and closed.provisional
    assert desk.rules(origin, 300.0) is None
