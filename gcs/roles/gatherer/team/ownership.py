"""Ownership: which ranges of the key space a gatherer owns, and which of them change hands.

A plan, a block, a part of a range: each has an effect on the frontier, and something to be sent on. This module says
which; `team_member` says when it happens and when it becomes durable.

    router       own or foreign?               hand_overs   ranges on their way
    stats        counts, for the leader        recovery     what lost ranges held

Invariant: every URL that arrives ends in the frontier, held, or in the outbox.
"""

import time
from collections.abc import Callable, Iterator
from random import Random

from gcs.core.messages.tuples import Finds, HandOver, Seeds, UrlBlock
from gcs.core.page.values import PageRecord
from gcs.core.plan.keyspace import EVERYTHING
from gcs.core.plan.plan import Plan
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY, sort_key
from gcs.ports.frontier import Entry
from gcs.ports.frontier.entry import short
from gcs.roles.gatherer.membership import GathererPort, MemberContext
from gcs.roles.gatherer.team.block_exchange import BlockExchange, Incoming, Outgoing
from gcs.roles.gatherer.team.hand_over import PART_URLS, HandOvers, queued
from gcs.roles.gatherer.team.range_recovery import RangeRecovery
from gcs.roles.gatherer.team.router import CQueue, Router, Tolerance
from gcs.roles.gatherer.team.superpage_stats import SuperpageStats

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
        self._hand_overs = HandOvers(self._me, self._frontier)
        self.router = Router(self._me, self._frontier, self._c_queue, self._hand_overs, port.traffic)
        with_links = context.settings.partition == "links"
        self.stats = SuperpageStats(self._me, self._frontier, Random(self._me), links=with_links)
        self._recovery = RangeRecovery(self._me, self._frontier, records, port.admission)
        #: others', of the last session; filled by step, emptied into the outbox, at the latest by before_commit
        self._revisits: dict[str, list[Entry]] = {}
        #: a session has begun for us, and its first plan was not committed when we looked last
        self.is_beginning = False
        self._clock = time.monotonic

    def restore(self, plan: Plan | None) -> None:
        """Go on as the last commit left it."""
        if plan:
            self._c_queue.restore(self._frontier.note(C_QUEUE_NOTE))
            self.router.adopt(plan)
            self.stats.resume(plan)
            self.is_beginning = plan.epoch == self._port.recrawl.epoch and self._me in plan.gatherers
        self._hand_overs.restore(self._frontier.note(NOTE), plan)

    @property
    def is_leaving(self) -> bool:
        """Whether the frontier still holds URLs that are no longer ours, and not in flight."""
        return self._hand_overs.is_leaving

    @property
    def is_settled(self) -> bool:
        """Nothing is changing hands, nothing is looked for, and what we know is with those who have to know it.

        That is the last session where one begins, and what we stored of ranges that are lost.
        """
        if not (self._hand_overs.is_settled and self._recovery.is_done):
            return False
        plan, recrawl = self.router.plan, self._port.recrawl
        tells = plan is not None and (plan.epoch == recrawl.epoch or plan.lost)
        return recrawl.is_done and not (tells and (self._revisits or self._exchange.has_parts))

    def adopt(self, old: Plan | None, plan: Plan) -> list[Entry]:
        """Go over to a plan; returns what was on its way to others and is ours now."""
        self._port.dispatcher.put_back()
        if old is not None:
            self._send_revisits(old, *self._revisits)
        ours = self.router.adopt(plan)
        if plan.session > self._port.recrawl.session:
            return self._begin_session(plan, ours)
        self._hand_overs.adopt(old, plan)
        self._exchange.recall(plan.gatherers)
        if old is not None:
            self._note_losses(old, plan)
        self.stats.adopt(plan)
        return self.router.route(ours)

    def committed(self) -> list[Entry]:
        """Everybody follows the plan, and has told what it knows: what was lost can begin.

        Returns hot pages of ours that the last session did not leave to us, since it has forgotten them: nobody else
        will name them.
        """
        if self._hand_overs.is_closed:
            self._hand_overs.open()
        plan = self.router.plan
        if not self.is_beginning or plan is None:
            return []
        self.is_beginning = False
        mine = (url for url in plan.hot_pages if plan.owner_of(sort_key(url)) == self._me)
        return [Entry(url) for url in mine if self._frontier.mark(url) is None]

    def accept(self, item: Incoming, plan: Plan, now: float) -> list[Entry]:
        """Take in a tuple of another gatherer; returns entries for the frontier, the rest is sent on."""
        match item:
            case Seeds():
                return self._accept_seeds(item)
            case UrlBlock():
                return self.router.forward([self.router.received(link) for link in item.links])
            case HandOver():
                return self._accept_part(item, plan, now)

    def _accept_seeds(self, seeds: Seeds) -> list[Entry]:
        worth = self._frontier.order.seed
        self._frontier.ledger.issued += worth * len(seeds.urls)
        return self.router.forward([Entry(url, worth=worth) for url in seeds.urls])

    def _accept_part(self, part: HandOver, plan: Plan, now: float) -> list[Entry]:
        if part.epoch < self._port.recrawl.epoch:  # of the last session: what was finished then is not now
            part = HandOver(part.epoch, part.low, part.high, False, part.queued)
        got, ledger = self._hand_overs.receive(part, plan), self._frontier.ledger
        ledger.received += sum(each.worth for each in part.queued)
        ledger.sent += sum(each.worth for _, onward in got.onward for each in onward.queued)
        self._port.traffic.moved_urls += got.moved
        self.stats.received([key for key, _ in part.seen])
        self._exchange.send(got.onward)
        dispatcher = self._port.dispatcher
        if part.last:
            dispatcher.take_over(part.hosts, now)
        if got.dealt_with:
            dispatcher.put_back()
            flying = {short(sort_key(url)) for url in dispatcher.open}
            for key, mark in got.dealt_with.items():
                if key not in flying:
                    self._frontier.moving.give_up(key, mark)
        return got.entries

    def accept_back(self, item: Outgoing, plan: Plan, now: float) -> list[Entry]:
        """A block or part that did not reach its destination: share it out anew."""
        match item:
            case UrlBlock():
                return self.router.route(self.router.redirect(item.links))
            case HandOver():
                return self._accept_part(item, plan, now)
            case Finds():
                raise AssertionError("finds go to a seed-server, and a team has none")

    def step(self, plan: Plan, now: float) -> list[Entry]:
        """Some of what takes many turns: take up, hand over, release what was held, count, look back."""
        taken_up = self._renew(plan)
        self._hand_over(plan, now)
        released = self._hand_overs.released()
        new = self.router.forward(released)
        links, marks = self._recovery.step(plan)
        if marks:
            seen = [(key, mark.value.decode()) for key, mark in marks]
            new += self._accept_part(HandOver(plan.epoch, FIRST_KEY, LAST_KEY, False, [], seen), plan, now)
        new += self.router.route(links)
        if self.stats.step() or released or not self._recovery.is_done:
            self._port.wake()
        return new + taken_up

    def before_commit(self) -> None:
        """Put what leaves into the outbox, so that the commit holds it."""
        if self._c_queue.is_due(self._clock(), self._port.dispatcher.has_plenty):
            self._exchange.send(self.router.close_blocks())
        if self._revisits and self.router.plan:
            self._send_revisits(self.router.plan, *self._revisits)
        self._frontier.set_note(C_QUEUE_NOTE, self._c_queue.encode())
        self._frontier.set_note(NOTE, self._hand_overs.encode())

    def _hand_over(self, plan: Plan, now: float) -> None:
        if not self._hand_overs.is_losing:
            return
        dispatcher, room = self._port.dispatcher, self._exchange.room_for_parts
        was_leaving = self._hand_overs.is_leaving
        parts = list(self._hand_overs.progress(plan.epoch, room, dispatcher.open, lambda: dispatcher.host_states(now)))
        self._exchange.send(parts)
        if self._hand_overs.is_leaving and room > 0:
            self._port.wake()
        elif was_leaving or any(part.queued for _, part in parts):
            # the window was filled while some of the frontier was no longer ours; or it holds what was in flight, had
            # to be asked for again, and has left just now
            dispatcher.put_back()

    def _begin_session(self, plan: Plan, ours: list[Entry]) -> list[Entry]:
        """Nothing changes hands as in the midst of a session: everybody takes up what it has, and shares it out."""
        self._hand_overs.begin(plan)
        self._exchange.recall(plan.gatherers)
        allowed = self._port.begin_session(plan.session, plan.epoch)
        self._recovery.end()
        self.stats.resume(plan)
        self.is_beginning = self._me in plan.gatherers
        return self.router.route(ours) + self._share_out(allowed, plan)

    def _renew(self, plan: Plan) -> list[Entry]:
        """Some of what the last session left: ours are returned, the others' are on their way."""
        recrawl = self._port.recrawl
        if recrawl.is_done or self._exchange.room_for_parts <= 0:
            return []
        mine = self._share_out(recrawl.step(lambda key: plan.owner_of(key) == self._me), plan)
        self._port.wake()
        return mine

    def _share_out(self, entries: list[Entry], plan: Plan) -> list[Entry]:
        """What is known from the last session: returns ours; the others' go to their owners, whatever the mode is."""
        mine: list[Entry] = []
        for entry in entries:
            owner = plan.owner_of(sort_key(entry.url))
            if owner == self._me:
                mine.append(entry)
                continue
            theirs = self._revisits.setdefault(owner, [])
            theirs.append(entry)
            if len(theirs) >= PART_URLS:
                self._send_revisits(plan, owner)
        return mine

    def _send_revisits(self, plan: Plan, *owners: str) -> None:
        parts = ((owner, self._revisits.pop(owner)) for owner in owners)
        self._exchange.send(
            (owner, HandOver(plan.epoch, FIRST_KEY, LAST_KEY, False, [queued(entry) for entry in entries]))
            for owner, entries in parts
        )

    def _note_losses(self, old: Plan, plan: Plan) -> None:
        """What owners were told that are gone with their disks is to be told again."""
        lost = plan.lost
        if self._me in old.gatherers and self._me not in (*plan.gatherers, *plan.leavers):
            lost = EVERYTHING  # we were given up: who knows what else was, meanwhile
        for low, high in lost if self._me in old.gatherers else EVERYTHING:
            self._frontier.exchange.forget_posts(low, high, plan.ground)
        if lost:
            self._recovery.begin(lost)
