"""What fake web to build: one frozen value that, with a port, decides every byte that is served.

Invariant: equal specs (and ports) give equal webs. The spec holds no state and no behaviour of the web
itself; `sites`, `pages` and `exhibits` read it. Every feature can be switched off, so that a test asks
for exactly the trouble it wants: `plain` has none (for speed), `demo` has all that an honest web shows,
`full` adds the hostile answers.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

from gcs.errors import UsageError

_MASK = (1 << 64) - 1


def mix(*numbers: int) -> int:
    """64 well-stirred bits of a few integers: the only source of chance of the fake web."""
    x = 0x9E3779B97F4A7C15
    for number in numbers:
        x = ((x ^ number) * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & _MASK
        x ^= x >> 31
    return x


def falls_in(share: float, *numbers: int) -> bool:
    """True for a deterministic `share` of all number tuples."""
    return share > 0 and mix(*numbers) < share * (_MASK + 1)


def words(text: str) -> list[str]:
    """A list of words, readable in the source."""
    return text.split()


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeWebSpec:
    """The settings of a fake web. `dataclasses.replace(spec, session=2)` is the same web, later."""

    seed: int = 1
    hosts: int = 20
    #: ordinary pages over all hosts (at least one each); exhibits and traps come on top
    pages: int = 600
    host_sizes: Literal["even", "zipf"] = "even"
    #: share of the pages that the first host holds; 0 = no giant
    giant_share: float = 0.0
    #: links of an ordinary page, about; in-links are Zipf over hosts and over the pages of a host
    links: int = 12
    #: share of the freely chosen links that lead to another host
    foreign_share: float = 0.25
    #: hosts that they lead to, the next ones on either side in the order of hosts, Zipf; 0 = to all, the popular first
    neighbours: int = 0
    #: size of an ordinary page, about (70–130 % of this)
    html_bytes: int = 2_000

    #: the delay that a host expects; every third host states twice this as its Crawl-delay
    delay_s: float = 0.0
    #: time to first byte of every answer
    latency_s: float = 0.0
    #: extra time of the slow exhibits
    slow_s: float = 0.3
    #: what the 503 and 429 exhibits ask for
    retry_after_s: int = 1

    #: 1, 2, …: the state of the web; each session after the first changes, adds and removes these shares
    session: int = 1
    changed_share: float = 0.1
    added_share: float = 0.0
    gone_share: float = 0.0

    #: every group of exhibits stands on every n-th host (on all where there are fewer hosts)
    exhibits_every: int = 8
    robots: bool = True  # rules and crawl-delays; from 8 hosts on, the last two answer robots.txt by 503 and 404
    sitemaps: bool = True  # plain, index and gzip; list pages that nothing links to
    redirects: bool = True
    errors: bool = True  # final statuses, 503/429 that pass at the second try, resets, garbage, damaged gzip
    slow: bool = True  # late first byte, dripping body
    traps: bool = True  # endless calendar, path, session ids, redirects
    markup: bool = True  # nofollow, noindex, base, refresh, canonical, frames, areas, tag soup
    spellings: bool = True  # links relative, scheme-relative, with fragment, entities, dots, escapes, shouted
    charsets: bool = True  # latin-1 by header or meta, BOM, windows-1252, Shift_JIS
    codings: bool = True  # gzip, deflate, chunked, close-delimited
    feeds: bool = True  # RSS and Atom
    files: bool = True  # PDF, plain text, PNG, unknown bytes
    twins: bool = True  # one payload under two URLs
    validators: bool = True  # ETag, Last-Modified and 304
    hostile: bool = False  # endless body, gzip bomb, a server that never answers

    def __post_init__(self) -> None:
        shares = ("giant_share", "foreign_share", "changed_share", "added_share", "gone_share")
        if not 1 <= self.hosts <= 62_500:
            raise UsageError(f"fake web: hosts = {self.hosts}; give 1 to 62500")
        if self.pages < self.hosts:
            raise UsageError(f"fake web: pages = {self.pages} is less than one for each of {self.hosts} hosts")
        if self.host_sizes not in ("even", "zipf"):
            raise UsageError(f"fake web: host_sizes = {self.host_sizes!r}; give even or zipf")
        if self.session < 1 or self.exhibits_every < 1:
            raise UsageError("fake web: session and exhibits_every start at 1")
        for name in shares:
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"fake web: {name} = {getattr(self, name)}; give 0 to 1")

    @classmethod
    def plain(cls, **changes: Any) -> "FakeWebSpec":
        """No robots.txt, no exhibits, no odd spelling: quick to serve, every page reachable."""
        switches: dict[str, Any] = {setting.name: False for setting in fields(cls) if setting.type is bool}
        return cls(**(switches | changes))

    @classmethod
    def demo(cls, **changes: Any) -> "FakeWebSpec":
        """The web of `gcs demo`: every feature but the hostile ones, 50 ms between requests to a host."""
        return cls(**({"html_bytes": 6_000, "delay_s": 0.05, "exhibits_every": 10} | changes))

    @classmethod
    def full(cls, **changes: Any) -> "FakeWebSpec":
        """Everything at once, the hostile answers too."""
        return cls(**({"hostile": True} | changes))
