"""Canonical URLs and the joining of links; the public suites are in test_suites_urls.py."""

import re
from itertools import product

import pytest
from can_ada import parse
from hypothesis import example, given
from hypothesis import strategies as st

from gcs.core.page.values import LINE_LENGTH, Document
from gcs.core.url.canonical import DEFAULT, UrlRules, canonical, host_of_url, origin_of_url
from gcs.core.url.join import LINKS_LENGTH, Joiner, facts_of

EVERY_RULES = [
    UrlRules(tracking, sessions, drop, sort)
    for tracking, sessions, drop, sort in product((True, False), (True, False), ((), ("q", "a.b")), (True, False))
]

#: what breaks URL code: separators, escapes (whole, cut, nested), dots, session ids, addresses, foreign scripts
WORDS = """
/ // \\ . .. ... ./ ../ %2e %2E%2e %2f %41 %7e %c3%a9 % %4 %zz %% %25 %2541 ? ?? & = # @ : ; , + ' " < > [ ] { } | ^ ` ~
a b c.html INDEX x=1 a.b=2 q=3 utm_source=x UTM_%6dedium= gclid phpsessid=1 sid=0123456789abcdef01 ;jsessionid=1A.n
;jsession ;JSESSIONID= (S(abcdefghijklmnopqrstuvwx)) http: https: http:// https:// HTTP:// //h/ h.test http://h.test
example.com a..b 127.0.0.1 0x7f.1 [::1] :80 :443 :8080 bücher.de xn--bcher-kva.de é ß 🌍 mailto:x javascript:1 data:,x
"""
BLANK_AND_RARE = " \t\n\r\f\x00\x1f\x7f\x80\xa0\xad\u200d\u3002\ud800\ufffe"
PIECES = st.sampled_from([*WORDS.split(), *BLANK_AND_RARE])
NASTY = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)
ABSOLUTE = st.builds(
    "{}{}".format, st.sampled_from(["http://h.test/", "https://user:pw@h.test:8443", "http://", "HTTPS:\\\\"]), NASTY
)
PAGES = ABSOLUTE | st.just("http://h.test/a/b.html?c=/d/e")


@given(ABSOLUTE | NASTY, st.sampled_from(EVERY_RULES))
@example("http://h/a/..;jsessionid=1/b", DEFAULT)
@example("http://h/;jsession;jsessionid=1id=2", DEFAULT)
@example("http://1.2.3.4../", DEFAULT)
@example("http://h/?utm_a&utm_b", DEFAULT)
def test_canonical_is_idempotent(url: str, rules: UrlRules) -> None:
    once = canonical(url, rules)
    if once is not None:
        assert canonical(once, rules) == once
        assert re.fullmatch(r"https?://[!-~]+", once)
        assert "#" not in once
        assert origin_of_url(once) + "/" == once[: len(origin_of_url(once)) + 1]
        # a canonical URL is one that ada leaves alone
        assert parse(once).href == once


@given(st.lists(PAGES, min_size=1, max_size=3), st.lists(NASTY | ABSOLUTE, max_size=6), st.sampled_from(EVERY_RULES))
@example(
    ["http://h/a/b?c"], ["x #f", "x#f", "#", "", " ", "?", "/\t/k/", "/\\k", "\\x", "ht\ntp://k/", "http:x"], DEFAULT
)
@example(["http://h/"], ["http://h:", "http://h", "http:/h", "https://h/", "http://h:80/x", "http://h/?"], DEFAULT)
@example(["http://h/a/b"], ["//", "///", "////x", "//k:99999/", "/", ".", "..", "./:x", "a:b", "A:"], DEFAULT)
@example(["http://h/a/b", "http://h/c"], ["x", "../x", "?x", "#x", "x?y", "x:y", "é", "http:x", " x"], DEFAULT)
@example(
    ["http://h/a//b/c?/d/", "http://h/c"],
    [
        "../x",
        "../../x",
        "../../../../x",
        "../",
        "..",
        "../..",
        "..//x",
        "../\t../x",
        "..\t/x",
        "../ x",
        "../\n/x",
        "../?q",
        "../.x",
    ],
    DEFAULT,
)
def test_join_equals_whatwg_resolution(pages: list[str], hrefs: list[str], rules: UrlRules) -> None:
    """Also where the joiner has met the same href before, on this page or on others of the origin."""
    joiner = Joiner(rules)
    for base in [url for page in pages * 2 if (url := canonical(page, rules))]:
        assert joiner.join(base, hrefs) == list(dict.fromkeys(filter(None, (resolve(base, h, rules) for h in hrefs))))


def resolve(base: str, href: str, rules: UrlRules) -> str | None:
    """The oracle: what ada makes of the href on that page, as a browser gives it to the parser."""
    scalar = href.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        return canonical((parse(base) + scalar).href, rules)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTP://Example.COM:80/a/./b/../c#top", "http://example.com/a/c"),
        ("https://example.com:443/?", "https://example.com/"),
        ("https://user:secret@example.com:8443/", "https://example.com:8443/"),
        ("http://example.com./a", "http://example.com/a"),
        ("http://example.com.:81/a", "http://example.com:81/a"),
        ("http://h/%7euser/%41%2d%2e%5F/%e9%2f", "http://h/~user/A-._/%E9%2F"),
        ("http://h/100%/%zz/%2", "http://h/100%25/%25zz/%252"),
        ("http://h/a|b[c]^?x[y]=1|2\\3", "http://h/a%7Cb%5Bc%5D%5E?x%5By%5D=1%7C2%5C3"),
        ("http://h/?a=1&utm_source=x&b=2&UTM_Medium=y&gclid=z&fbclid", "http://h/?a=1&b=2"),
        ("http://h/?utm_source=x#y", "http://h/"),
        ("http://h/?futm_x=1&gclids=2", "http://h/?futm_x=1&gclids=2"),
        ("http://h/p;jsessionid=1A2B.node3?x=1", "http://h/p?x=1"),
        ("http://h/a;JSESSIONID=1/b;v=2", "http://h/a/b;v=2"),
        ("http://h/a/..;jsessionid=1/b", "http://h/b"),
        ("http://h/(S(abcdefghijklmnopqrstuvwx))/p.aspx", "http://h/p.aspx"),
        ("http://h/?PHPSESSID=ab&x", "http://h/?x"),
        ("http://h/?sid=0123456789abcdef0123456789abcdef&t=1", "http://h/?t=1"),
        ("http://h/?sid=1742", "http://h/?sid=1742"),
        ("http://h/?session=introduction-to-crawling-2", "http://h/?session=introduction-to-crawling-2"),
        ("http://h/a//b/", "http://h/a//b/"),
        ("http://h/?b=2&a=1&&", "http://h/?b=2&a=1&&"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://bücher.de/ü?ü", "http://xn--bcher-kva.de/%C3%BC?%C3%BC"),
        ("  http://h/\ta\nb ", "http://h/ab"),
        ("http:\\\\h\\a", "http://h/a"),
        ("http://h/\ud800", "http://h/%EF%BF%BD"),
        ("mailto:a@example.com", None),
        ("javascript:void(0)", None),
        ("ftp://example.com/", None),
        ("file:///etc/passwd", None),
        ("httpx://example.com/", None),
        ("example.com/a", None),
        ("http://", None),
        ("http://a..b/", None),
        ("http://./", None),
        ("http://exa mple.com/", None),
        ("http://h:99999/", None),
        ("", None),
    ],
)
def test_canonical_of(url: str, expected: str | None) -> None:
    assert canonical(url) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (UrlRules(strip_tracking=False), "http://h/p?b=2&utm_x=1&a=3&q=4&b=1"),
        (UrlRules(strip_session_ids=False), "http://h/p;jsessionid=9?b=2&phpsessid=8&a=3&q=4&b=1"),
        (UrlRules(drop_params=("B", "q")), "http://h/p?a=3"),
        (UrlRules(sort_query=True), "http://h/p?a=3&b=2&b=1&q=4"),
    ],
)
def test_canonical_follows_its_rules(rules: UrlRules, expected: str) -> None:
    assert canonical("http://h/p;jsessionid=9?b=2&utm_x=1&phpsessid=8&a=3&q=4&b=1", rules) == expected


def test_drop_params_are_names_not_patterns() -> None:
    assert canonical("http://h/?a.b=1&axb=2", UrlRules(drop_params=("a.b",))) == "http://h/?axb=2"


@pytest.mark.parametrize(
    ("url", "its_origin", "its_host"),
    [
        ("http://h/", "http://h", "h"),
        ("https://a.example.com/x/y?z=//", "https://a.example.com", "a.example.com"),
        ("http://127.0.0.1:8080/x:1/", "http://127.0.0.1:8080", "127.0.0.1"),
        ("https://[2001:db8::1]/", "https://[2001:db8::1]", "[2001:db8::1]"),
        ("https://[2001:db8::1]:444/", "https://[2001:db8::1]:444", "[2001:db8::1]"),
    ],
)
def test_origin_and_host(url: str, its_origin: str, its_host: str) -> None:
    assert (origin_of_url(url), host_of_url(url)) == (its_origin, its_host)


def test_join_keeps_the_order_and_drops_repeats() -> None:
    hrefs = ["z", "/a", "mailto:x", "y#1", "y#2", "http://h.test/a", "//h.test/z", "javascript:1", "#", "z"]
    assert Joiner().join("http://h.test/", hrefs) == [
        "http://h.test/z",
        "http://h.test/a",
        "http://h.test/y",
        "http://h.test/",
    ]


def test_joiner_memory_is_bounded() -> None:
    joiner = Joiner(memo_entries=100)
    hrefs = [f"/{n}" for n in range(9)] + [f"x{n}#y" for n in range(9)] + ["/" + "x" * 2000, "data:" + "x" * 2000]
    for site in range(20):
        for page in range(20):
            urls = joiner.join(f"http://s{site}.test/{page % 4}/{page}", hrefs)
            assert len(urls) == 19
            kept = [*joiner._memos.values(), *filter(None, joiner._nearby.values())]
            assert sum(map(len, kept)) + len(joiner._nearby) <= 100
            assert len(joiner._origins) <= 100
            assert all(len(href) <= 1024 for memo in kept for href in memo)


def test_joiner_remembers_a_folder_from_its_second_page_on() -> None:
    """Most folders of most sites hold one page that is ever fetched; they must not fill the memory."""
    joiner = Joiner()
    for page, remembered in (("a", 0), ("b", 2), ("c", 2)):
        assert joiner.join(f"http://h.test/d/{page}", ["x", "../y", "/z"]) == [
            "http://h.test/d/x",
            "http://h.test/y",
            "http://h.test/z",
        ]
        assert len(joiner._nearby["http://h.test/d/"] or ()) == remembered


def test_facts_bound_the_links_of_a_page_in_characters() -> None:
    """A base of 16 KB and 50,000 short links were 800 MB, from a page of 700 KB."""
    joiner = Joiner()
    base = "http://h.test/" + "b" * 16_000 + "/"
    facts = facts_of(Document([f"x{n}" for n in range(50_000)], base), "http://h.test/", joiner, heed=True)
    assert 500 < len(facts.outlinks) < 1_100
    assert sum(map(len, facts.outlinks)) <= LINKS_LENGTH
    far = [f"http://h.test/{n}/" + "é" * 1_000 for n in range(10_000)]
    facts = facts_of(Document(far), "http://h.test/", joiner, heed=True)
    assert LINKS_LENGTH * 0.9 < sum(map(len, facts.outlinks)) <= LINKS_LENGTH
    kept = [*joiner._memos.values(), *filter(None, joiner._nearby.values())]
    assert sum(len(url) for memo in kept for url in memo.values()) < 4 * LINKS_LENGTH


def test_facts_leave_out_links_that_are_no_addresses() -> None:
    document = Document(["/" + "x" * 100_000, "y"], canonical="/" + "z" * 100_000, title="t" * 100_000)
    facts = facts_of(document, "http://h.test/", Joiner(), heed=True)
    assert (facts.outlinks, facts.final_url, len(facts.title)) == (["http://h.test/y"], "http://h.test/", LINE_LENGTH)


@pytest.mark.parametrize("begin", ["http://", "//", "/\\", "https:", " http:///", "ht\ntp:/\t/", "\\/"])
def test_host_that_is_longer_than_any_is_none(begin: str) -> None:
    """A minute of work for ada, which sorts its letters: a page of such links held a gatherer."""
    for host in ("e\u0327\u0301" * 20_000, "%CC%A7%CC%81" * 5_000, "\u4e2d\u6587" * 20_000):
        assert Joiner().join("http://h.test/a", [f"{begin}{host}.test/"]) == []


def test_path_may_be_longer_than_a_host() -> None:
    long = "\u043f" * 300
    hrefs = [long, f"/{long}", f"http://k.test/{long}", f"?{long}", f"//k.test?{long}"]
    assert len(Joiner().join("http://h.test/a/b", hrefs)) == len(hrefs)
