"""How far gatherers may go without an exchange (papers.md M7): R pages, or β messages to one of them, per superstep.

Marin et al., section 2. The last session is replayed in the order of importance. Links into other parts are messages
to their owners, and lie there until one owner has more than β of them: then the superstep ends and all are delivered. A
page that was fetched in the superstep in which another part linked to it would have been missed by a team that is told
only at the end: the *error* of a superstep is their share. The largest β whose average error stays under a bound is the
tolerance; R is the number of pages that the busiest owner fetches in an average superstep.

A message to oneself is none here: a gatherer knows at once what it finds.

Invariant: `error <= bound`, unless even β = 1 is beyond it (then β is 1, and the error says so).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gcs.core.ordering.pagerank import pagerank

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ids = NDArray[np.int32] | NDArray[np.int64]

#: the error that the paper allows
BOUND = 0.05


@dataclass(frozen=True, slots=True)
class Superstep:
    """How long a superstep of the next session may be."""

    #: R: pages that a gatherer fetches before it sends what it has for the others
    pages: int
    #: β: messages for one destination that may wait
    messages: int
    #: average share of the pages that come too late
    error: float
    #: supersteps of the whole session
    count: int


class Replay:
    """The last session, ready to be replayed under any β."""

    def __init__(self, offsets: Ints, targets: NDArray[np.signedinteger], owners: Ints, importance: Floats) -> None:
        """Pages 0…n-1 with their out-links in sparse rows, the owner of each (from 0), and what it is worth."""
        order = np.argsort(-importance, kind="stable")
        self._turn = np.empty(len(order), np.int64)  # when each page is fetched
        self._turn[order] = np.arange(len(order))
        sources = np.repeat(np.arange(len(owners)), np.diff(offsets))
        crossing = owners[sources] != owners[targets]
        sent, found = self._turn[sources[crossing]], targets[crossing]
        by_turn = np.argsort(sent, kind="stable")
        #: of each message: when it is written, and the page it is about
        self._sent, self._found = sent[by_turn], found[by_turn]
        receivers = owners[self._found]
        #: when each message of each owner is written, ascending
        self._sent_to = [self._sent[receivers == owner] for owner in np.unique(receivers)]
        self._busiest = int(np.bincount(owners).max(initial=0)) if len(owners) else 0

    @property
    def most_messages(self) -> int:
        """The most that any owner is sent in all: a β from which on nothing changes."""
        return max(map(len, self._sent_to), default=0)

    def run(self, messages: int) -> Superstep:
        """The session with β = messages."""
        ends = self._ends(messages)
        # a page fetched at turn t belongs to the superstep after all that ended at or before t
        of_sender = np.searchsorted(ends, self._sent, side="right")
        fetched = self._turn[self._found]
        missed = np.unique(fetched[np.searchsorted(ends, fetched, side="right") == of_sender])
        bounds = np.unique(np.concatenate([[0], ends, [len(self._turn)]]))
        sizes = np.diff(bounds)
        late = np.diff(np.searchsorted(missed, bounds))
        error = float(np.mean(late / sizes)) if len(sizes) else 0.0
        count = max(len(sizes), 1)
        return Superstep(max(-(-self._busiest // count), 1), messages, error, count)

    def _ends(self, messages: int) -> Ints:
        """The turns at which supersteps begin, but for the first: some owner had more than β messages before."""
        ends: list[int] = []
        at = [0] * len(self._sent_to)
        while True:
            full = [
                int(sent[begin + messages]) for sent, begin in zip(self._sent_to, at) if begin + messages < len(sent)
            ]
            if not full:
                return np.array(ends, np.int64)
            end = min(full) + 1  # the page that sent one too many is the last of its superstep
            if end >= len(self._turn):
                return np.array(ends, np.int64)
            ends.append(end)
            at = [int(np.searchsorted(sent, end)) for sent in self._sent_to]


def replay_of(sources: Ids, targets: Ids, owners: Ints) -> Replay:
    """A session by PageRank, from its links in any order and the owner of each page."""
    order = np.argsort(sources, kind="stable")
    offsets = np.zeros(len(owners) + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=len(owners)), out=offsets[1:])
    found = targets[order]
    return Replay(offsets, found, owners, pagerank(offsets, found, tolerance=1e-6))


def predict(replay: Replay, bound: float = BOUND) -> Superstep:
    """The longest superstep whose average error is within the bound, by binary search for β."""
    low, high = 0, max(replay.most_messages, 1)
    best = replay.run(high)
    if best.error <= bound:
        return best
    while high - low > max(low // 64, 1):  # figures of a web are no more precise than that
        middle = (low + high) // 2
        tried = replay.run(middle)
        if tried.error <= bound:
            low, best = middle, tried
        else:
            high = middle
    return best if low else replay.run(1)
