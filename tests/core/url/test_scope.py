"""The scope of a crawl."""

import dataclasses

import pytest

from gcs.core.url.scope import Scope
from gcs.errors import SettingsError

SEEDS = ("https://www.example.co.uk/start", "http://127.0.0.1:8080/", "http://me.github.io/")


@pytest.mark.parametrize(
    ("url", "by_host", "by_domain"),
    [
        ("https://www.example.co.uk/", True, True),
        ("http://example.co.uk:8080/x", True, True),
        ("https://shop.example.co.uk/", False, True),
        ("https://www.shop.example.co.uk/", False, True),
        ("https://wwwexample.co.uk/", False, False),
        ("https://other.co.uk/", False, False),
        ("http://127.0.0.1/", True, True),
        ("http://127.0.0.2:8080/", False, False),
        ("https://me.github.io/x", True, True),
        ("https://you.github.io/", False, False),
        ("https://github.io/", False, False),
    ],
)
def test_covers_by_host_and_by_domain(url: str, by_host: bool, by_domain: bool) -> None:
    for kind, expected in (("host", by_host), ("domain", by_domain), ("any", True)):
        scope = Scope(kind, SEEDS)
        assert scope.covers(url) is expected
        assert scope.covers(url) is expected  # now from memory


def test_covers_nothing_without_seeds_unless_told() -> None:
    assert not Scope("host").covers("http://example.com/")
    assert Scope("any").covers("http://example.com/")


def test_covers_by_patterns_within_the_hosts() -> None:
    scope = Scope("host", ("http://h.test/",), include=("/docs/", r"\.html$"), exclude=("/docs/old/", "(?i)print"))
    assert scope.covers("http://h.test/docs/a")
    assert scope.covers("http://h.test/a.html")
    assert not scope.covers("http://h.test/a")
    assert not scope.covers("http://h.test/docs/old/a.html")
    assert not scope.covers("http://h.test/docs/a?PRINT=1")
    assert not scope.covers("http://other.test/docs/a")


def test_covers_a_seed_whatever_the_patterns_say() -> None:
    """It was asked for by name, and what matches may be found only behind it."""
    scope = Scope("host", ("http://h.test/", "http://h.test/old/"), include=("/docs/",), exclude=("/old/",))
    assert scope.covers("http://h.test/") and scope.covers("http://h.test/old/")
    assert not scope.leaves_out("http://h.test/")
    assert scope.leaves_out("http://h.test/a") and scope.leaves_out("http://h.test/docs/old/")


def test_scope_names_a_bad_pattern() -> None:
    with pytest.raises(SettingsError, match=r"crawl\.exclude: '\*\.pdf' is not a regular expression"):
        Scope("any", exclude=("*.pdf",))


def test_scope_grows_by_further_seeds() -> None:
    scope = Scope("host", ("http://a.test/",))
    assert not scope.covers("http://b.test/")
    assert dataclasses.replace(scope, seeds=(*scope.seeds, "http://b.test/")).covers("http://b.test/")


def test_scope_memory_is_bounded() -> None:
    scope = Scope("host", ("http://h.test/",))
    for number in range(40_000):
        assert not scope.covers(f"http://h{number}.test/")
    assert len(scope._verdicts) <= 1 << 14
    assert scope.covers("http://h.test/")
