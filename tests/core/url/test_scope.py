"""The scope of a crawl."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import publicsuffixlist
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.scope import Scope, public_suffix, registered_domain
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


@pytest.mark.parametrize(
    ("seed", "inside", "outside"),
    [
        (
            "http://h.test/docs/",
            ["/docs/", "/docs", "/docs?p", "/docs/a/b.html"],
            ["/", "/docs2/", "/doc", "/a/docs/"],
        ),
        ("http://h.test/docs", ["/docs", "/docs/a"], ["/", "/docs2", "/docs.html"]),
        ("http://h.test/docs/index.html", ["/docs/index.html", "/docs/b?x=/../", "/docs/c/"], ["/", "/other/docs/"]),
        ("http://h.test/docs/show?id=4", ["/docs/show?id=5", "/docs/x"], ["/"]),
        ("http://h.test/?q=/docs/", ["/", "/a", "/?q=2"], []),
    ],
)
def test_covers_what_lies_below_a_seed(seed: str, inside: list[str], outside: list[str]) -> None:
    scope = Scope("prefix", (seed,))
    assert scope.covers(seed)
    for origin in ("http://h.test", "https://www.h.test", "http://h.test:81"):
        assert [path for path in inside if not scope.covers(origin + path)] == []
        assert [path for path in outside if scope.covers(origin + path)] == []
    assert not scope.covers("http://other.test/docs/a")


def test_covers_by_the_nearest_of_many_folders_at_once() -> None:
    """By a look at each folder of the URL, not at each seed; a path without end is cut first."""
    scope = Scope("prefix", tuple(f"http://h.test/{number}/" for number in range(20_000)))
    assert scope.covers("http://h.test/19999/a/b")
    assert not scope.covers("http://h.test/20000/")
    assert not scope.covers("http://h.test/" + "/" * 1_000_000)


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


SUITE = Path(__file__).parents[3] / ".." / "shared" / "suites" / "publicsuffix" / "tests.txt"


@pytest.mark.parametrize(
    ("host", "suffix", "domain"),
    [
        ("www.example.com", "com", "example.com"),
        ("example.com", "com", "example.com"),
        ("com", "com", "com"),
        ("a.b.example.co.uk", "co.uk", "example.co.uk"),
        ("co.uk", "co.uk", "co.uk"),
        ("me.github.io", "github.io", "me.github.io"),
        ("x.me.github.io", "github.io", "me.github.io"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("xn--0.com", "com", "xn--0.com"),  # not decodable
        ("localhost", "localhost", "localhost"),
        ("wiki.intranet", "intranet", "wiki.intranet"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]", "[2001:db8::1]", "[2001:db8::1]"),
    ],
)
def test_suffix_and_domain_of(host: str, suffix: str, domain: str) -> None:
    assert (public_suffix(host), registered_domain(host)) == (suffix, domain)


def test_suffix_agrees_with_the_public_suite() -> None:
    """Where the suite says null for a name, it has no registered domain: ours is then the host itself."""
    if not SUITE.exists():
        pytest.skip("the conformance suites are not beside the checkout")
    checked = 0
    for line in SUITE.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("//"):
            continue
        host, expected = line.split()
        if host == "null" or host.startswith("."):
            continue  # never the host of a canonical URL
        host = host.lower().encode("idna").decode()
        if expected == "null":
            assert registered_domain(host) == host == public_suffix(host), line
        else:
            assert registered_domain(host) == expected.encode("idna").decode(), line
        checked += 1
    assert checked > 60


LISTED = publicsuffixlist.PublicSuffixList()
FOREIGN = sorted(rule for rule in LISTED._publicsuffix if rule.startswith("xn--"))
RULES = sorted(rule.lstrip("!*.") for rule in LISTED._publicsuffix if rule.isascii())
LABEL = st.from_regex(r"[a-z0-9]{1,3}", fullmatch=True)


@given(st.lists(LABEL, max_size=3), st.sampled_from(RULES) | st.sampled_from(FOREIGN))
def test_suffix_agrees_with_the_encoded_list(labels: list[str], rule: str) -> None:
    host = ".".join([*labels, rule])
    assert public_suffix(host) == LISTED.publicsuffix(host)
    assert registered_domain(host) == (LISTED.privatesuffix(host) or host)


def test_suffix_reads_the_list_only_when_asked() -> None:
    code = "import sys, gcs.core.url.scope; sys.exit('publicsuffixlist' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
