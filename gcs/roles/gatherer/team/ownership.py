"""Ownership: which ranges of the key space a gatherer owns, and which of them change their owner.

A plan, a block or a part of a range changes the frontier, and causes tuples to be sent. This module says how;
`team_member` says when that happens and when it becomes durable.

    router       own or foreign?               hand_overs   ranges on their way
    stats        counts, for the leader        recovery     what lost ranges held

Invariant: every URL that arrives ends in the frontier, held, or in the outbox.
"""

import time
from collections.abc import Callable, Iterator
from random import Random

import msgspec

from gcs.core.messages.tuples import Finds, HandOver, Seeds, UrlBlock
from gcs.core.ordering import BEHIND
from gcs.core.page.values import PageRecord
from gcs.core.plan import keyspace
from gcs.core.plan.keyspace import EVERYTHING
from gcs.core.plan.plan import ExchangeMode, Plan
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY, sort_key
from gcs.ports.frontier.url_rows import short
from gcs.roles.gatherer.membership import GathererPort, MemberContext
from gcs.roles.gatherer.team.block_exchange import BlockExchange, Incoming, Outgoing
from gcs.roles.gatherer.team.hand_over import PART_URLS, RELEASE_URLS, HandOvers, InFlight
from gcs.roles.gatherer.team.range_recovery import RangeRecovery
from gcs.roles.gatherer.team.router import CQueue, Router, Tolerance
from gcs.roles.gatherer.team.superpage_stats import SuperpageStats

#: foreign URLs that are fetched in cross-over mode before own ones are looked for again
ABROAD_URLS = 100

NOTE, C_QUEUE_NOTE = "hand-overs", "c-queue"


class Ownership:
    """The ranges of one gatherer."""

    def __init__(
        self,
        context: MemberContext,
        port: GathererPort,
        exchange: BlockExchange,
        records: Callable[[], Iterator[PageRecord]],
    ) -> None:
        self._me, self._frontier, self._exchange, self._port = context.name, context.frontier, exchange, port
        self.superstep = Tolerance.of(context.settings)
        self._c_queue = CQueue(self.superstep)
        self.hand_overs = HandOvers(self._me, self._frontier)
        self.router = Router(self._me, self._frontier, self._c_queue, self.hand_overs, port.traffic)
        team = context.settings
        self.stats = SuperpageStats(self._me, self._frontier, Random(self._me), team.looks_at_links, team.tokens)
        self._recovery = RangeRecovery(self._me, self._frontier, records, port.admission)
        #: foreign URLs of the last session, by owner; filled by _share_out, emptied by _send_revisits
        self._revisits: dict[str, list[QueuedUrl]] = {}
        #: a session has begun here, and its first plan was not committed by all when last read
        self.is_beginning = False
        self._clock = time.monotonic

    def restore(self, plan: Plan | None) -> None:
        """Continue as the last commit left it."""
        if plan:
            self._c_queue.restore(self._frontier.note(C_QUEUE_NOTE))
            self.router.adopt(plan)
            self.stats.resume(plan)
            self.is_beginning = plan.epoch == self._port.recrawl.epoch and self._me in plan.gatherers
        self.hand_overs.restore(self._frontier.note(NOTE), plan)

    @property
    def is_settled(self) -> bool:
        """Whether no range is on its way, no recovery is under way, and others have all that they need from here.

        That is: the URLs of the last session, if a session begins; and what is stored here of ranges that are lost.
        """
        if not (self.hand_overs.is_settled and self._recovery.is_done):
            return False
        plan, recrawl = self.router.plan, self._port.recrawl
        tells = plan is not None and (plan.epoch == recrawl.epoch or plan.lost)
        return recrawl.is_done and not (tells and (self._revisits or self._exchange.has_parts))

    @property
    def is_at_work(self) -> bool:
        """Whether ranges are searched for or handed over, as far as others leave room for that."""
        is_sending = self.hand_overs.is_handing_over and self._exchange.room_for_parts > 0
        return not self._recovery.is_done or is_sending or bool(self._revisits)

    def adopt(self, old: Plan | None, plan: Plan) -> list[QueuedUrl]:
        """Go over to a plan; returns entries that were on their way to others and are now for this frontier."""
        self._port.dispatcher.put_back()
        if old is not None:
            self._send_revisits(old, *self._revisits)
        own = self.router.adopt(plan)
        if plan.session > self._port.recrawl.session:
            return self._begin_session(plan, own)
        self.hand_overs.adopt(old, plan)
        for part in self.hand_overs.withdraw(self._port.dispatcher.open):
            own += self._accept_part(part, plan, self._port.clock())
        self._exchange.recall(plan.gatherers)
        if old is not None:
            self._recover_lost(old, plan)
        self.stats.adopt(plan)
        return self.router.route(own) + (self._lost_seeds(plan) if old is None else [])

    def _lost_seeds(self, plan: Plan) -> list[QueuedUrl]:
        """The seeds in own ranges that nobody knows: the whiteboard may have lost the tuple that brought them."""
        keys = ((url, sort_key(url)) for url in self._port.admission.seeds) if plan.lost else ()
        mine = [url for url, key in keys if plan.owner_of(key) == self._me]
        return self._seeds([url for url in mine if keyspace.contains(plan.lost, plan.keyspace.place(sort_key(url)))])

    def committed(self) -> list[QueuedUrl]:
        """All gatherers follow the plan, and have told what they know: ranges that were lost can begin.

        Returns own hot pages that are not known here after a session began: no other gatherer will post them.
        """
        if self.hand_overs.is_closed:
            self.hand_overs.open()
        plan = self.router.plan
        if not self.is_beginning or plan is None:
            return []
        self.is_beginning = False
        mine = (url for url in plan.hot_pages if plan.owner_of(sort_key(url)) == self._me)
        return [QueuedUrl(url) for url in mine if self._frontier.mark(url) is None]

    def accept(self, item: Incoming, plan: Plan, now: float) -> list[QueuedUrl]:
        """Take in a tuple of another gatherer; returns entries for the frontier. Foreign ones are sent on."""
        match item:
            case Seeds():
                return self._accept_seeds(item)
            case UrlBlock():
                return self.router.forward([self.router.received(link) for link in item.links])
            case HandOver():
                return self._accept_part(item, plan, now)

    def _accept_seeds(self, seeds: Seeds) -> list[QueuedUrl]:
        return self.router.forward(self._seeds(seeds.urls))

    def _seeds(self, urls: list[str]) -> list[QueuedUrl]:
        """Seeds to be queued, with what a seed is worth."""
        worth = self._frontier.order.seed
        self._frontier.ledger.issued += worth * len(urls)
        return [QueuedUrl(url, worth=worth) for url in urls]

    def _accept_part(self, part: HandOver, plan: Plan, now: float) -> list[QueuedUrl]:
        if part.epoch < self._port.recrawl.epoch:  # of the last session, whose finished URLs are not finished now
            part = HandOver(part.epoch, part.low, part.high, False, part.queued)
        got, ledger = self.hand_overs.receive(part, plan), self._frontier.ledger
        ledger.received += sum(each.worth for each in part.queued)
        ledger.sent += sum(each.worth for _, onward in got.onward for each in onward.queued)
        self._port.traffic.moved_urls += got.moved
        self.stats.received([key for key, _ in part.seen])
        self._exchange.send(got.onward)
        dispatcher = self._port.dispatcher
        if part.hosts or part.last:
            dispatcher.take_over(part.hosts, now)
        if got.dealt_with:
            dispatcher.put_back()
            flying = {short(sort_key(url)) for url in dispatcher.open}
            for key, mark in got.dealt_with.items():
                if key not in flying:
                    self._frontier.range_moves.give_up(key, mark)
        return got.entries

    def accept_back(self, item: Outgoing, plan: Plan, now: float) -> list[QueuedUrl]:
        """Send an undelivered block or part to the present owners; returns entries for the frontier."""
        match item:
            case UrlBlock():
                return self.router.route(self.router.redirect(item.links))
            case HandOver():
                return self._accept_part(item, plan, now)
            case Finds():
                raise AssertionError("only clients of a seed-server send Finds")

    def step(self, plan: Plan, now: float) -> list[QueuedUrl]:
        """Go on with work that takes many turns: recrawl, hand-over, release of held entries, statistics, recovery."""
        revisited = self._recrawl_step(plan)
        self._hand_over(plan, now)
        released = self.hand_overs.released()
        new = self.router.forward(released)
        links, marks = self._recovery.step(plan)
        if marks:
            seen = [(key, mark.value.decode()) for key, mark in marks]
            new += self._accept_part(HandOver(plan.epoch, FIRST_KEY, LAST_KEY, False, [], seen), plan, now)
        new += self.router.route(links)
        if self.stats.step() or released or not self._recovery.is_done:
            self._port.request_turn()
        return new + revisited

    def abroad(self, plan: Plan, *, leaves: bool) -> list[QueuedUrl]:
        """Some of what was set aside in cross-over mode: to be fetched here, if nothing else is left to do.

        Or, if this gatherer goes or the mode is another one by now, to be routed.
        """
        tables = self._frontier.team_tables
        if not tables.has_aside:
            return []
        if leaves or plan.mode is not ExchangeMode.CROSS_OVER:
            return self.router.forward(tables.take_aside(RELEASE_URLS))
        if not self._port.is_quiet():
            return []
        self._port.request_turn()
        return [msgspec.structs.replace(entry, priority=BEHIND) for entry in tables.take_aside(ABROAD_URLS)]

    def before_commit(self, sends: bool | None = None) -> None:
        """Put what leaves into the outbox, so that the commit holds it. `sends`: whether it is time, by the barrier."""
        is_over = self._c_queue.tick(self._clock(), self._port.dispatcher.has_plenty)
        if self._c_queue and (is_over if sends is None else sends):
            self._exchange.send(self.router.close_blocks())
        if self._revisits and self.router.plan:
            self._send_revisits(self.router.plan, *self._revisits)
        self._frontier.set_note(C_QUEUE_NOTE, self._c_queue.encode())
        self._frontier.set_note(NOTE, self.hand_overs.encode())

    def _hand_over(self, plan: Plan, now: float) -> None:
        if not self.hand_overs.is_handing_over:
            return
        dispatcher, room = self._port.dispatcher, self._exchange.room_for_parts
        had_foreign_urls = self.hand_overs.has_foreign_urls
        flying = InFlight(dispatcher.open, dispatcher.asked_origins)
        parts = list(self.hand_overs.progress(plan.epoch, room, flying, lambda: dispatcher.host_states(now)))
        self._exchange.send(parts)
        if self.hand_overs.has_more and room > 0:
            self._port.request_turn()
        has_left = had_foreign_urls or any(part.queued for _, part in parts)
        if has_left and not self.hand_overs.has_foreign_urls:
            # the window may hold URLs that have just left: it was filled before they did, or they were in flight and
            # had to be requested again
            dispatcher.put_back()

    def _begin_session(self, plan: Plan, own: list[QueuedUrl]) -> list[QueuedUrl]:
        """No ranges are handed over when a session begins: each gatherer sends the URLs that it has to their owners."""
        self.hand_overs.begin(plan)
        self._exchange.recall(plan.gatherers)
        allowed = self._port.begin_session(plan.session, plan.epoch)
        self._recovery.end()
        self.stats.resume(plan)
        self.is_beginning = self._me in plan.gatherers
        return self.router.route(own) + self._share_out(allowed, plan)

    def _recrawl_step(self, plan: Plan) -> list[QueuedUrl]:
        """Some URLs of the last session: returns the own ones; foreign ones are on their way to their owners."""
        recrawl = self._port.recrawl
        if recrawl.is_done or self._exchange.room_for_parts <= 0:
            return []
        self._port.request_turn()
        return self._share_out(recrawl.step(lambda key: plan.owner_of(key) == self._me), plan)

    def _share_out(self, entries: list[QueuedUrl], plan: Plan) -> list[QueuedUrl]:
        """Divide URLs of the last session: returns the own ones; foreign ones go to their owners, in every mode."""
        mine: list[QueuedUrl] = []
        for entry in entries:
            owner = plan.owner_of(sort_key(entry.url))
            if owner == self._me:
                mine.append(entry)
                continue
            revisits = self._revisits.setdefault(owner, [])
            revisits.append(entry)
            if len(revisits) >= PART_URLS:
                self._send_revisits(plan, owner)
        return mine

    def _send_revisits(self, plan: Plan, *owners: str) -> None:
        parts = ((owner, self._revisits.pop(owner)) for owner in owners)
        self._exchange.send(
            (owner, HandOver(plan.epoch, FIRST_KEY, LAST_KEY, False, entries)) for owner, entries in parts
        )

    def _recover_lost(self, old: Plan, plan: Plan) -> None:
        """Owners are lost with their disks: post again what was posted to them, and begin to recover their ranges."""
        lost = plan.lost
        if self._me in old.gatherers and self._me not in (*plan.gatherers, *plan.leavers):
            lost = EVERYTHING  # this gatherer was counted as lost; other ranges may have been lost meanwhile
        for low, high in lost if self._me in old.gatherers else EVERYTHING:
            self._frontier.team_tables.forget_posts(low, high, plan.keyspace)
        if lost:
            self._recovery.begin(lost)
