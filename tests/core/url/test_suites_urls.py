"""URL parsing, resolution and canonical form against the web platform's tests and crawler-commons' tables.

What is left out stands here with its reason, and the tests fail when a case leaves (or joins) that list.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from can_ada import parse

from gcs.core.url.canonical import UrlRules, canonical, host_of_url
from gcs.core.url.join import Joiner

SUITES = Path(__file__).parents[3] / ".." / "shared" / "suites"
WPT = SUITES / "wpt-url"
COMMONS = SUITES / "crawler-commons"
WEB = ("http://", "https://")

pytestmark = pytest.mark.skipif(not SUITES.exists(), reason="the conformance suites are not beside the checkout")

OPAQUE = "trailing spaces of opaque paths: a change of the standard after this ada; never http(s)"
CARET = "^ in paths: a change of the standard after this ada; canonical URLs escape it in any case"
PUNYCODE = "ada decodes and checks xn-- labels of ASCII hosts; the standard lets them pass since 2025"
#: href that the standard wants → why ada gives another (or none)
ADA_DIFFERS = {
    "non-special:opaque %20?hi": OPAQUE,
    "non-special:opaque %20#hi": OPAQUE,
    "non-special:opaque  %20#hi": OPAQUE,
    "foo://host/%20!%22$%&'()*+,-./:;%3C=%3E@[\\]%5E_%60%7B|%7D~": CARET,
    "wss://host/%20!%22$%&'()*+,-./:;%3C=%3E@[/]%5E_%60%7B|%7D~": CARET,
    "http://a.b.c.xn--pokxncvks/": PUNYCODE,
    "http://10.0.0.xn--pokxncvks/": PUNYCODE,
    "https://xn--/": PUNYCODE,
    "file://xn--/p": PUNYCODE,
}


def cases(name: str) -> Iterator[dict[str, Any]]:
    for case in json.loads((WPT / name).read_text(encoding="utf-8")):
        if isinstance(case, dict):  # the strings are comments
            yield case


def test_ada_parses_as_the_standard_wants() -> None:
    agreed, differing = 0, set()
    for case in cases("urltestdata.json"):
        expected = None if case.get("failure") else case["href"]
        try:
            found = (parse(case["base"]) + case["input"] if case.get("base") else parse(case["input"])).href
        except ValueError:
            found = None
        if found == expected:
            agreed += 1
        else:
            differing.add(expected)
    assert agreed > 870
    assert differing == ADA_DIFFERS.keys()


def test_join_and_canonical_follow_the_standard() -> None:
    """Through our own doors: what is a page of the web is found, in canonical form, and nothing else is."""
    seen: Counter[bool] = Counter()
    for case in cases("urltestdata.json"):
        expected = None if case.get("failure") or ADA_DIFFERS.get(case["href"]) else canonical(case["href"])
        base = case.get("base")
        if not base:
            assert canonical(case["input"]) == expected, case
        elif base.startswith(WEB) and (page := canonical(base)):
            assert Joiner().join(page, [case["input"]]) == ([expected] if expected else []), case
        else:
            continue
        seen[expected is None] += 1
    assert seen[True] > 300
    assert seen[False] > 230


UNICODE = "mappings of a newer Unicode version than this ada's"
SHARP_S = "capital ẞ becomes ss in this ada, ß in the newer Unicode version"
EMPTY = "canonical() drops the dot at the end of a host and refuses empty labels: no name server knows them"


def test_hosts_become_ascii_as_the_standard_wants() -> None:
    """Where we differ we refuse a host that the newest standard takes, but (ẞ apart) never name another host."""
    agreed, differing = 0, Counter[str]()
    for case in [*cases("toascii.json"), *cases("IdnaTestV2.json")]:
        name, expected = case["input"], case["output"]
        url = canonical(f"https://{name}/x") if name else None
        found = host_of_url(url) if url else None
        if found == (expected or None):
            agreed += 1
        elif "ẞ" in name:
            differing[SHARP_S] += 1
            assert (
                found
                == {"xn--zca.com": "ss.com", "xn--zca.foo.com": "ss.foo.com", "xn--fa-hia.de": "fass.de"}[expected]
            )
        elif "" in expected.split("."):
            differing[EMPTY] += 1
            assert found is None or found == expected.removesuffix(".")
        else:
            differing[PUNYCODE if name.isascii() else UNICODE] += 1
            assert found is None, case
    assert agreed > 1700
    assert differing == {PUNYCODE: 679, EMPTY: 237, UNICODE: 68, SHARP_S: 4}


@pytest.mark.parametrize("part", ["/", "/?"])
def test_percent_encoding_is_utf8_as_in_the_suite(part: str) -> None:
    checked = 0
    for case in cases("percent-encoding.json"):
        # a canonical URL is also a URI of RFC 3986, which knows neither of these two
        expected = case["output"]["utf-8"].replace("|", "%7C").replace("\\", "%5C" if "?" in part else "/")
        assert canonical(f"http://h{part}{case['input']}") == f"http://h{part}{expected}"
        checked += 1
    assert checked >= 7


def rows(path: Path) -> Iterator[list[str]]:
    # split by "\n" only: the tables hold control characters that splitlines would cut at
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.strip() and not line.startswith("#"):
            yield [cell.strip(" ") for cell in next(csv.reader([line], skipinitialspace=True))]


SLASHES = "empty segments are kept: to a server they may mean another page"
NOT_WEB = "only http and https are crawled"
NO_HOST = "the standard finds no host in it"
NO_SCHEME = "it has no scheme: the command line adds one to a seed, a link without one is relative"
EMPTY_VALUE = "b= and b are kept apart: servers may tell them apart"
EMPTY_NAME = "parameters without a name are kept"
#: input → why our canonical form is another
COMMONS_DIFFERS = {
    "http://foo.com//aa/bb/foo.html": SLASHES,
    "http://foo.com/aa//bb/foo.html": SLASHES,
    "http://foo.com/aa/bb//foo.html": SLASHES,
    "http://foo.com//aa//bb//foo.html": SLASHES,
    "http://foo.com////aa////bb//foo.html": SLASHES,
    "http://foo.com////aa////bb////foo.html": SLASHES,
    "file:///foo/bar.txt": NOT_WEB,
    "ftp:/": NOT_WEB,
    "ftp://foo.com/index.html": NOT_WEB,
    "file:/path/index.html": NOT_WEB,
    "file:/var/www/html/////./bar/index.html": NOT_WEB,
    "file:/var/www/html/foo/../bar/index.html": NOT_WEB,
    "http:////": NO_HOST,
    "http:///////": NO_HOST,
    "foo.com/index.html": NO_SCHEME,
    "http://foo.com/index?a=1&b=": EMPTY_VALUE,
    "http://foo.com/index?b=&a=1": EMPTY_VALUE,
    "http://foo.com/index?&=1&a=1": EMPTY_NAME,
    "http://foo.com/index?=1&b=1&a=1": EMPTY_NAME,
}


def test_canonical_agrees_with_crawler_commons() -> None:
    """Their normaliser sorts the query, so ours does here."""
    agreed, differing = 0, set()
    for weird, normal in rows(COMMONS / "normalizer" / "weirdToNormalizedUrls.csv"):
        if canonical(weird, UrlRules(sort_query=True)) == normal:
            agreed += 1
        else:
            differing.add(weird)
    assert agreed > 90
    assert differing == COMMONS_DIFFERS.keys()


def test_canonical_refuses_what_crawler_commons_refuses() -> None:
    invalid = [row[0] for row in rows(COMMONS / "normalizer" / "invalidUrls.csv")]
    assert len(invalid) == 2
    assert [url for url in invalid if canonical(url)] == []


def test_join_resolves_as_crawler_commons() -> None:
    checked = 0
    for href, base, expected in rows(COMMONS / "url-utils" / "url-resolve.csv"):
        if base.startswith("file:"):
            continue
        joined = Joiner().join(canonical(base) or "", [href]) if base else [canonical(href)]
        assert joined == [canonical(expected)]
        checked += 1
    assert checked >= 20
