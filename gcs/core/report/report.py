"""The crawl report: the figures that a crawl ends with. Other tools read it, so its field names are a contract."""

from collections.abc import Sequence

import msgspec

from gcs.core.report.counters import Counters, PhaseTimes
from gcs.core.report.estimate import ENDED, NOTHING, Outlook, estimate
from gcs.core.report.quality import LinkSample, merged, met_share, quality
from gcs.core.report.workload import Workload


class GathererReport(msgspec.Struct, frozen=True):
    """The part of one gatherer in the report."""

    id: str
    pages: int
    bytes: int
    busy: float
    superpages: int


class Imbalance(msgspec.Struct, frozen=True):
    """max/mean − 1 over the gatherers."""

    pages: float
    bytes: float
    time: float


class Supersteps(msgspec.Struct, frozen=True):
    """The supersteps of a team with a barrier, and their cost (the BSP model): seconds of all gatherers together."""

    #: of the gatherer that took most
    count: int = 0
    #: fetching and reading
    computation_s: float = 0.0
    #: from the last page to the moment at which all found URLs are in the inboxes of their owners
    communication_s: float = 0.0
    #: until all gatherers are there, and have committed what they were sent; and without work
    waiting_s: float = 0.0


class Report(msgspec.Struct, frozen=True):
    """`report.json`, the dashboard and /metrics all show these."""

    #: its name
    crawl: str
    #: running, done, limit, stopped, stuck or failed
    state: str
    #: number of the last plan
    epoch: int
    gatherers: int
    helpers: int
    #: that were stored in this session, each time that they were
    pages: int
    #: different ones of them
    unique: int
    #: pages that were stored more than once, for each different one
    overlap: float
    #: URLs that ended without a page
    failed: int
    #: URLs that robots.txt forbids
    denied_by_robots: int
    #: of the bodies, as sent
    bytes: int
    #: in which the session was crawled
    seconds: float
    pages_per_s: float
    #: of all processes
    cpu_s: float
    peak_rss_mb: float
    #: URLs that were ever met
    known_urls: int
    #: URLs that wait
    queued: int
    #: share of the web in scope that is dealt with, as far as it can be told
    explored_fraction: float
    #: URLs and bytes that gatherers have sent one another
    exchanged_urls: int
    exchanged_bytes: int
    #: URLs exchanged for each page
    urls_per_page: float
    #: links that were not sent, because their target is known to all, or was sent before
    suppressed_by_hot_pages: int
    suppressed_by_c_queue: int
    imbalance: Imbalance
    #: plans after the first one, and URLs that changed their owners by them
    rebalances: int
    moved_urls: int
    per_gatherer: list[GathererReport]
    #: answers that lead elsewhere
    redirects: int = 0
    #: answers that nothing has changed
    revisits: int = 0
    #: requests that were made again
    retries: int = 0
    #: URLs that ended without a page, by kind
    failures: dict[str, int] = {}
    #: number of the session; the first is 1
    session: int = 1
    #: what became of the pages since the session before
    new: int = 0
    changed: int = 0
    same: int = 0
    gone: int = 0
    #: length of the URLs exchanged; bytes in which ranges and revisits were handed over
    named_bytes: int = 0
    moved_bytes: int = 0
    #: messages in which URLs were exchanged
    exchanged_blocks: int = 0
    #: politeness, latency, cpu or nothing: while the crawl runs, in the last seconds; then, in the whole session
    limited_by: str = NOTHING
    #: how far the crawl is, and when it will end
    outlook: Outlook = Outlook()
    #: messages between gatherers that were set aside because they were damaged: pages may be missing
    dead_letters: int = 0
    #: pages that only their scripts would fill
    shells: int = 0
    #: what pages need (style sheets, images…), stored; and its bytes
    requisites: int = 0
    requisite_bytes: int = 0
    #: share of the pages that should have been fetched: of the list of crawl.expected, or else of the web in scope, as
    #: far as it can be told
    coverage: float = 0.0
    #: "estimate" or "list"
    coverage_by: str = "estimate"
    #: share of the N most linked pages among the N pages fetched, by the back-links known now; null without pages
    quality: float | None = None
    #: URLs of the sample by which that is told: exact if it is as large as known_urls
    quality_sample: int = 0
    #: team.barrier
    supersteps: Supersteps = Supersteps()

    @property
    def held(self) -> int:
        """The pages that the crawl has after this session: those that it confirmed without sending are pages, too."""
        return self.new + self.changed + self.same if self.session > 1 else self.pages

    @property
    def is_barren(self) -> bool:
        """Whether the crawl ended without a single page, new or known."""
        return self.state == "done" and not self.pages and not self.revisits


class Share(msgspec.Struct, frozen=True):
    """What one gatherer contributes to the report."""

    id: str
    counters: Counters = msgspec.field(name="tally")  # its name in crawls that exist
    known_urls: int
    queued: int
    unique: int
    explored_fraction: float
    busy: float = 1.0
    superpages: int = 1
    epoch: int = 0
    session: int = 1
    work: Workload = Workload()
    links: LinkSample = LinkSample()
    #: plans before the one that it follows; -1 in the share of an earlier version, whose epochs left no number out
    rebalances: int = -1

    @property
    def workload(self) -> Workload:
        """The workload; of a share that an earlier version wrote, as far as it says."""
        if self.work.known or self.work.spent.seconds:
            return self.work
        explored = (self.explored_fraction, 0.0, 1.0)
        return Workload(self.known_urls, self.queued, self.counters.pages, explored)

    @property
    def whole(self) -> Workload:
        """The workload of the whole session: what took its time, instead of that of the last seconds."""
        return msgspec.structs.replace(self.workload, spent=self.counters.spent, slow=[], in_flight=0)


def decoded(share: bytes) -> Share | None:
    """The share of an account or a bulletin; None if another version of GCS encoded it."""
    try:
        return msgspec.msgpack.decode(share, type=Share)
    except msgspec.DecodeError:
        return None


def _rebalances(share: Share) -> int:
    return share.rebalances if share.rebalances >= 0 else max(share.epoch - 1, 0)


def imbalance(values: Sequence[float]) -> float:
    """max/mean − 1; 0 where nothing was done."""
    total = sum(values)
    return max(values) * len(values) / total - 1 if total else 0.0


def current(shares: Sequence[Share]) -> list[Share]:
    """The shares of the newest session; those of an earlier one do not count."""
    session = max((share.session for share in shares), default=1)
    return [share for share in shares if share.session == session]


def with_outlook(report: Report, outlook: Outlook) -> Report:
    """The report with a newer estimate, and with the counts that the estimate was made of."""
    newer = max(outlook.pages - report.pages, 0)  # fewer pages: a gatherer has died, and tells nothing at the moment
    return msgspec.structs.replace(
        report,
        outlook=outlook,
        explored_fraction=outlook.fraction,
        coverage=report.coverage if report.coverage_by == "list" else round(outlook.fraction, 4),
        limited_by=outlook.limited_by,
        pages=report.pages + newer,
        unique=report.unique + newer,
        known_urls=outlook.known if outlook.known else report.known_urls,
        queued=outlook.queued if outlook.known else report.queued,
    )


def build(crawl: str, state: str, shares: Sequence[Share], unique: int | None = None) -> Report:
    """The report of a crawl's session from the shares of its gatherers.

    `unique`: different pages of the whole team; without it, no page counts as stored by two.
    """
    shares = current(shares)
    session = shares[0].session if shares else 1
    epoch = max((share.epoch for share in shares), default=0)
    total = sum((share.counters for share in shares), Counters())
    traffic = total.traffic
    own = sum(share.unique for share in shares)
    # there may be records that no share counts yet: those of a killed gatherer, until it is started again
    unique = own if unique is None else min(unique, own)
    known = sum(share.known_urls for share in shares)
    outlook = estimate([share.whole if state in ENDED else share.workload for share in shares], state)
    if state in ENDED and not (total.pages or total.revisits) and (total.failed or total.denied_by_robots):
        nothing = {"fraction": 0.0, "low": 0.0, "progress": 0.0, "done": "nothing explored", "why": ""}
        outlook = msgspec.structs.replace(outlook, **nothing)  # all that is known is dealt with, and says nothing
    links = merged([share.links for share in shares])
    # behind a firewall, all that a gatherer may fetch can be done while much that was met is not
    coverage = min(outlook.fraction, met_share(links)) if traffic.dropped else outlook.fraction
    seconds = max((share.counters.seconds for share in shares), default=0.0)
    return Report(
        crawl=crawl,
        state=state,
        epoch=epoch,
        gatherers=len(shares),
        helpers=len(total.helped),
        pages=total.pages,
        unique=unique,
        overlap=(total.pages - unique) / unique if unique else 0.0,
        failed=total.failed,
        denied_by_robots=total.denied_by_robots,
        bytes=total.size_bytes,
        seconds=round(seconds, 3),
        pages_per_s=round(total.pages / seconds, 2) if seconds else 0.0,
        cpu_s=round(total.cpu_s, 3),
        peak_rss_mb=round(total.peak_rss_mb, 1),
        known_urls=known,
        queued=sum(share.queued for share in shares),
        explored_fraction=outlook.fraction,
        exchanged_urls=traffic.exchanged_urls,
        exchanged_bytes=traffic.exchanged_bytes,
        urls_per_page=round(traffic.exchanged_urls / total.pages, 4) if total.pages else 0.0,
        suppressed_by_hot_pages=traffic.suppressed_hot,
        suppressed_by_c_queue=traffic.suppressed_c_queue,
        imbalance=Imbalance(
            pages=round(imbalance([share.counters.pages for share in shares]), 4),
            bytes=round(imbalance([share.counters.size_bytes for share in shares]), 4),
            time=round(imbalance([share.counters.busy_s for share in shares]), 4),
        ),
        rebalances=max((_rebalances(share) for share in shares), default=0),
        moved_urls=traffic.moved_urls,
        per_gatherer=[
            GathererReport(s.id, s.counters.pages, s.counters.size_bytes, round(s.busy, 3), s.superpages)
            for s in shares
        ],
        redirects=total.redirects,
        revisits=total.revisits,
        retries=total.retries,
        failures=dict(sorted(total.failures.items())),
        session=session,
        new=total.new,
        changed=total.changed,
        same=total.same,
        gone=total.gone,
        named_bytes=traffic.named_bytes,
        moved_bytes=traffic.moved_bytes,
        exchanged_blocks=traffic.blocks,
        limited_by=outlook.limited_by,
        outlook=outlook,
        shells=total.shells,
        requisites=total.requisites,
        requisite_bytes=total.requisite_bytes,
        coverage=round(coverage, 4),
        quality=None if (found := quality(links)) is None else round(found, 4),
        quality_sample=len({*links.backlinks, *links.dealt_with}),
        supersteps=_supersteps(shares),
    )


def _supersteps(shares: Sequence[Share]) -> Supersteps:
    each = [share.counters.phases for share in shares]
    times = sum(each, PhaseTimes())
    return Supersteps(
        max((phases.supersteps for phases in each), default=0),
        round(times.computation_s, 3),
        round(times.communication_s, 3),
        round(times.waiting_s, 3),
    )
