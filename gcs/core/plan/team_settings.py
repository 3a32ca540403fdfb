"""The settings of a team: how its members keep in touch, and when and how they share the work anew."""

from dataclasses import dataclass
from typing import Literal

from gcs.errors import SettingsError

#: heartbeats after which everybody who is there has been heard
HEARING_BEATS = 1.2


@dataclass(frozen=True, slots=True)
class TeamSettings:
    """The same for all members of a crawl."""

    #: who fetches what: superpages (a plan that follows the crawl), hash, metis-page and metis-site (plans made ahead,
    #: from the last session), seed-server (which hands out URLs one by one), or independent (everybody what it finds)
    coordination: Literal["superpages", "hash", "metis-page", "metis-site", "seed-server", "independent"] = "superpages"
    #: what is hashed, where coordination is hash: hosts, URLs, or top-level domains (hierarchical)
    hash_by: Literal["site", "url", "domain"] = "site"
    #: under a METIS plan, pages (or sites) that the last session did not know: to the owner of their neighbours in the
    #: URL tree, or to whoever finds them
    unlisted: Literal["tree", "finder"] = "tree"
    #: under metis-site: whether sites are cut: never, all large ones always, or where whole ones cannot be balanced
    cut_sites: Literal["never", "needed", "always"] = "needed"
    #: what becomes of a URL that another owns: sent to its owner, dropped, or fetched when nothing else is left
    mode: Literal["exchange", "firewall", "cross-over"] = "exchange"
    #: seconds without a heartbeat after which a gatherer counts as gone
    lease_s: float = 10.0
    #: seconds between two heartbeats
    beat_s: float = 0.5
    #: δ of the paper: superpages that a gatherer owns, at least
    delta: int = 20
    #: hot tokens and cool samples that each node of the URL tree remembers, at most (the paper: 50–200)
    tokens: int = 200
    #: superpages from the start: nodes of the URL tree, as URLs ("https://www.example.com/docs/") or tokens ("com
    #: example"), and cuts before nodes ("< com m"); the crawl goes on from there by itself
    expansion: tuple[str, ...] = ()
    #: how superpages are shared out: greedy (as Partition I) or links (as Partition II), both moving as little as they
    #: can; or partition-i and partition-ii, as the paper has them: everything anew, in the order of weight
    partition: Literal["greedy", "links", "partition-i", "partition-ii"] = "greedy"
    #: share out the bytes to store, too: as even as they can be while nobody gets more work than allowed
    space_balance: bool = False
    #: URLs of large in-degree that everybody knows and nobody posts; 0 for none
    hot_pages: int = 1_000
    #: pages that a gatherer fetches before it sends the others what it has found of theirs; 0 for as many as the last
    #: session foretells (gcs plan), or else for none: with every checkpoint
    superstep_pages: int = 0
    #: bulk-synchronous: all gatherers take their supersteps together, of superstep_pages pages each (or else 1,000);
    #: the next one begins when all have what was found in the last one. The report says what the phases cost
    barrier: bool = False
    #: URLs for one gatherer that may wait for that, and the most in one block; 0 as above, or 1,000
    block_urls: int = 0
    #: seconds that they may wait; with a barrier, the most that a superstep takes
    block_s: float = 2.0
    #: seconds between two rebalances, at least; doubled after each one that was not forced, up to 16 times this
    rebalance_s: float = 2.0
    #: rebalance when a gatherer has less than this share of the mean remaining work …
    idle_share: float = 0.25
    #: … and there are at least so many queued URLs per gatherer to share
    idle_urls: int = 2
    #: rebalance when the present owners need so many times the time of the best ones (physical locality)
    locality: float = 2.0
    #: hosts to which every gatherer measures the way, so that each goes to one that is near; 0: none. A probe opens a
    #: connection and closes it, and asks for nothing; a gatherer probes a host every ten minutes at most
    probes: int = 100
    #: rebalance when this holds: an expression over members, queued, in_flight, known, pages, bytes, pages_per_s, busy,
    #: superpages, outbox, imbalance, exchanged_urls, urls_per_page, epoch_s (seconds since the last plan)
    trigger: str = ""
    #: seconds after which the range of a gatherer whose disk cannot be reached is found again through the others' links
    recover_s: float = 60.0

    def __post_init__(self) -> None:
        if not (3 * self.beat_s <= self.lease_s > 0):
            raise SettingsError(
                f"team.beat_s is {self.beat_s:g} and team.lease_s {self.lease_s:g}: a lease must last for three"
                " heartbeats, or nobody would hold one"
            )
        if self.tokens < 50:
            raise SettingsError(f"team.tokens is {self.tokens}: a node of the URL tree remembers 50 tokens at least")
        if self.delta < 1:
            raise SettingsError("team.delta is 0: a gatherer owns at least one superpage, better 20")

    @property
    def hearing_s(self) -> float:
        """Seconds in which each member beats once, and tells what the whiteboard may have forgotten."""
        return HEARING_BEATS * self.beat_s

    @property
    def looks_at_links(self) -> bool:
        """Whether links between superpages are counted and heeded."""
        return self.partition in ("links", "partition-ii")

    @property
    def urls_per_block(self) -> int:
        return self.block_urls or 1_000
