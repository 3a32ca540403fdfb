"""Canonical URLs and the joining of links; the public suites are in test_suites_urls.py."""

import re
from itertools import product

from can_ada import parse
from hypothesis import example, given
from hypothesis import strategies as st

from gcs.core.urls import DEFAULT, Joiner, Rules, canonical, origin

EVERY_RULES = [
    Rules(tracking, sessions, drop, sort)
    for tracking, sessions, drop, sort in product((True, False), (True, False), ((), ("q", "a.b")), (True, False))
]

#: what breaks URL code: separators, escapes (whole, cut, nested), blanks, dots, session ids, foreign scripts
PIECES = st.sampled_from(
    [
        "/",
        "//",
        "\\",
        ".",
        "..",
        "...",
        "./",
        "../",
        "%2e",
        "%2E%2e",
        "%2f",
        "%41",
        "%7e",
        "%c3%a9",
        "%",
        "%4",
        "%zz",
        "%%",
        "%25",
        "%2541",
        "?",
        "??",
        "&",
        "=",
        "#",
        "@",
        ":",
        ";",
        ",",
        "+",
        "'",
        '"',
        "<",
        ">",
        "[",
        "]",
        "{",
        "}",
        "|",
        "^",
        "`",
        "~",
        "a",
        "b",
        "c.html",
        "INDEX",
        "x=1",
        "a.b=2",
        "q=3",
        "utm_source=x",
        "UTM_%6dedium=",
        "gclid",
        "phpsessid=1",
        "sid=0123456789abcdef01",
        ";jsessionid=1A.n",
        ";jsession",
        ";JSESSIONID=",
        "(S(abcdefghijklmnopqrstuvwx))",
        "http:",
        "https:",
        "http://",
        "https://",
        "HTTP://",
        "//h/",
        "example.com",
        "a..b",
        "127.0.0.1",
        "0x7f.1",
        "[::1]",
        ":80",
        ":443",
        ":8080",
        "bücher.de",
        "xn--bcher-kva.de",
        "é",
        "ß",
        "。",
        "\xad",
        "\u200d",
        "🌍",
        "mailto:x",
        "javascript:1",
        "data:,x",
    ]
    + [" ", "\t", "\n", "\r", "\f", "\x00", "\x1f", "\x7f", "\x80", "\xa0", "\ud800", "\ufffe"]
)
NASTY = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)
ABSOLUTE = st.builds(
    "{}{}".format, st.sampled_from(["http://h.test/", "https://user:pw@h.test:8443", "http://", "HTTPS:\\\\"]), NASTY
)
BASES = st.one_of(ABSOLUTE.map(canonical).filter(bool), st.just("http://h.test/a/b.html?c=/d/e"))


@given(ABSOLUTE | NASTY, st.sampled_from(EVERY_RULES))
@example("http://h/a/..;jsessionid=1/b", DEFAULT)
@example("http://h/;jsession;jsessionid=1id=2", DEFAULT)
@example("http://1.2.3.4../", DEFAULT)
@example("http://h/?utm_a&utm_b", DEFAULT)
def test_canonical_is_idempotent(url: str, rules: Rules) -> None:
    once = canonical(url, rules)
    if once is not None:
        assert canonical(once, rules) == once
        assert re.fullmatch(r"https?://[!-~]+", once)
        assert "#" not in once
        assert origin(once) + "/" == once[: len(origin(once)) + 1]
        # a canonical URL is one that ada leaves alone
        assert parse(once).href == once


@given(BASES, st.lists(NASTY | ABSOLUTE, max_size=6), st.sampled_from(EVERY_RULES))
@example(
    "http://h/a/b?c", ["x #f", "x#f", "#", "", " ", "?", "/\t/h2/", "/\\h2", "\\x", "ht\ntp://k/", "http:x"], DEFAULT
)
@example("http://h/a/b", ["//", "///", "////x", "//k:99999/", "/", ".", "..", "./:x", "a:b", "A:"], DEFAULT)
def test_join_equals_whatwg_resolution(base: str, hrefs: list[str], rules: Rules) -> None:
    expected = []
    for href in hrefs:
        scalar = href.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        try:
            url = canonical((parse(base) + scalar).href, rules)
        except ValueError:
            url = None
        if url is not None and url not in expected:
            expected.append(url)
    base_of_rules = canonical(base, rules)
    if base_of_rules != base:
        return  # only canonical bases are promised
    joiner = Joiner(rules)
    assert joiner.join(base, hrefs) == expected
    assert joiner.join(base, hrefs) == expected  # now from memory
