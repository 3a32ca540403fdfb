"""The hosts of the fake web: their addresses, sizes, robots.txt and the paths of their ordinary pages.

The ordinary pages of a host are numbered 0 … pages-1 and form a tree: page 0 is the home page, and every page has up
to FAN children. Directories follow that tree (section / topic / year / month), so that a host can be split by path and
a subtree of links is mostly a subtree of paths; sections differ in size.

Invariant: `page_number(host, page_path(host, n)) == n`; every path is in canonical form.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from gcs.fakeweb.spec import FakeWebSpec, mix, words

#: children of a page in the tree of a host's pages
FAN = 10
#: children of a host in the tree of hosts
HOST_FAN = 8
#: the section of each subtree below the home page; the seventh is closed by the robots.txt that have rules
_SECTIONS = words("news news news docs docs shop private people archive blog")
_TOPICS = words("city health caf%C3%A9 music travel science city health music law")
_ADJECTIVES = words("quiet open bright late early small grand plain northern second modern hidden common wide old new")
_NOUNS = words(
    "bridge market river garden station letter window harbour library road museum field storm winter voice map"
)
_NUMBER = re.compile(r"-(\d+)\.html$|/show\?id=(\d+)&view=full$")
#: every group of exhibits; the flag of the spec has the same name
GROUPS = words("robots redirects errors slow traps markup charsets codings feeds files twins hostile sitemaps")


def place_of(number: int) -> tuple[int, int]:
    """The level of a page and its rank in it. The last digit of the rank names its ancestor on level 1, the
    last two the one on level 2, and so on."""
    level, start, size = 0, 0, 1
    while number >= start + size:
        level, start, size = level + 1, start + size, size * FAN
    return level, number - start


def parent_of(number: int) -> int:
    """The parent of a page; the home page is its own."""
    level, rank = place_of(number)
    return _start(level - 1) + rank % _width(level - 1) if level else 0


def children(number: int, pages: int) -> range:
    """The children of a page in a tree of that many pages."""
    level, rank = place_of(number)
    first, width = _start(level + 1) + rank, _width(level)
    return range(first, min(pages, first + FAN * width), width)


def inner_pages(pages: int) -> int:
    """How many pages, from the first on, have children (at least one, so that there is always a parent)."""
    level = place_of(pages - 1)[0]
    if level == 0:
        return 1
    return _start(level - 1) + min(_width(level - 1), pages - _start(level))


def _width(level: int) -> int:
    """How many pages a full level has."""
    return int(FAN**level)


def _start(level: int) -> int:
    """The first number of a level."""
    return (_width(level) - 1) // (FAN - 1)


@dataclass(frozen=True, slots=True)
class Site:
    """One host of the fake web."""

    index: int
    address: str
    #: scheme, address and port
    origin: str
    #: ordinary pages in session 1
    pages: int
    #: status of its robots.txt: 200, 404 (all is allowed) or 503 (nothing is)
    robots_status: int
    #: whether its robots.txt closes parts of the host
    has_rules: bool
    #: what its robots.txt states; None where it states none
    crawl_delay_s: float | None
    #: the groups of exhibits that stand here
    groups: tuple[str, ...]

    def allows(self, path: str) -> bool:
        """Whether robots.txt lets a crawler without a group of its own fetch this path (with query)."""
        if path == "/robots.txt":
            return True
        if self.robots_status != 200:
            return self.robots_status == 404
        if self.has_rules and path.startswith("/private/"):
            return path.startswith("/private/open/")
        return not self.has_rules or not (path.startswith("/search?") or path.endswith(".cgi"))

    def robots_txt(self) -> str:
        """The file itself. `allows` says the same without reading it; a test holds both against Protego."""
        lines = ["# robots.txt of a fake web", "User-agent: OtherBot", "Disallow: /", "", "User-agent: *"]
        if self.has_rules:
            lines += ["Disallow: /private/", "Allow: /private/open/", "Disallow: /*.cgi$", "Disallow: /search?"]
        else:
            lines += ["Disallow:"]
        if self.crawl_delay_s is not None:
            lines += [f"Crawl-delay: {self.crawl_delay_s:g}"]
        if "sitemaps" in self.groups:
            lines += ["", f"Sitemap: {self.origin}/sitemap.xml", f"Sitemap: {self.origin}/sitemap-index.xml"]
        return "\n".join(lines) + "\n"


def build_sites(spec: FakeWebSpec, port: int) -> tuple[Site, ...]:
    return tuple(_site(spec, index, pages, port) for index, pages in enumerate(host_pages(spec)))


def _site(spec: FakeWebSpec, index: int, pages: int, port: int) -> Site:
    address = f"127.{1 + index // 62_500}.{index // 250 % 250}.{1 + index % 250}"
    odd = 2 if spec.robots and spec.hosts >= 8 else 0  # the last hosts, because no others hang below them
    status = 200 if spec.robots or spec.sitemaps else 404
    if index >= spec.hosts - odd:
        status = 503 if index == spec.hosts - 1 else 404
    # every group stands on every `stride`-th host, spread so that hosts have about equally many
    stride = min(spec.hosts - odd, spec.exhibits_every)
    groups = tuple(name for g, name in enumerate(GROUPS) if getattr(spec, name) and (index + 3 * g) % stride == 0)
    has_rules = spec.robots and status == 200 and (index % 4 != 3 or "robots" in groups)
    return Site(
        index=index,
        address=address,
        origin=f"http://{address}:{port}",
        pages=pages,
        robots_status=status,
        has_rules=has_rules,
        crawl_delay_s=2 * spec.delay_s if spec.robots and status == 200 and spec.delay_s and index % 3 == 1 else None,
        groups=groups if index < spec.hosts - odd else (),
    )


def host_pages(spec: FakeWebSpec) -> list[int]:
    """Ordinary pages of every host: at least one each, `spec.pages` in all."""
    weights = [1 / (rank + 1) if spec.host_sizes == "zipf" else 1.0 for rank in range(spec.hosts)]
    if spec.giant_share and spec.hosts > 1:
        rest = sum(weights[1:])
        weights = [spec.giant_share, *((1 - spec.giant_share) * weight / rest for weight in weights[1:])]
    free = spec.pages - spec.hosts
    total = sum(weights)
    # rounding the running sums, not the terms, keeps the total exact
    marks = [round(free * mark / total) for mark in accumulate(weights, initial=0.0)]
    return [1 + high - low for low, high in pairwise(marks)]


@lru_cache(maxsize=1 << 16)  # links repeat: neighbours, popular pages
def page_path(host: int, number: int) -> str:
    """The path (with query) of an ordinary page of a host, by its index."""
    if number == 0:
        return "/"
    level, rank = place_of(number)
    directory = "/" + _SECTIONS[rank % FAN]
    if level > 1:
        directory += "/" + _TOPICS[rank // FAN % FAN]
    if level > 2:
        directory += f"/{2015 + rank // FAN**2 % FAN}"
    if level > 3:
        directory += f"/{1 + rank // FAN**3 % FAN:02}"
    if number % 9 == 4:
        return f"{directory}/show?id={number}&view=full"
    return f"{directory}/{page_name(host, number)}-{number}.html"


def page_name(host: int, number: int) -> str:
    """Two words that name a page, in its path and title."""
    chance = mix(host, number)
    return f"{_ADJECTIVES[chance & 15]}-{_NOUNS[chance >> 4 & 15]}"


def page_number(host: int, path: str) -> int | None:
    """The number of the page with this path; None where no page can have it."""
    if path == "/":
        return 0
    match = _NUMBER.search(path)
    if match is None:
        return None
    number = int(match[1] or match[2])
    return number if page_path(host, number) == path else None
