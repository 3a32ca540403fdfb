"""Every tuple of the whiteboard, in one place: what the parts of GCS can say to one another.

Two families. A *consumed* tuple goes to one inbox and is taken once: it waits there, is held under a lease by
its taker, and is gone when the taker acks it. A *posted* tuple hangs on the board of the crawl, is read by many,
and is replaced by the next one with the same `key`; it may expire.

Each type has a `name` (it stands in the Redis key), a `code` and a `version` (they open its encoding, see
`codec`). A field may be added at the end with a default without a new version; any other change needs one.
Codes are never used twice.

Invariant: tuples are immutable values. Nothing here knows how or where they are kept. (The parts of which blocks hold
hundreds are made with gc=False: they cannot be in a cycle, and decoding them is 2.5 × faster for it.)
"""

from enum import StrEnum
from typing import ClassVar

import msgspec

from gcs.core.page.values import PageFacts
from gcs.core.report.workload import SlowHost, Workload
from gcs.core.url.queued_url import QueuedUrl


class Tuple(msgspec.Struct, frozen=True, array_like=True):
    """What all tuples have in common."""

    name: ClassVar[str] = ""
    code: ClassVar[int] = 0
    version: ClassVar[int] = 1


class Consumed(Tuple, frozen=True, array_like=True):
    """A tuple that is put into an inbox and taken once."""


class Posted(Tuple, frozen=True, array_like=True):
    """A tuple that hangs on the board until it is replaced, removed or expired."""

    #: the field that tells apart the tuples of this type; without one, there is one tuple of the type
    key_field: ClassVar[str] = ""

    @property
    def key(self) -> str:
        """What a later posting replaces: one tuple of a type and key is on the board at a time."""
        return getattr(self, self.key_field) if self.key_field else ""


# -- foreign URLs and hand-over ----------------------------------------------------------------------------


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One foreign URL in a block."""

    url: str
    #: back-link count since the last block that named the URL, or its OPIC cash
    weight: int | float = 1
    #: `core.ordering.GIFT` where only the weight counts: the sender has named the URL before
    depth: int = 0
    #: the page on which it was found first
    parent: str = ""

    @property
    def is_seed(self) -> bool:
        """Whether nobody has found it: it was given to the crawl, and is on its way to its owner."""
        return not self.parent and self.depth == 0


class UrlBlock(Consumed, frozen=True, array_like=True):
    """Foreign URLs of one destination, routed under the plan of `epoch`.

    written by: a gatherer's c-queue, when the block is full or old (numbered, kept until committed)
    taken by: the gatherer whose inbox it is (its BlockExchange); sent on from there if a newer plan says so
    lifetime: until its taker has committed the URLs to its frontier
    """

    name = "urls"
    code = 1

    epoch: int
    links: list[Link]
    #: who sent it, by the name of its disk, and its number there: the same if it comes again
    sender: str = ""
    serial: int = 0
    #: from a seed-server: what the last session knew of some of the links
    copies: list[QueuedUrl] = []


class HostState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What politeness owes a host of the range, so that its delay holds across the hand-over."""

    #: the host's part of the sort key
    host: bytes
    #: not used any more: a time by the sender's clock
    next_at: float = 0.0
    crawl_delay_s: float = 0.0
    adaptive_s: float = 0.0
    #: what is filed of the robots.txt of its origins; None where nothing is
    robots: bytes | None = None
    #: seconds, from when this is read, in which no request may start
    wait_s: float = 0.0


class HandOver(Consumed, frozen=True, array_like=True):
    """A part of the range [low, high) that changes its owner with the plan of `epoch`.

    written by: the former owner, the last part when nothing of the range is in flight any more (numbered); and a
        gatherer that receives a part of a range that it does not, or no longer, own
    taken by: the new owner; it starts the range when the last part has come, but queued URLs of hosts that are owed no
        delay at once
    lifetime: until the new owner has committed it to its frontier
    """

    name = "handover"
    code = 2
    version = 2

    epoch: int
    low: bytes
    high: bytes
    #: the end mark: there is no part after this one. Any part may come more than once
    last: bool
    queued: list[QueuedUrl] = []
    #: URLs finished by the former owner: their keys as in the frontier (long ones end in a hash), and marks, one letter
    seen: list[tuple[bytes, str]] = []
    #: of the last part: all hosts; of others: those of `queued` that are owed no delay
    hosts: list[HostState] = []
    #: as in a UrlBlock
    sender: str = ""
    serial: int = 0


# -- helpers -----------------------------------------------------------------------------------------------


class Means(StrEnum):
    """By which means an errand is to be done."""

    PLAIN = "plain"  # one HTTP GET
    BROWSER = "browser"  # a page that is written by its scripts: load it in a browser


class UrlTS(Consumed, frozen=True, array_like=True):
    """The paper's URLTS: an errand. One URL that a gatherer's politeness has released, for somebody else to fetch now.

    The gatherer asks the host nothing more until the summary is there, or until nobody can be at it any more: an errand
    can be taken, and its lease renewed, until it expires; who holds it starts and ends within its lease.

    written by: a gatherer, into the inbox of its pool (`core.helpers.pools.pool`), with a lifetime
    taken by: a helper of that pool (or the gateway for one), under a short lease; what a vanished one held returns.
        And by its own gatherer, which calls it back
    lifetime: until its summary is put, or its expiry; the gatherer then fetches by itself
    """

    name = "urlts"
    code = 3
    version = 2

    gatherer: str
    #: of the gatherer: an errand of an earlier run of it counts no longer
    run: str
    #: the gatherer's number for this errand; with gatherer and run it is unique
    number: int
    url: str
    #: seconds that whoever takes it holds it, from the moment at which it began to take
    lease_s: float
    epoch: int = 0
    place: str = ""
    means: Means = Means.PLAIN
    #: validators of the copy that the gatherer holds; with them the server may answer 304
    etag: str = ""
    last_modified: str = ""
    #: not to be sent twice, even where the server hangs up: its host is owed a delay
    once: bool = False
    #: the summary shall bring request head and body, for the WARC
    payload: bool = False
    #: and the document after its scripts have run, for plug-ins
    rendered: bool = False

    @property
    def id(self) -> str:
        """By which a summary is matched with its errand."""
        return f"{self.gatherer}/{self.run}/{self.number}"


class SummaryTS(Consumed, frozen=True, array_like=True):
    """The paper's SummaryTS: what became of one errand. A late or a double one is harmless.

    written by: a helper, or the gateway in its name (links canonical, sizes checked)
    taken by: the gatherer whose errand it was, from its own inbox; it goes on as if it had fetched the page
    lifetime: until the gatherer has taken it; if it dies then, it fetches the page again
    """

    name = "summaryts"
    code = 4
    version = 3

    #: of the errand, word for word
    gatherer: str
    run: str
    number: int
    url: str
    #: who was there
    helper: str
    #: of the answer, whatever it was; 0 if there was none
    status: int = 0
    #: without a status: a `FailureKind`, or "" for "I have not tried: fetch it yourself"
    failure: str = ""
    message: str = ""
    reason: str = ""
    http_version: str = "1.1"
    #: as sent, in order
    headers: list[tuple[str, str]] = []
    ip: str = ""
    #: seconds since the epoch, by the helper's clock
    started_at: float = 0.0
    elapsed_s: float = 0.0
    #: of the body as sent, and its digest: "sha1:BASE32"
    size_bytes: int = 0
    digest: str = ""
    #: what was read in a 2xx answer
    page: PageFacts = PageFacts()
    #: for the WARC, where the errand asks for them; without a request head there is no payload
    request_head: bytes = b""
    body: bytes = b""
    #: the helper is trusted; if not, its gatherer believes it only after fetches of its own (`core.helpers.trust`)
    trusted: bool = True
    #: why the answer was cut short: a reason of WARC-Truncated
    truncated: str = ""
    #: what was read, where the errand asks for it
    rendered: bytes = b""

    @property
    def id(self) -> str:
        return f"{self.gatherer}/{self.run}/{self.number}"


class HelperBeat(Posted, frozen=True, array_like=True):
    """A helper is at work.

    written by: a helper (or the gateway for one), every second or so
    taken by: the helper when it ends; read by gatherers, who lend as much as the helpers of their pool can hold, and
        by the station
    lifetime: a few beats
    """

    name = "helper"
    code = 5
    version = 2
    key_field = "helper"

    helper: str
    place: str = ""
    means: Means = Means.PLAIN
    #: errands that it does at once; 0 while it rests
    connections: int = 1
    pages: int = 0
    bytes: int = 0
    pages_per_s: float = 0.0
    #: seconds since the epoch at which it began
    since: float = 0.0


# -- membership and election -------------------------------------------------------------------------------


class MemberState(StrEnum):
    """What a member does with the part of the crawl that it owns."""

    RUNNING = "running"
    #: it hands over what it owns, then goes
    LEAVING = "leaving"
    #: another process does so in its name
    GHOST = "ghost"
    #: the plan counts on what was on its disk, and that is lost
    BLANK = "blank"
    #: it has handed over everything and counts no longer; posted last, so that it is not taken for dead
    GONE = "gone"


class Member(Posted, frozen=True, array_like=True):
    """A gatherer is alive, and how it is doing: its heartbeat.

    written by: each gatherer, every `beat_s` seconds (`core.plan.team_settings`)
    taken by: the gatherer itself when it leaves; read by the leader and the station
    lifetime: the membership lease. One that cannot renew it stops fetching before it ends (`core.messages.election`)
    """

    name = "member"
    code = 10
    key_field = "gatherer"

    gatherer: str
    #: a new one for each run of the process; senders number their blocks under gatherer + run
    run: str
    #: where it stands, for helpers and partitioning
    place: str = ""
    #: epoch of the plan by which it routes, and of the last one whose hand-overs it has finished
    #: (of a seed-server's client: the session for which its server has all that it knew)
    epoch: int = 0
    settled_epoch: int = 0
    #: a MemberState. A string here, so that a member of a later version, in a state not known here, can be read
    state: str = MemberState.RUNNING
    #: nothing queued, in flight, in the c-queues, taken or kept: it will not act unless a tuple arrives
    passive: bool = False
    #: blocks ever sent and ever committed by this run: equal sums over the team, twice, end the crawl
    blocks_sent: int = 0
    blocks_received: int = 0
    #: whatever else it reports: pages, queued, pages_per_s, busy…; user-defined triggers are expressions over them
    figures: dict[str, float] = {}
    #: counts the heartbeats of this run: a newer one tells that nothing has changed since
    beat: int = 0
    #: the seed-server that it belongs to, and whether it is one itself
    server: str = ""
    is_server: bool = False
    #: what is left to do here, and what takes the time, for `core.report.estimate`
    work: Workload = Workload()


class LeaderLease(Posted, frozen=True, array_like=True):
    """Who leads. The term is the fencing token: what a leader posts is refused unless this very tuple is there.

    written by: a gatherer that finds none (only if absent), and by the leader to renew it
    taken by: the leader when it resigns
    lifetime: the election lease
    """

    name = "leader"
    code = 11

    gatherer: str
    term: int


# -- statistics, plans, control ----------------------------------------------------------------------------


class Announcement(Posted, frozen=True, array_like=True):
    """A rebalance begins: post your statistics for this round.

    written by: the leader, fenced by its LeaderLease
    taken by: nobody; read by every gatherer
    lifetime: until the next one
    """

    name = "announce"
    code = 12

    round: int
    term: int
    reason: str = ""


class StatisticsReply(Posted, frozen=True, array_like=True):
    """One gatherer's copy of the URL tree, its rates and queue sizes, for one round.

    written by: each gatherer, when a round is announced
    taken by: nobody; read and merged by the leader
    lifetime: minutes; the next round replaces it
    """

    name = "statistics"
    code = 13
    key_field = "gatherer"

    gatherer: str
    round: int
    epoch: int
    #: encoded by `core` (URL tree copy, statistics per superpage)
    tree: bytes = b""
    rates: bytes = b""
    queued: int = 0
    #: candidate hot pages, with how often each was met
    hot: list[tuple[str, int]] = []
    #: encoded `core.report.explored.ExploredEvidence`
    explored: bytes = b""
    #: seconds that every host is owed, and the hosts that are owed more
    delay_s: float = 0.0
    delays: list[tuple[bytes, float]] = []


class ProbeList(Posted, frozen=True, array_like=True):
    """Origins ("https://www.example.com") to which every gatherer shall measure the way.

    written by: the leader, fenced by its LeaderLease, after a round
    taken by: nobody; read by every gatherer, which puts what it measured into its next StatisticsReply
    lifetime: until the next one
    """

    name = "probes"
    code = 41

    term: int
    origins: list[str] = []


class PageAllowance(Posted, frozen=True, array_like=True):
    """How many pages a gatherer may store in a session, where the crawl has a limit (`crawl.max_pages`).

    written by: the leader, fenced by its LeaderLease: more is granted, or what was given back is noted
    taken by: nobody; read by the gatherer. What was granted and given back only grow, so an older one does no harm
    lifetime: the crawl's
    """

    name = "allowance"
    code = 43
    key_field = "gatherer"

    gatherer: str
    session: int
    #: pages ever granted, and those of them that the gatherer has given back
    granted: int = 0
    returned: int = 0


class PlanPosted(Posted, frozen=True, array_like=True):
    """The plan by which everyone routes from now on.

    written by: the leader, fenced by its LeaderLease; its epoch is above every one that a Member reports
    taken by: nobody; read by all
    lifetime: until the next plan
    """

    name = "plan"
    code = 14

    epoch: int
    term: int
    #: encoded by `core.plan.plan`
    plan: bytes
    #: all hand-overs of this plan are finished
    committed: bool = False


class SuperstepDone(Posted, frozen=True, array_like=True):
    """How far a gatherer of a bulk-synchronous team is (`core.messages.barrier`).

    written by: each gatherer, when all that it found in a superstep is committed by its owners; again while it waits
    taken by: nobody; read by every gatherer
    lifetime: minutes; the next superstep replaces it
    """

    name = "superstep"
    code = 42
    key_field = "gatherer"

    gatherer: str
    #: of the last superstep that has ended here
    number: int
    #: it has no work: nobody waits for it
    idle: bool = False


class CrawlState(StrEnum):
    """What the crawl shall do."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    DONE = "done"


class Control(Posted, frozen=True, array_like=True):
    """What the user wants of the whole crawl (pause, resume, stop), or the leader when it is done.

    written by: `gcs pause/resume/stop`, the station, the leader at the end
    taken by: nobody; obeyed by every gatherer
    lifetime: until the next one
    """

    name = "control"
    code = 15

    state: CrawlState
    by: str = ""
    reason: str = ""
    #: for people: why, and what to do
    detail: str = ""


class RebalanceCall(Consumed, frozen=True, array_like=True):
    """Someone asks for a rebalance: a user, or a gatherer that is idle, joins or quits.

    written by: `gcs rebalance`, the station, gatherers
    taken by: the leader, from the inbox `leader`
    lifetime: until the leader has decided
    """

    name = "rebalance"
    code = 16

    by: str
    reason: str = ""


class Seeds(Consumed, frozen=True, array_like=True):
    """URLs to start from.

    written by: `gcs crawl`, `gcs seed`, the station
    taken by: any gatherer, from the inbox `seeds`; it locates them and passes the foreign ones on
    lifetime: until committed to a frontier or an outbox
    """

    name = "seeds"
    code = 17

    urls: list[str]


class Charter(Posted, frozen=True, array_like=True):
    """What the crawl is: whoever joins it needs nothing else.

    written by: `gcs crawl` when it starts, `gcs seed` when the seeds change; put back by a leader if it was forgotten
    taken by: nobody; read by every gatherer
    lifetime: the crawl's
    """

    name = "charter"
    code = 19

    #: the settings tree as JSON
    settings: bytes
    #: all seeds ever given: they define the scope
    seeds: list[str]
    #: how many gatherers are expected at the start
    gatherers: int = 1
    #: the session to crawl, and its blueprint if there is one: a plan made ahead (`core.plan.blueprint`)
    session: int = 1
    blueprint: bytes = b""
    #: the name of the run that began the session, if it was given one
    run: str = ""
    #: when the crawl was first put on the whiteboard, by the whiteboard's clock; 0 if an earlier version did it
    begun_at: float = 0.0


class Finds(Consumed, frozen=True, array_like=True):
    """What a client of a seed-server has dealt with, and every link that it found there (WEB-SAILOR).

    written by: a crawl-client, at its checkpoints (numbered, kept until committed); a seed-server below another, for
        links outside of its domains
    taken by: its seed-server, from the inbox of its name
    lifetime: until the server has committed it to its registry
    """

    name = "finds"
    code = 21

    client: str
    done: list[str]
    links: list[Link]
    #: not used any more: times by the sender's clock
    free_at: dict[str, float] = {}
    #: the session in which it was dealt with
    session: int = 1
    #: what the last session knew, to be asked for again in this one: known to the server before it hands out anything
    copies: list[QueuedUrl] = []
    #: host of a page in `done` → seconds, from when this is read, in which nobody may ask it again
    free_in: dict[str, float] = {}


class ClientPace(Posted, frozen=True, array_like=True):
    """How many connections a client of a seed-server may open: "hurry up" or "slow down".

    written by: its seed-server, when it changes
    taken by: nobody; obeyed by the client
    lifetime: until the next one
    """

    name = "pace"
    code = 22
    key_field = "client"

    client: str
    connections: int
    word: str = ""


class Account(Posted, frozen=True, array_like=True):
    """What a gatherer has done in this crawl, in all its runs: its part of the report, for who has not got its disk.

    written by: each gatherer when it ends
    taken by: nobody; read by `gcs crawl` and the station
    lifetime: the crawl's
    """

    name = "account"
    code = 20
    key_field = "gatherer"

    gatherer: str
    #: its `core.report.report.Share`, encoded
    share: bytes


class RobotsNote(Posted, frozen=True, array_like=True):
    """The robots.txt of a host that several gatherers share, fetched once.

    written by: the owner that fetched it
    taken by: nobody; read by the other owners
    lifetime: one hour (`ROBOTS_NOTE_S`); its readers believe it for `robots_cache_s` since they read it
    """

    name = "robots"
    code = 18
    key_field = "origin"

    #: scheme://host[:port]
    origin: str
    status: int
    body: bytes = b""
    #: not used any more: a time by the sender's clock
    fetched_at: float = 0.0


class BusyNote(Posted, frozen=True, array_like=True):
    """A host that several gatherers share is overloaded: it has told one of them to wait, so all of them do.

    written by: the owner that was told (429 or 503, with Retry-After or without)
    taken by: nobody; read by the other owners
    lifetime: until the wait is over
    """

    name = "busy"
    code = 23
    version = 2
    key_field = "host"

    host: str
    #: seconds, from when this is read, for which the host is to be left alone
    wait_s: float


class Baton(Posted, frozen=True, array_like=True):
    """The right to ask a host that several gatherers share, and that is owed a delay (`core.polite.batons`).

    written by: its holder, who passes it on; or an owner that finds none, or one whose holder has no BatonLease
    taken by: nobody; read by all owners
    lifetime: minutes; the holder writes it again while it asks the host
    """

    name = "baton"
    code = 24
    key_field = "host"

    host: str
    #: gatherer/run
    holder: str
    #: grows with every posting
    serial: int
    #: seconds, from when its holder reads this, in which no request may start
    wait_s: float = 0.0


class BatonCall(Posted, frozen=True, array_like=True):
    """An owner of a shared host waits for the host's baton.

    written by: the owner, again while it waits
    taken by: nobody; read by the holder of the baton
    lifetime: seconds
    """

    name = "call"
    code = 25

    host: str
    #: gatherer/run
    caller: str

    @property
    def key(self) -> str:
        return f"{self.host} {self.caller}"


class BatonLease(Posted, frozen=True, array_like=True):
    """The batons of this gatherer are in use. Without it they are void, and others may take them.

    written by: a gatherer that has batons or waits for one; again if it is still this very tuple
    taken by: nobody; read by owners that wait for a baton
    lifetime: a quarter of the membership's lease
    """

    name = "batons"
    code = 26
    key_field = "holder"

    #: gatherer/run
    holder: str
    #: grows with every renewal
    number: int


# -- the station -------------------------------------------------------------------------------------------


class Access(Posted, frozen=True, array_like=True):
    """A token of the station, as far as it is kept: its hash, and what it is for (`core.helpers.access`).

    written by: `gcs token create`
    taken by: `gcs token revoke`, and whoever catches its holder lying; read by the station
    lifetime: until it is revoked or expires
    """

    name = "access"
    code = 30
    key_field = "id"

    #: for people: the first digits of the hash
    id: str
    role: str
    digest: bytes
    label: str = ""
    #: seconds since the epoch; it never expires if 0
    created_at: float = 0.0
    expires_at: float = 0.0
    #: of a helper: where its machine stands, and whether it is trusted
    place: str = ""
    trusted: bool = False


class CutOff(Posted, frozen=True, array_like=True):
    """A helper has lied, or has asked for what no honest one asks for: nothing is taken from it any more.

    written by: the gatherer that caught it (and takes its Access away), or the gateway
    taken by: nobody; read by gateways and gatherers, and by people
    lifetime: the crawl's
    """

    name = "cutoff"
    code = 40
    key_field = "helper"

    #: as it stands in records and logs
    helper: str
    reason: str
    by: str
    #: seconds since the epoch
    at: float = 0.0


class RecentPage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A page that was stored lately, for people."""

    url: str
    title: str
    summary: str
    status: int
    bytes: int
    #: seconds since the epoch
    fetched_at: float
    elapsed_s: float
    depth: int
    outlinks: int
    language: str = ""
    helper: str = ""


class HostFailures(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The URLs of one host that ended without a page."""

    host: str
    failed: int
    #: of the last one
    kind: str
    url: str
    at: float


class SuperpagePatch(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One superpage of a gatherer: its beginning, what is known and queued there, and where that lies."""

    low: bytes
    seen: int
    queued: int
    pages: int
    #: (sort key, URLs) in key order: a sample that stands for all
    points: list[tuple[bytes, float]] = []


class Bulletin(Posted, frozen=True, array_like=True):
    """What a gatherer shows of its work to people, and to nobody else. Bounded, whatever the crawl does.

    written by: each gatherer, every few seconds
    taken by: nobody; read by the station
    lifetime: half a minute
    """

    name = "bulletin"
    code = 31
    key_field = "gatherer"

    gatherer: str
    #: of the plan under which `patches` were counted
    epoch: int
    #: its `core.report.report.Share`, encoded
    share: bytes
    #: the explored fraction by its own evidence, with bounds
    explored: tuple[float, float, float]
    #: URLs sent to each of the others, by this run
    sent: dict[str, int] = {}
    #: the newest last
    recent: list[RecentPage] = []
    #: those with the most failures
    troubles: list[HostFailures] = []
    patches: list[SuperpagePatch] = []
    #: hosts that keep it waiting, the slowest first
    hosts: list[SlowHost] = []


class MovedRanges(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What goes from one gatherer to another with a plan."""

    loser: str
    winner: str
    ranges: int
    #: the nodes of the URL tree that hold the first few of the ranges, for people
    places: list[str] = []


class PlanNote(Posted, frozen=True, array_like=True):
    """Why and when a plan was made, and what it moves: the history of the crawl's rebalances. The last ones are kept.

    written by: the leader, beside the plan, and again when all is handed over
    taken by: nobody; read by the station
    lifetime: until as many plans later
    """

    name = "plannote"
    code = 32

    epoch: int
    #: seconds since the epoch
    at: float
    reason: str
    superpages: int
    gatherers: list[str]
    #: share of the remaining work that changes its owner
    moved: float = 0.0
    moves: list[MovedRanges] = []
    #: ranges that nobody can hand over
    lost: int = 0
    #: 0 until all is handed over
    committed_at: float = 0.0

    @property
    def key(self) -> str:
        return str(self.epoch % 100)


# -- search ------------------------------------------------------------------------------------------------


class Librarian(Posted, frozen=True, array_like=True):
    """Somebody who answers questions from the index of a directory.

    written by: a librarian, every few seconds
    taken by: the librarian itself when it ends; read by who asks, to know whose answers to wait for
    lifetime: some seconds
    """

    name = "librarian"
    code = 50
    key_field = "librarian"

    librarian: str


class Question(Posted, frozen=True, array_like=True):
    """A search that all librarians shall answer.

    written by: `gcs search` or the station
    taken by: nobody; read by every librarian
    lifetime: as long as its answers are waited for
    """

    name = "question"
    code = 51
    key_field = "id"

    id: str
    #: in the language of search
    query: str
    #: pages that are wanted of each
    most: int
    facets: bool = True


class SearchAnswer(Posted, frozen=True, array_like=True):
    """What one librarian found.

    written by: a librarian
    taken by: nobody; read by who asked
    lifetime: as that of the question
    """

    name = "answer"
    code = 52

    question: str
    librarian: str
    #: an `EngineAnswer`, encoded, with excerpts in place of texts; empty where it could not search
    found: bytes = b""

    @property
    def key(self) -> str:
        return f"{self.question}/{self.librarian}"


#: every type that may stand on the whiteboard
TUPLES: tuple[type[Tuple], ...] = (*Consumed.__subclasses__(), *Posted.__subclasses__())
BY_NAME: dict[str, type[Tuple]] = {kind.name: kind for kind in TUPLES}
