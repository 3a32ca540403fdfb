"""robots.txt files of crawler-commons (expectations by RFC 9309) and of 500 real sites."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from protego import Protego

from gcs.core.page.robots import Robots

SUITES = Path(__file__).parents[3] / ".." / "shared" / "suites"
COMMONS = SUITES / "crawler-commons" / "robots"
REAL = SUITES / "robots-real"

pytestmark = pytest.mark.skipif(not SUITES.exists(), reason="the conformance suites are not beside the checkout")


def protego_of(robots: Robots) -> Protego:
    """The same rules for an independent matcher."""
    lines = [f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern}\n" for rule in robots.rules]
    return Protego.parse("User-agent: *\n" + "".join(lines))


def read(name: str, agent: str) -> Robots:
    return Robots.parse((COMMONS / name).read_bytes(), agent)


#: file → crawler → paths that it may fetch, paths that it may not
PATHS: dict[str, dict[str, tuple[str, str]]] = {
    "rfc9309-example-simple-robots.txt": {
        "anybot": ("/publications/ /x.gif?y /a.gift /page", "/example/ /a/b.gif /example/page.html"),
        "foobot": ("/example/page.html /example/allowed.gif", "/ /example/ /publications/"),
        "barbot": ("/ /example/ /x.gif", "/example/page.html"),
        "bazbot": ("/ /example/ /x.gif", "/example/page.html"),
        "quxbot": ("/ /example/page.html /a/b.gif", ""),
    },
    "rfc9309-example-longest-match-robots.txt": {
        "foobot": ("/ /example/page/ /example/page/x", "/example/page/disallowed.gif"),
        "other": ("/example/page/disallowed.gif", ""),
    },
    "rfc9309-example-rule-group-merging.txt": {
        "ExampleBot": ("/", "/foo /bar /baz"),
        "BazBot": ("/foo /bar", "/baz"),
        "other": ("/baz", "/foo /bar"),
    },
    # a crawl-delay does not end the names of a group: mybot and yourbot share "Disallow: /private/"
    "crawl-delay-group-merging.txt": {
        "mybot": ("/ /login/", "/private/"),
        "yourbot": ("/", "/private/ /login/"),
        "other": ("/private/ /login/", ""),
    },
    "extensions-group-merging.txt": {
        "mybot": ("/", "/private/ /login/"),
        "yourbot": ("/", "/private/ /login/"),
        "other": ("/llms.txt", "/ /private/"),
    },
    "extension-robots.txt": {
        "mybot": ("/ /secret/", "/private/"),
        "otherbot": ("/private/", "/admin/"),
        "third": ("/ /private/ /admin/", ""),
    },
    "merge-rules.txt": {
        "testy": ("", "/ /foo/bar"),
        "wget": ("/ /foo/bar /ckh/bar", "/tmp/bar"),
        "other": ("/ /ckh/bar", "/foo/bar /tmp/bar"),
    },
    "precedence-of-rules.txt": {
        "testy": ("/ /foo/bar /foo/bartender", "/foo /foo/baz /food"),
        "wget": ("/foo /index.html", ""),  # "Allow: /foo" is longer than "Disallow: /*"
    },
    "wildcards.txt": {
        "other": (
            "/wishlist/universal-x /gp/wishlist/ipad-install/y /sim/B001132UEE",
            "/gp/registry/wishlist/X12/reserve /a/b/gcrnsts /gp/cart",
        ),
        "Googlebot": ("/wishlist/universal-x", "/rss/people/me/reviews /x/sim/B001132UEE"),
        "EtaoSpider": ("", "/ /wishlist/universal"),
    },
    # "desallow" is no name for it, "dissalow" is; "useg-agent" and its rules fall to the group before
    "directive-typos-robots.txt": {
        "bot1": ("/desallow/", "/dissalow/"),
        "bot2": ("/", "/useragent/ /useg-agent/"),
        "bot3": ("/useg-agent/", ""),
        "bot4": ("/", "/useragent-no-colon/"),
    },
    "format-errors-robots.txt": {
        "bot1": ("/", "/whitespace-before-colon/ /no-colon/"),
        "bot2": ("/", "/no-colon-useragent/"),
        "bot3": ("/whitespace-before-colon/x", "/ /other"),
    },
    # a percent sign that begins no escape stands for itself
    "malformed-path.txt": {
        "other": ("/wiki/", "/wiki/Wikipedia_talk:Mediation_Committee/ /wiki/Wikipedia_talk%253Mediation_Committee/")
    },
    "many-user-agents.txt": {
        "WebZip": ("", "/ /index.html"),
        "BlowFish": ("", "/"),
        "nobodys-bot": ("/ /index.html", "/forum/ /bot-trap/"),
    },
    "twitter.com-robots.txt": {"other": ("/me", "/me?x=1 /me/with_friends")},
    "www.flot.com-robots.txt": {"other": ("/", "/bitrix/x /admin/")},
    "relative-sitemap-robots.txt": {"other": ("/", "/cache/ /files/x")},
    "robots-with-utf8-bom.txt": {"other": ("/", "/profile /a/output/print"), "Googlebot": ("/", "/profile")},
    "robots-with-utf16le-bom.txt": {"other": ("/", "/profile /a/output/print"), "Googlebot": ("/", "/profile")},
    "robots-with-utf16be-bom.txt": {"other": ("/", "/profile /a/output/print"), "Googlebot": ("/", "/profile")},
    "sitemap-robots.txt": {"other": ("/ /dir/", "")},
    "extended-standard-robots.txt": {"bot1": ("/", ""), "bot4": ("/", "")},
}


@pytest.mark.parametrize(("name", "agent"), [(name, agent) for name, agents in PATHS.items() for agent in agents])
def test_robots_of_crawler_commons_allow_by_the_rfc(name: str, agent: str) -> None:
    robots = read(name, agent)
    may, may_not = (set(paths.split()) for paths in PATHS[name][agent])
    assert {path for path in may | may_not if robots.allows("http://example.com" + path)} == may


@pytest.mark.parametrize(
    ("name", "agent", "delay_s"),
    [
        ("astore.amazon.com-robots.txt", "other", 5.0),
        ("crawl-delay-group-merging.txt", "mybot", 10.0),
        ("crawl-delay-group-merging.txt", "yourbot", None),
        ("crawl-delay-group-merging.txt", "other", 30.0),
        ("dos-line-endings.txt", "other", 1.0),
        ("twitter.com-robots.txt", "msnbot", 10.0),
        ("twitter.com-robots.txt", "other", None),
        ("extended-standard-robots.txt", "bot1", 2.0),
        ("extended-standard-robots.txt", "bot2", 15.0),
        ("extended-standard-robots.txt", "bot3", 12.0),  # the slower of its two rates
        ("extended-standard-robots.txt", "bot4", 0.125),
        ("extensions-group-merging.txt", "mybot", 6.0),
        ("extensions-group-merging.txt", "other", 2.0),
    ],
)
def test_robots_of_crawler_commons_ask_for_pauses(name: str, agent: str, delay_s: float | None) -> None:
    assert read(name, agent).crawl_delay_s == delay_s


@pytest.mark.parametrize(
    ("name", "sitemaps"),
    [
        ("sitemap-robots.txt", ["http://domain.com/sitemap.xml", "http://domain.com/dir/MixedCased-sitemap.xml"]),
        ("sitemap-robots-dedup.txt", ["http://example.org/sitemap.xml"]),
        ("relative-sitemap-robots.txt", ["/sitemap.xml"]),
        ("format-errors-robots.txt", ["/sitemap.xml"]),
        ("www.flot.com-robots.txt", ["http://flot.com/sitemap_index.xml"]),
        ("robots-with-utf16be-bom.txt", ["http://www.newsweek.com/sitemap_index.xml"]),
    ],
)
def test_robots_of_crawler_commons_name_sitemaps(name: str, sitemaps: list[str]) -> None:
    assert list(read(name, "other").sitemaps) == sitemaps


def test_every_file_of_crawler_commons_is_looked_at() -> None:
    looked_at = PATHS.keys() | {"astore.amazon.com-robots.txt", "dos-line-endings.txt", "sitemap-robots-dedup.txt"}
    assert {path.name for path in COMMONS.iterdir()} == looked_at


def real_sites() -> Iterator[tuple[str, bytes]]:
    for path in sorted(REAL.iterdir()):
        yield path.name, path.read_bytes()


def test_robots_of_real_sites_parse_and_answer() -> None:
    """None fails; all survive storage; and the short cut of `allows` agrees with the rules read in full."""
    sites = forbidding = 0
    for name, body in real_sites():
        robots = Robots.parse(body, "gcs/1.0")
        assert Robots.decode(robots.encode()) == robots, name
        matcher, oracle = robots._build(), protego_of(robots)
        for path in ("/", "/news/2024/01/story.html", "/search?q=x&sort=1", "/admin/", "/caf%C3%A9/%7C?a=%3D"):
            url = f"https://{name}{path}"
            assert robots.allows(url) == matcher.allow(path) == oracle.can_fetch(url, "*"), url
        sites += 1
        forbidding += any(not rule.allow for rule in robots.rules)
    assert sites >= 500
    assert forbidding > sites * 0.8
