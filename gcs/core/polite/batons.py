"""Batons: which of the owners of a shared host may ask it, decided for one gatherer. Pure: no clock, no whiteboard.

Each shared host that is owed a delay has one baton on the whiteboard, and only its holder asks the host:

- An owner with URLs of the host calls for the baton (`BatonCall`). An owner without any does not.
- The holder passes it on to whoever called first, between two requests: when it has nothing to ask, or after
  TURN_REQUESTS and TURN_S. The posting says how long the next holder has to wait, counted from when that one reads
  it. So clocks need not agree, and the message travels while the delay passes anyway.
- If nobody calls, the holder keeps it. A host that one owner asks costs no message.
- A gatherer may use its batons while its `BatonLease` holds, by its own clock, counted from before it asked for it.
  The lease is renewed only if it is still there: a whiteboard that forgot something ends it.
- A baton that is not there, or whose holder has no lease, is taken by compare-and-set. Its taker waits a lease and a
  delay: the holder that the whiteboard does not know of has stopped by then.

Everything is learned from the whiteboard (`saw`), own postings too: so a lost answer or a refused posting needs no
special case. A caller that hears nothing for a lease looks at the whole board (`looked`), whatever was lost.

Invariant: a gatherer has given up a baton before it posts that it passes it on, and holds one only if it is named in
a posting with a serial above all those under which it has held that baton before.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from gcs.core.messages.tuples import Baton, BatonCall
from gcs.core.polite.politeness import delay_of
from gcs.core.polite.window import Window

#: requests, and seconds of their delays, after which a holder passes the baton on, if another owner waits
TURN_REQUESTS, TURN_S = 8, 1.0
#: seconds in which a holder could have asked and has not: then it passes the baton on, too
IDLE_S = 0.25
#: seconds that a baton stays on the board, if it is not posted again
BATON_S = 300.0

#: a tuple to be posted, and the baton that it replaces: if that is there no more, it is refused
BatonStep = tuple[Baton | BatonCall, Baton | None]


class Batons:
    """The batons as one gatherer sees them, beside its window."""

    def __init__(self, me: str, lease_s: float, window: Window[Any]) -> None:
        """`me`: this gatherer and its run, as batons name their holder."""
        self._me, self._lease_s, self._window = me, lease_s, window
        #: host → the baton as it was seen last, and when
        self._board: dict[str, tuple[Baton, float]] = {}
        #: host → the highest serial under which this gatherer has held the baton
        self._serials: dict[str, int] = {}
        #: host → the other owners that wait, with the time of their last call; who called first stands first
        self._callers: dict[str, dict[str, float]] = {}
        #: hosts of whose batons this gatherer has one, and others wait for it
        self._contested: set[str] = set()
        #: hosts whose baton this gatherer waits for, and since when it has; filled from the window's seekers
        self._asked: dict[str, float] = {}
        #: holders without a lease
        self._gone: set[str] = set()
        self._swept_at = self._checked_at = 0.0

    @property
    def is_needed(self) -> bool:
        """Whether this gatherer has batons, or waits for one."""
        return bool(self._window.batons or self._window.seekers or self._asked)

    def saw(self, baton: Baton, now: float) -> None:
        """Take in a baton that was seen on the board."""
        host, window = baton.host, self._window
        is_newest = host not in self._board or baton.serial >= self._board[host][0].serial
        if is_newest:
            self._board[host] = baton, now
        if baton.holder != self._me:
            self._serve(host, baton.holder)
            if host in window.batons:
                window.drop_baton(host, seeks=True)
        elif is_newest and baton.serial > self._serials.get(host, 0):
            self._serials[host] = baton.serial
            if host not in window.batons:
                self._asked.pop(host, None)
                window.give_baton(host, baton.wait_s, now)
            if host in self._callers:
                self._contested.add(host)

    def heard(self, call: BatonCall, now: float) -> None:
        """An owner waits for a baton."""
        self._gone.discard(call.caller)
        if call.caller != self._me:
            self._callers.setdefault(call.host, {})[call.caller] = now
            if call.host in self._window.batons:
                self._contested.add(call.host)

    def looked(self, batons: Iterable[Baton], alive: Iterable[str], now: float) -> None:
        """Take in a look at the board: all batons that are there, and all holders that have a lease."""
        there = {baton.host: baton for baton in batons}
        self._board = {}
        for host in [host for host in self._window.batons if host not in there]:
            self._window.drop_baton(host, seeks=True)
        for baton in there.values():
            self.saw(baton, now)
        self._gone = {baton.holder for baton in there.values()} - {*alive, self._me}
        asked, self._asked = self._asked, {}
        self._window.seekers.update(host for host in asked if self._has_urls(host))

    def renewed(self, until: float) -> None:
        """The lease of this gatherer's batons holds until then, by its own clock."""
        self._window.renew_batons(until)

    def lost(self) -> None:
        """The lease is gone: all batons are void."""
        for host in list(self._window.batons):
            self._window.drop_baton(host, seeks=True)
        self._window.renew_batons(0.0)

    def wants_look(self, now: float) -> bool:
        """Whether a host has waited for its baton for a lease, since this gatherer called."""
        return any(now >= at + self._lease_s for at in self._asked.values())

    def steps(self, now: float) -> list[BatonStep]:
        """What is to be posted now."""
        if now >= self._window.batons_until:
            self.lost()
            return []  # the seekers wait for the lease
        steps = [*self._passed(now), *self._sought(now)]
        if now >= self._swept_at + BATON_S / 4:
            self._swept_at = now
            self._forget(now)
            steps += self._written_again(now)
        return steps

    def _passed(self, now: float) -> Iterator[BatonStep]:
        for host in sorted(self._contested):
            callers = self._callers.get(host, {})
            for caller in [caller for caller, at in callers.items() if now > at + 2 * self._lease_s]:
                self._serve(host, caller)
            if not callers or host not in self._window.batons:
                self._contested.discard(host)
            elif self._has_finished(host, now):
                known = self._window.hosts.get(host)
                wait_s = max(known.pace.next_at - now, 0.0) if known else 0.0
                yield self._passed_to(next(iter(callers)), host, wait_s, now)

    def _passed_to(self, holder: str, host: str, wait_s: float, now: float) -> BatonStep:
        before = self._board[host][0]
        self._window.drop_baton(host, seeks=self._has_had_its_turn(host))
        baton = Baton(host, holder, before.serial + 1, wait_s)
        self._board[host] = baton, now
        self._serve(host, holder)
        return baton, before

    def _serve(self, host: str, caller: str) -> None:
        """Strike a caller off: it waits no more."""
        if callers := self._callers.get(host):
            callers.pop(caller, None)
            if not callers:
                del self._callers[host]

    def _has_finished(self, host: str, now: float) -> bool:
        """Whether this holder has had its turn, or does not use its baton. Not while it asks the host."""
        known = self._window.hosts.get(host)
        if known is None:
            return True
        if known.pace.in_flight:
            return False
        is_dry = not known.waiting and not known.more
        return is_dry or self._has_had_its_turn(host) or now >= known.pace.next_at + IDLE_S

    def _has_had_its_turn(self, host: str) -> bool:
        requests, known = self._window.batons[host], self._window.hosts.get(host)
        delay_s = delay_of(known.pace, self._window.rules) if known else 0.0
        return requests >= TURN_REQUESTS and requests * delay_s >= TURN_S

    def _sought(self, now: float) -> Iterator[BatonStep]:
        window, forgotten = self._window, set[str]()
        if now >= self._checked_at + self._lease_s:  # the board may have forgotten that this gatherer passed one on
            self._checked_at = now
            forgotten = {host for host in self._callers if host not in window.batons and self._names_me(host)}
        for host in sorted(window.seekers | forgotten):
            if host in window.batons:  # the lease has been renewed late
                window.give_baton(host, 0.0, now)
            elif host not in self._asked:
                self._asked[host] = now
                yield self._taken(host) if self._is_free(host) else (BatonCall(host, self._me), None)
        window.seekers.clear()

    def _has_urls(self, host: str) -> bool:
        known = self._window.hosts.get(host)
        return known is not None and bool(known.waiting) and host not in self._window.batons

    def _is_free(self, host: str) -> bool:
        return host not in self._board or self._names_me(host) or self._board[host][0].holder in self._gone

    def _names_me(self, host: str) -> bool:
        return host in self._board and self._board[host][0].holder == self._me

    def _taken(self, host: str) -> BatonStep:
        before = self._board[host][0] if host in self._board else None
        serial = max(before.serial if before else 0, self._serials.get(host, 0)) + 1
        wait_s = self._lease_s + delay_of(self._window.host(host).pace, self._window.rules)
        return Baton(host, self._me, serial, wait_s), before

    def _written_again(self, now: float) -> Iterator[BatonStep]:
        """Batons in use must not end on the board."""
        for host in self._window.batons:
            if now >= self._board[host][1] + BATON_S / 4:
                yield self._taken(host)

    def _forget(self, now: float) -> None:
        """Batons that nobody has used for long: memory follows the work, not the crawl."""
        for host in [host for host in self._window.batons if host not in self._window.hosts]:
            self._window.drop_baton(host, seeks=False)
        for host, (_, seen_at) in list(self._board.items()):
            if now > seen_at + BATON_S and host not in self._window.batons:
                del self._board[host]
        self._serials = {host: serial for host, serial in self._serials.items() if host in self._board}
        self._callers = {host: callers for host, callers in self._callers.items() if host in self._board}
