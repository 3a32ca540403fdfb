"""A crawl by a team against the clock: who asks for which page when, and when the last one is stored.

Which request may start is decided by the window of a live gatherer (`core.polite.window`), who owns what by the
decisions of a live leader (`timed_leader`). Only time is made up here: a request takes the latency of its host, a page
the CPU of its gatherer and one of the cores, and what goes from one gatherer to another as long as was measured on
live teams. A page is known to its owner when a page that links to it is stored, or when another gatherer has sent it.

Invariant: every page is fetched once, and never before politeness allows it.
"""

import heapq
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import numpy as np

from gcs.core.plan.host_limits import HostLimits, of_hosts
from gcs.core.plan.next_plan import first_plan
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.polite.politeness import Politeness, Sharing
from gcs.core.polite.window import Host, Window
from gcs.core.tree.tree import WHOLE
from gcs.sim.engine.timed_leader import PageCounts, TimedLeader
from gcs.sim.engine.timed_web import CrawlPace, TimedWeb

#: seconds from the command to the first request: of one gatherer, of a team
ALONE_START_S, TEAM_START_S = 0.17, 0.45
#: seconds from the last page to the end of the command: of one gatherer, of a team, of a team that was rebalanced
ALONE_END_S, TEAM_END_S, REBALANCED_END_S = 0.03, 0.6, 1.15
#: seconds that a request takes beside the latency of its host
REQUEST_S = 0.001
#: seconds between two blocks of URLs for others: with more than so many pages in the window, and with fewer
PLENTY_PAGES, BUSY_S, IDLE_S = 500, 2.0, 0.2
#: seconds that a block is on its way; and a range, from the plan to the first request of the new owner
SEND_S, HAND_OVER_S = 0.03, 0.3
#: in place of a page: the robots.txt of a host
_ROBOTS = -1


class _Gatherer:
    """What one gatherer does and knows."""

    def __init__(self, rules: Politeness, pages: int) -> None:
        self.window = Window[int](rules)
        self.window.renew_batons(math.inf)
        self.in_flight = 0
        #: until when its thread is busy, and when it wakes by itself
        self.busy_until = self.wakes_at = 0.0
        #: pages that it has stored
        self.pages = 0
        #: those since the last plan, and the seconds that they took
        self.stored: list[int] = []
        self.stored_s = 0.0
        #: pages of others that it has found; those that are not sent yet; when it sent the last ones
        self.told = np.zeros(pages, np.bool_)
        self.unsent: list[int] = []
        self.sent_at = 0.0


class TimedCrawl:
    """One crawl. `run` it once."""

    def __init__(self, web: TimedWeb, pace: CrawlPace, gatherers: int, settings: TeamSettings) -> None:
        self._web, self._pace, self._left = web, pace, web.graph.pages
        self._known, self._done = np.zeros(self._left, np.bool_), np.zeros(self._left, np.bool_)
        self._in_order = np.array(sorted(range(self._left), key=web.keys.__getitem__), np.int64)
        self._names = [str(number) for number in range(len(web.hosts))]
        self._latencies = [pace.latencies_s.get(host, pace.latency_s) for host in web.hosts]
        self._robots = set() if pace.politeness.robots else {*self._names}
        self._gatherers = [_Gatherer(pace.politeness, self._left) for _ in range(gatherers)]
        #: shared host → the gatherer that has its baton, by its window
        self._holders: dict[str, Window[int]] = {}
        self._cores = [0.0] * min(pace.cores, gatherers)
        self._page_cpu_s = pace.page_cpu_s + (pace.team_cpu_s if gatherers > 1 else 0.0)
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._serial, self._now = count(), TEAM_START_S if gatherers > 1 else ALONE_START_S
        seeded = (web.hosts[web.host_of[seed]] for seed in web.seeds.tolist())
        cuts = of_hosts(seeded, settings.delta * gatherers) if gatherers > 1 else WHOLE
        self._adopt(first_plan(tuple(f"g{number}" for number in range(gatherers)), cuts, settings))
        limits = HostLimits(pace.politeness.delay_s, {}, pace.politeness.host_connections, pace.connections)
        self._leader = TimedLeader(settings, limits, self._now)

    def run(self, tick: Callable[[float], None] = lambda _: None) -> float:
        """The seconds from the command to its end; `tick` is told now and then which part of the pages is stored."""
        is_team, pages = len(self._gatherers) > 1, self._left
        self._arrive(self._web.seeds.tolist())
        if is_team:
            self._at(self._leader.next_at(self._now), self._lead)
        while self._left:
            self._now, serial, act, arguments = heapq.heappop(self._events)
            act(*arguments)
            if not serial % 4096:
                tick(1 - self._left / pages)
        end_s = REBALANCED_END_S if self.plan.epoch > 1 else TEAM_END_S
        return self._now + (end_s if is_team else ALONE_END_S)

    def _at(self, moment: float, act: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self._events, (moment, next(self._serial), act, arguments))

    # -- one gatherer: requests, answers, links

    def _turn(self, me: int) -> None:
        """Start all requests that may start now, and wake when the next one may."""
        gatherer = self._gatherers[me]
        for host, page in gatherer.window.release(self._now, self._pace.connections - gatherer.in_flight):
            asked = page
            if host.name not in self._robots:
                gatherer.window.give_back(host, page)
                host.held, asked = True, _ROBOTS
            gatherer.window.begin(host, self._now)
            gatherer.in_flight += 1
            answer_s = REQUEST_S + self._latencies[int(host.name)]
            self._at(self._now + answer_s, self._answered, me, host, asked, answer_s)
        self._pass_batons(me)
        wakes_at = gatherer.window.next_at()
        if wakes_at is not None and not self._now < gatherer.wakes_at <= wakes_at:
            gatherer.wakes_at = wakes_at
            self._at(wakes_at, self._turn, me)

    def _pass_batons(self, me: int) -> None:
        """Give a gatherer the batons that it seeks, of hosts that nobody asks at this moment."""
        window = self._gatherers[me].window
        for name in sorted(window.seekers):
            wait_s, holder = 0.0, self._holders.get(name)
            if holder is not None and holder is not window:
                pace = holder.host(name).pace
                if pace.in_flight:
                    continue
                wait_s = max(pace.next_at - self._now, 0.0)
                holder.drop_baton(name, seeks=True)
            self._holders[name] = window
            window.seekers.discard(name)
            window.give_baton(name, wait_s, self._now)

    def _answered(self, me: int, host: Host[int], page: int, answer_s: float) -> None:
        """An answer is there: it is read when the gatherer's thread and a core have time."""
        gatherer = self._gatherers[me]
        ready_at = max(self._now, gatherer.busy_until)
        # of the cores that are free by then the one that was busy last: the others may begin something else before
        core = max((free_at for free_at in self._cores if free_at <= ready_at), default=min(self._cores))
        stored_at = max(ready_at, core) + (0.0 if page == _ROBOTS else self._page_cpu_s)
        gatherer.busy_until = self._cores[self._cores.index(core)] = stored_at
        self._at(stored_at, self._stored, me, host, page, answer_s)

    def _stored(self, me: int, host: Host[int], page: int, answer_s: float) -> None:
        """An answer is read: its links are known."""
        gatherer = self._gatherers[me]
        gatherer.in_flight -= 1
        host.held = False
        gatherer.window.ended(host, self._now, status=200)
        if page == _ROBOTS:
            self._robots.add(host.name)
        else:
            self._left -= 1
            self._done[page] = True
            gatherer.pages += 1
            gatherer.stored.append(page)
            gatherer.stored_s += answer_s
            self._follow_links(me, page)
        self._turn(me)
        if host.name in self._holders:
            for other, gatherer in enumerate(self._gatherers):
                if other != me and host.name in gatherer.window.seekers:
                    self._turn(other)

    def _follow_links(self, me: int, page: int) -> None:
        gatherer, targets = self._gatherers[me], self._web.graph.outlinks(page)
        new = targets[~self._known[targets]]
        is_own = self._owners[new] == me
        self._feed(me, new[is_own].tolist())
        foreign = new[~is_own]
        foreign = foreign[~gatherer.told[foreign]]
        gatherer.told[foreign] = True
        if len(foreign) and not gatherer.unsent:
            self._at(max(self._now, gatherer.sent_at + IDLE_S), self._send, me)
        gatherer.unsent += foreign.tolist()

    def _feed(self, me: int, pages: Iterable[int]) -> None:
        """These pages wait at this gatherer from now on."""
        window, host_of, names = self._gatherers[me].window, self._web.host_of, self._names
        for page in pages:
            self._known[page] = True
            window.feed(window.host(names[host_of[page]]), (page,), more=False)

    # -- from one gatherer to another

    def _send(self, me: int) -> None:
        """Send what others own, or look again soon: a gatherer with plenty to do sends seldom."""
        gatherer = self._gatherers[me]
        is_busy = gatherer.window.waiting > PLENTY_PAGES and not self._leader.is_changing(self._now)
        if is_busy and self._now < gatherer.sent_at + BUSY_S:
            self._at(self._now + IDLE_S, self._send, me)
            return
        self._at(self._now + SEND_S, self._arrive, gatherer.unsent)
        gatherer.unsent, gatherer.sent_at = [], self._now

    def _arrive(self, pages: list[int]) -> None:
        """Their owners hear of these pages."""
        new = np.unique(np.array(pages, np.int64))
        new = new[~self._known[new]]
        for me in np.unique(self._owners[new]).tolist():
            self._feed(me, new[self._owners[new] == me].tolist())
            self._turn(me)

    # -- plans

    def _lead(self) -> None:
        left = [gatherer.window.waiting for gatherer in self._gatherers]
        stored = [gatherer.pages for gatherer in self._gatherers]
        if plan := self._leader.step(self._now, self.plan, left, stored, self._counts):
            self._rebalance(plan)
        self._at(self._leader.next_at(self._now), self._lead)

    def _counts(self) -> PageCounts:
        stored = {
            name: (np.array(gatherer.stored, np.int64), gatherer.stored_s)
            for name, gatherer in zip(self.plan.gatherers, self._gatherers)
        }
        known, waiting = np.flatnonzero(self._known), np.flatnonzero(self._known & ~self._done)
        return PageCounts(self._web.keys, known, waiting, stored, self._superpages)

    def _adopt(self, plan: Plan) -> None:
        self.plan, in_order = plan, self._in_order
        starts = [bisect_left(in_order, cut, key=self._web.keys.__getitem__) for cut in plan.cuts]
        self._superpages = np.zeros(len(in_order), np.int64)
        self._superpages[in_order] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(in_order)]))
        self._owners = np.array(plan.owners, np.int16)[self._superpages]

    def _rebalance(self, plan: Plan) -> None:
        """What changes its owner is on its way; what each host is owed goes with it."""
        self._adopt(plan)
        number = dict(zip(self._web.hosts, self._names))
        shared = {number[host]: owners for host, owners in plan.shared_hosts().items() if host in number}
        self._holders.clear()
        moving: list[int] = []
        free_at: dict[str, float] = {}
        for me, (name, gatherer) in enumerate(zip(plan.gatherers, self._gatherers)):
            waiting = np.array(gatherer.window.clear(), np.int64)
            is_own = self._owners[waiting] == me
            moving += waiting[~is_own].tolist()
            free_at |= {
                host.name: max(host.pace.next_at, free_at.get(host.name, 0.0))
                for host in gatherer.window.hosts.values()
            }
            for host_name in list(gatherer.window.batons):
                gatherer.window.drop_baton(host_name, seeks=False)
            sharing = {host: Sharing.SHARED for host, owners in shared.items() if name in owners}
            gatherer.window.share(sharing, self._now)
            gatherer.stored, gatherer.stored_s = [], 0.0
            self._feed(me, waiting[is_own].tolist())
            self._turn(me)
        self._at(self._now + HAND_OVER_S, self._take_over, moving, free_at)

    def _take_over(self, pages: list[int], free_at: dict[str, float]) -> None:
        """The new owners have these pages, and know when their hosts may be asked again."""
        owners = self._owners[pages]
        for me in np.unique(owners).tolist():
            own = [page for page, owner in zip(pages, owners.tolist()) if owner == me]
            window = self._gatherers[me].window
            for name in {self._names[self._web.host_of[page]] for page in own}:
                pace = window.host(name).pace
                pace.next_at = max(pace.next_at, free_at.get(name, 0.0))
            self._feed(me, own)
            self._turn(me)
