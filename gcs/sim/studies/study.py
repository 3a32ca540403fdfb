"""What a study is: an experiment of a paper, run on a web graph, with a comparison to what the paper found.

Invariant: a study is pure. It takes a graph and a request and returns rows. Charts and findings are made from rows
alone, so that cached rows give the same page as fresh ones. It must not draw, print or write: that is for the command.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, Literal

from gcs.sim.engine.capacity import MEASURED, Costs
from gcs.sim.engine.machines import ANCHOR, MACHINES, Machine
from gcs.sim.graph.web_graph import WebGraph

#: a frozen dataclass of numbers and words: one line of the table
Row = Any
#: called with the part of the work that is done (0 … 1), and a text that says what is being done
Tick = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Setup:
    """How the team of `gcs study run` works; each field is an option of the command."""

    #: who owns a page (core.partition)
    partitioner: str = "site-hash"
    #: what becomes of a link into another's pages
    mode: Literal["exchange", "firewall", "cross-over", "independent"] = "exchange"
    #: which page goes first (core.ordering)
    order: str = "bfs"
    #: queue of a gatherer (core.queues); scan: all that waits is looked through
    queue: str = "scan"
    #: R, pages of a gatherer in a superstep, on average; 0: a 256th of its crawl
    superstep_pages: int = 0
    #: supersteps between two exchanges
    exchange_every: int = 1
    #: the so many most linked URLs are known to all
    replicated: int = 0
    #: how fast the gatherers are: all alike, or by the size of their parts
    speeds: Literal["equal", "size"] = "equal"
    #: random pages that the team starts from
    seeds: int = 320
    #: downloads at most, as a part of what can be reached; 0: to the end
    part: float = 0.0


@dataclass(frozen=True, slots=True)
class WebTimes:
    """What takes time in a crawl, for `gcs study teams`; each field is an option of the command."""

    #: seconds between two requests to one host
    delay_s: float = 1.0
    #: seconds to an answer
    latency_s: float = 0.1
    #: seconds of CPU that a page takes
    cpu_per_page_s: float = MEASURED.page_cpu_s
    #: requests of one gatherer that run at once
    connections: int = 128
    #: requests of one gatherer to one host that run at once, where there is no delay
    host_connections: int = 8
    #: cores of all machines together
    cores: int = 2


@dataclass(frozen=True, slots=True)
class Rental:
    """What is crawled on rented machines, for `gcs study scale`; each field is an option of the command."""

    #: kind of machine, of the table of prices
    machine: str = ANCHOR
    #: pages of the web that is crawled, beside a million to ten billion
    web_pages: int = 0


USUAL, USUAL_TIMES = Setup(), WebTimes()


@dataclass(frozen=True, slots=True)
class SeenCrawl:
    """What the directory of a crawl knows beyond its graph and its `WebTimes`."""

    #: the URLs that it began with
    seeds: tuple[str, ...] = ()
    #: hosts that answer faster or slower than the others: name and seconds
    latencies_s: tuple[tuple[str, float], ...] = ()


NOTHING_SEEN = SeenCrawl()


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """What the user may choose. What is empty or 0 is left to the study."""

    #: numbers of gatherers
    ks: tuple[int, ...] = ()
    #: repetitions with other random choices, which are averaged
    runs: int = 0
    seed: int = 1
    #: what things cost, for the capacity model
    costs: Costs = MEASURED
    #: the machines that are rented, and a size of the web beside the usual ones
    machine: Machine = MACHINES[ANCHOR]
    web_pages: int = 0
    #: how the team works, for a crawl of one's own
    setup: Setup = USUAL
    #: what takes time in a crawl, and what its directory knows
    times: WebTimes = USUAL_TIMES
    seen: SeenCrawl = NOTHING_SEEN


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of a chart; black and dashed where it is the paper's, or a yardstick."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    from_paper: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of some rows."""

    title: str
    x: str
    y: str
    lines: Sequence[ChartLine]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim of the paper, what came out here, and why they differ where they do."""

    claim: str
    paper: str
    ours: str
    agrees: bool
    why: str = ""
    #: it compares sites: where a graph has one, its effect cannot be seen
    by_sites: bool = False


class ClaimVerdict(StrEnum):
    """Whether a claim came out as in the paper."""

    AGREES = "yes"
    DIFFERS = "no"
    UNSEEN = "cannot be seen on this graph"


def checked(claim: str, paper: str, ours: str, agrees: bool, otherwise: str) -> Finding:
    """A finding that needs a reason only where it does not agree."""
    return Finding(claim, paper, ours, agrees, "" if agrees else otherwise)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a long study whose rows for one number of gatherers do not depend on the others.

    The rows of each number are cached apart, so that an interrupted study goes on where it was.
    """

    #: the numbers that it looks at
    ks: Callable[[WebGraph, StudyRequest], Sequence[int]]
    #: the rows of one number after the other
    run: Callable[[WebGraph, StudyRequest, Tick], Iterator[Sequence[Row]]]


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment: how it is run, and how its rows are read."""

    name: str
    title: str
    #: which figure or table of which paper, and how the experiment is set up here
    about: str
    #: the dataclass of its rows
    row: type
    run: Callable[[WebGraph, StudyRequest, Tick], Sequence[Row]]
    charts: Callable[[Sequence[Row]], Sequence[Chart]]
    findings: Callable[[Sequence[Row]], Sequence[Finding]] = lambda _rows: ()
    #: what the paper gives in figures, in rows with the same names
    paper: Sequence[Row] = ()
    steps: Steps | None = None
    #: fields that say which of our rows stands beside one of the paper's
    keys: tuple[str, ...] = ()
    #: all its claims compare sites
    by_sites: bool = False
    #: what the rows mean for the user, in one sentence
    advice: Callable[[Sequence[Row]], str] = lambda _rows: ""


def line(rows: Sequence[Row], x: str, y: str, label: str, from_paper: bool = False) -> ChartLine:
    """A line through these rows: one field over another; 0 where a row has no value."""
    return ChartLine(label, [getattr(row, x) for row in rows], [getattr(row, y) or 0 for row in rows], from_paper)


def lines(rows: Sequence[Row], by: str, x: str, y: str, label: str = "{}") -> list[ChartLine]:
    """A line for each value of one field, in the order in which the values come up."""
    values = dict.fromkeys(getattr(row, by) for row in rows)
    return [line([row for row in rows if getattr(row, by) == value], x, y, label.format(value)) for value in values]


def falls(values: Sequence[float]) -> bool:
    """Whether no value is above the one before it, and the last is below the first."""
    return all(b <= a for a, b in pairwise(values)) and values[-1] < values[0]


def rises(values: Sequence[float]) -> bool:
    """Whether no value is below the one before it, and the last is above the first."""
    return falls([-value for value in values])
