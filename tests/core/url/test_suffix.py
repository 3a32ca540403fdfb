"""Registered domains, against the public suffix list's own tests and the package's own view."""

import subprocess
import sys
from pathlib import Path

import publicsuffixlist
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.suffix import public_suffix, registered_domain

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
    code = "import sys, gcs.core.url.suffix; sys.exit('publicsuffixlist' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
