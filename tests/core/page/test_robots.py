"""robots.txt by RFC 9309; the public suites are in test_suites_robots.py."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.path_rules import MAX_STARS
from gcs.core.page.robots import ALLOW_ALL, DENY_ALL, MAX_BODY_BYTES, Robots, product_token
from gcs.errors import CodecError
from tests.limits import cpu_limit

SITE = "https://example.com"


def allowed(text: str, path: str, agent: str = "gcs") -> bool:
    return Robots.parse(text.encode(), agent).allows(SITE + path)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/", "/", True),
        ("/fish", "/fish.html", True),
        ("/fish", "/Fish", False),
        ("/fish/", "/fish", False),
        ("/fish*", "/fishheads", True),
        ("/*.php$", "/a/index.php", True),
        ("/*.php$", "/index.php?x", False),
        ("/*.php", "/index.php?x", True),
        ("/a*b*c$", "/a/b/b/c", True),
        ("/*?", "/a?b=1", True),
        ("/*?", "/a", False),
        ("*.gif$", "/x.gif", True),
        ("/?x=1", "/?x=1&y", True),
        ("/%7Euser/", "/~user/a", True),
        ("/caf%c3%a9", "/caf%C3%A9", True),
        ("/café", "/caf%C3%A9", True),
        ("/a%2Fb", "/a/b", False),
        ("/a b", "/a%20b", True),
        ("/a # comment", "/ab", True),
        ("fish", "/fish", False),
        ("/" + "*a" * 40 + "*b", "/" + "a" * 1000, False),  # would take a back-tracking matcher for ever
    ],
)
def test_allows_by_pattern(pattern: str, path: str, matches: bool) -> None:
    assert allowed(f"User-agent: *\nDisallow: {pattern}\n", path) is not matches


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a/b\nDisallow: /a", "/a/b/c", True),
        ("Allow: /a\nDisallow: /a/b", "/a/b/c", False),
        ("Allow: /page\nDisallow: /page", "/page", True),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/page", False),
        ("Disallow: /", "/robots.txt", False),  # as a page: to read the rules, nobody asks them
        ("Disallow:", "/", True),
        ("Disallow: /\nDisallow:", "/a", False),
    ],
)
def test_allows_takes_the_longest_match(rules: str, path: str, expected: bool) -> None:
    assert allowed("User-agent: *\n" + rules, path) is expected


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("User-agent: gcs\nDisallow: /", False),
        ("USER-AGENT: GCS/2.0\nDISALLOW: /", False),
        ("User-agent: gcs-images\nDisallow: /", True),
        ("User-agent: gc\nDisallow: /", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: gcs\nAllow: /", True),
        ("User-agent: gcs\nAllow: /\n\nUser-agent: *\nDisallow: /", True),
        ("User-agent: *\nDisallow: /\nUser-agent: gcs", True),
        ("User-agent: other\nUser-agent: gcs\n\n# x\nDisallow: /", False),
        ("User-agent: gcs\nSitemap: /s\nUser-agent: other\nDisallow: /", False),
        ("User-agent: gcs\nCrawl-delay: 1\nFoo: bar\nUser-agent: other\nDisallow: /", False),
        ("User-agent: gcs\nAllow: /x\nUser-agent: other\nDisallow: /", True),
        ("User-agent: gcs\nAllow: /x\nUser-agent: other\nAllow: /\nUser-agent: gcs\nDisallow: /", False),
        ("Disallow: /\nUser-agent: gcs\nAllow: /x", True),
        ("User-agent: *\rDisallow: /", False),
        ("\ufeffUser-agent: *\r\nDisallow: /", False),
        ("user agent gcs\ndissalow /", False),
        ("<html><body>Disallow: / not found</body></html>", True),
        ("", True),
    ],
)
def test_parse_picks_the_groups_of_the_crawler(groups: str, expected: bool) -> None:
    assert allowed(groups, "/page") is expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("Crawl-delay: 2.5", 2.5),
        ("crawl delay: 1 # second", 1.0),
        ("Crawl-delay: 3\nCrawl-delay: 2", 3.0),
        ("Request-rate: 1/5", 5.0),
        ("Request-rate: 30/1m 0100-0600", 2.0),
        ("Request-rate: 2/1h\nCrawl-delay: 7", 7.0),
        ("Request-rate: 0/5", None),
        ("Crawl-delay: soon", None),
        ("Crawl-delay: -1", None),
        ("Crawl-delay: inf", None),
        ("Crawl-delay: nan", None),
        ("Disallow: /", None),
    ],
)
def test_crawl_delay_of(lines: str, expected: float | None) -> None:
    assert Robots.parse(f"User-agent: *\n{lines}".encode(), "gcs").crawl_delay_s == expected


def test_crawl_delay_of_other_crawlers_is_not_ours() -> None:
    body = b"User-agent: *\nCrawl-delay: 9\n\nUser-agent: gcs\nDisallow: /x\n\nUser-agent: slow\nCrawl-delay: 60"
    assert Robots.parse(body, "gcs").crawl_delay_s is None
    assert Robots.parse(body, "anyone").crawl_delay_s == 9


def test_parse_reads_whole_lines_of_the_first_500_kib() -> None:
    head = b"User-agent: *\nDisallow: /x\n"
    padding = b"#" * (MAX_BODY_BYTES - len(head) - len(b"\nDisallow: /")) + b"\n"
    robots = Robots.parse(head + padding + b"Disallow: /private\nDisallow: /y", "gcs")
    assert [rule.pattern for rule in robots.rules] == ["/x"]


def test_parse_takes_bytes_that_are_no_utf8() -> None:
    robots = Robots.parse("User-agent: *\nDisallow: /café".encode("latin-1"), "gcs")
    assert not robots.allows(SITE + "/caf%E9")
    assert robots.allows(SITE + "/cafe")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8", "utf-8-sig"])
def test_parse_follows_the_byte_order_mark(encoding: str) -> None:
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    robots = Robots.parse((mark + "User-agent: *\r\nDisallow: /é").encode(encoding), "gcs")
    assert not robots.allows(SITE + "/%C3%A9")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, False),
        (206, False),
        (301, True),
        (404, True),
        (403, True),
        (410, True),
        (429, False),
        (500, False),
        (503, False),
    ],
)
def test_from_status(status: int, expected: bool) -> None:
    robots = Robots.from_status(status, b"User-agent: *\nDisallow: /", "gcs")
    assert robots.allows(SITE + "/page") is expected
    assert robots.provisional == (status in (429, 500, 503))


def test_allow_all_and_deny_all() -> None:
    assert ALLOW_ALL.allows(SITE + "/")
    assert not DENY_ALL.allows(SITE + "/")
    assert not DENY_ALL.allows("http://[::1]:81/a?b")


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("GCS", "gcs"),
        ("GCS/1.0 (+https://example.com/bot)", "gcs"),
        ("Mozilla/5.0 (compatible; My_Bot-2/1.0; +https://example.com)", "my_bot-2"),
        ("", ""),
        ("/1.0", ""),
    ],
)
def test_product_token_of(header: str, token: str) -> None:
    assert product_token(header) == token


LINES = st.sampled_from(
    (
        *("User-agent: *", "User-agent: gcs", "user-agent gcs", "User-agent:", ":", "#", "\x00", "Sitemap: /s.xml"),
        *("Disallow: /", "Disallow: /a*b$", "Disallow:", "Allow: /%", "Allow: /" + "*" * 50, "Disallow: \ud83c"),
        *("Crawl-delay: 1", "Crawl-delay: 1e999", "Request-rate: 1/0"),
        *("disallow: /\u2028allow: /", "Disallow: /\x85\x1c#"),  # line ends of Unicode, not of the RFC
    )
)
BODIES = st.one_of(
    st.binary(max_size=200),
    st.lists(LINES | st.text(max_size=20), max_size=12).map(lambda ls: "\n".join(ls).encode("utf-8", "surrogatepass")),
    st.text(max_size=50).map(lambda text: text.encode("utf-16", "surrogatepass")),
)


@given(BODIES, st.sampled_from(["/", "/a/b?c=%E9", "/%25//x*$"]))
def test_parse_never_fails_and_survives_storage(body: bytes, path: str) -> None:
    robots = Robots.parse(body, "gcs/1.0")
    again = Robots.decode(robots.encode())
    assert again == robots
    assert again.allows(SITE + path) == robots.allows(SITE + path)
    # the short cut for URLs that meet no Disallow line agrees with the rules read in full
    assert robots.allows(SITE + path) == robots._build().allow(path)


def test_encode_keeps_only_what_concerns_the_crawler() -> None:
    foreign = "".join(f"User-agent: bot{n}\nDisallow: /{'x' * 50}\n\n" for n in range(1000))
    robots = Robots.parse(f"{foreign}User-agent: gcs\nDisallow: /y\nSitemap: {SITE}/s.xml".encode(), "gcs")
    assert len(robots.encode()) < 100
    assert robots.sitemaps == (f"{SITE}/s.xml",)


@pytest.mark.parametrize("data", [b"", b"\xc1", msgspec.msgpack.encode([2, "", [], None, [], False])])
def test_decode_refuses_what_it_did_not_write(data: bytes) -> None:
    with pytest.raises(CodecError, match="fetched again"):
        Robots.decode(data)


def test_robots_are_equal_by_value() -> None:
    one, other = (Robots.parse(b"User-agent: *\nDisallow: /x", "gcs") for _ in range(2))
    assert one.allows(SITE + "/y")
    assert not one.allows(SITE + "/x")  # has built its matcher, the other has not
    assert one == other
    assert hash(one) == hash(other)
    assert one != Robots()


def test_robots_without_rules_build_no_matcher() -> None:
    rules = Robots.parse(b"User-agent: *\nAllow: /", "gcs")
    assert rules.allows(SITE + "/x")
    assert rules._matcher is None


def test_parse_takes_a_name_that_is_repeated_once() -> None:
    """108 KB of this took 14 s and 880 MB."""
    body = b"User-agent: *\n" * 4_000 + b"".join(b"Disallow: /%d\n" % number for number in range(4_000))
    robots = Robots.parse(body, "gcs")
    assert len(robots.rules) == 4_000
    assert not robots.allows(SITE + "/3999/x")


def test_parse_bounds_the_stars_and_forbids_rather_more() -> None:
    """20,000 of these took 53 ms for each URL."""
    lines = [f"Disallow: /private{number}/*/x" for number in range(20_000)]
    robots = Robots.parse("\n".join(["User-agent: *", *lines, "Allow: /private1*"]).encode(), "gcs")
    assert sum(rule.pattern.count("*") for rule in robots.rules) == MAX_STARS
    assert robots.allows(SITE + "/private1/y")
    assert not robots.allows(SITE + "/private1/y/x")
    assert not robots.allows(SITE + "/private18000/y/x")
    assert not robots.allows(SITE + "/private18000/y")  # more than the site asked for, not less
    assert robots.allows(SITE + "/public")


def test_decision_takes_no_longer_for_what_stands_behind_the_stars() -> None:
    """512 KB of this took 205 ms for each URL: a path of one letter, and parts with another one in their middle."""
    lines = [f"Disallow: /{'a' * (n % 40)}*{'a' * (240 - n // 40)}b{'a' * n}" for n in range(2_000)]
    robots = Robots.parse("\n".join(["User-agent: *", *lines]).encode(), "gcs")
    with cpu_limit(4.0):
        assert not any(robots.allows(f"{SITE}/{'a' * length}") for length in range(1_900, 1_950))


@pytest.mark.parametrize("length", range(4))
def test_a_part_of_a_byte_order_mark_does_not_hide_the_first_group(length: int) -> None:
    body = b"\xef\xbb\xbf"[:length] + b"User-agent: gcs\nDisallow: /"
    assert not Robots.parse(body, "gcs").allows("http://a.example/x")
