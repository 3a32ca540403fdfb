"""One term of a leader: each step reads the board and does the first thing of this table that applies.

    no charter on the board               →  put back the crawl that this process knows
    the crawl stops, or is done           →  nothing
    this process knows a newer plan       →  put it back on the board
    a member knows a newer plan           →  wait: that member puts it back
    no plan, or one of the last session   →  publish the first plan
    the pages that may be stored are used →  the crawl is stopped (`page_budget`); otherwise shares are handed out
    a gatherer is missing or blank        →  ask for a ghost, or plan without the gatherer (`liveness`)
    the plan is not committed             →  commit it when all have settled
    all were passive in two snapshots     →  the crawl is done
    all have waited for a long time       →  the crawl is stuck: it is stopped
    otherwise                             →  rebalance, if there is a reason (`rebalance_rounds`)

Invariant: a plan is published only if the one before is committed (or as a recovery), so hand-overs never pile up.
A term keeps nothing that the next leader would need: all of that is on the board.
"""

import msgspec

from gcs.core.messages import termination
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, LeaderLease, MemberState, Seeds
from gcs.core.plan.host_limits import of_hosts
from gcs.core.plan.next_plan import first_plan, renewed
from gcs.core.plan.plan import ExchangeMode, Plan
from gcs.core.tree import tree
from gcs.core.url.sortkey import host_of_key, sort_key
from gcs.core.url.sources import is_source
from gcs.events import Events
from gcs.ports.space.crawl_control import put_back
from gcs.ports.space.port import SEEDS_INBOX
from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.fenced_board import BoardView, FencedBoard
from gcs.roles.leader.liveness import Liveness, missing
from gcs.roles.leader.page_budget import PageBudget
from gcs.roles.leader.rebalance_rounds import RebalanceRounds

#: seconds that the first plan waits for the members that are expected
FIRST_WAIT_S = 3.0
#: states of a crawl in which the leader does nothing
OVER = frozenset({CrawlState.STOPPING, CrawlState.DONE})
#: the state in which gatherers end when they are stopped because nothing goes on
STUCK = "stuck"

events = Events("leader")


class Term:
    """The decisions of the elected leader, for as long as its lease holds."""

    def __init__(self, board: FencedBoard, config: LeaderConfig) -> None:
        self._board, self._config = board, config
        self._liveness = Liveness(board, config.settings, config.ghost)
        self._rounds = RebalanceRounds(board, config)
        self._budget = PageBudget(board, config)
        #: the team as it was at the last step, if it was passive: a second, equal snapshot ends the crawl
        self._snapshot: termination.TeamSnapshot | None = None
        #: since when everybody waits for others
        self._still: termination.Standstill | None = None
        self._waits_since: float | None = None
        self._is_awaiting = True

    @property
    def is_awaiting(self) -> bool:
        """Whether the next step may be due at once: for the first plan, replies, a commit, or the end."""
        return self._is_awaiting or self._rounds.is_asking or self._snapshot is not None

    @property
    def leader(self) -> LeaderLease:
        """The lease under which this term posts."""
        return self._board.leader

    async def step(self) -> None:
        """Do the next thing; DeposedError if another candidate leads, or nobody."""
        view = await self._board.view()
        if not view.has_charter and (crawl := self._config.known_crawl()):
            if await put_back(self._board.space, *crawl):
                events.warning("charter-restored")
            view = await self._board.view()
        snapshot, self._snapshot = self._snapshot, None
        self._is_awaiting = view.posted is None or not view.posted.committed
        if view.state in OVER or await self._end_if_stuck(view):
            pass
        elif newer := self._board.known.newer_than(view.posted):
            await self._board.restore(newer)
            events.warning("restored", epoch=newer.epoch)
        elif any(member.epoch > view.epoch for member in view.members.values()):
            pass
        elif view.posted is None or self._is_of_last_session(view):
            await self._publish_first(view)
        elif await self._budget.step(view):
            pass
        elif await self._liveness.step(view):
            self._rounds.abandon()
        elif not view.posted.committed:
            self._rounds.abandon()
            if _is_settled(view):
                await self._board.commit(view.posted)
                events.info("committed", epoch=view.epoch)
        elif not await self._end_if_over(view, snapshot):
            await self._rounds.step(view)

    async def _end_if_stuck(self, view: BoardView) -> bool:
        """Stop a crawl in which everybody waits for others, for good; True if it was. Whoever is missing may return."""
        posted = view.posted
        board = (view.epoch, posted is not None and posted.committed, view.state, view.seeds)
        later = termination.still(view.members.values(), board, view.now)
        earlier, self._still = self._still, later
        if view.decoded is not None and missing(view):
            self._still = None
            return False
        if view.state is CrawlState.PAUSED or earlier is None or later is None or earlier.members != later.members:
            return False
        self._still = earlier
        if not earlier.is_lasting(later, self._config.settings.recover_s):
            return False
        why = termination.why_stuck(view.members.values())
        await self._board.post(Control(CrawlState.STOPPING, self.leader.gatherer, STUCK, why))
        events.warning("stuck", epoch=view.epoch, reason=why)
        return True

    def _is_of_last_session(self, view: BoardView) -> bool:
        """Whether the plan on the board is that of an earlier session, and nothing of it is under way any more."""
        blank = any(member.state == MemberState.BLANK for member in view.members.values())
        return view.plan.session < self._config.session and view.is_committed and not blank

    async def _publish_first(self, view: BoardView) -> None:
        """Publish the first plan when the expected members are there, or have not come for a while."""
        if not view.active:
            return
        if self._waits_since is None:
            self._waits_since = view.now
        waited_s = view.now - self._waits_since
        if waited_s < (FIRST_WAIT_S if len(view.active) < self._config.expected else self._config.settings.hearing_s):
            return
        plan = await self._board.publish(self._first_plan(view), view, "first", above=await self._forgotten_epochs())
        self._waits_since = None
        events.info("planned", epoch=plan.epoch, superpages=len(plan.cuts), moved=0, reason=f"session {plan.session}")

    async def _forgotten_epochs(self) -> int:
        """Epochs that a board without a plan may have forgotten, which gatherers that are away may follow.

        Plans are seconds apart, and first plans longer than a heartbeat: there were fewer of them than heartbeats.
        """
        crawl = self._config.known_crawl()
        begun_at = crawl[0].begun_at if crawl else 0.0
        age_s = await self._board.space.time() - begun_at
        return max(0, int(age_s / self._config.settings.beat_s)) if begun_at else 0

    def _first_plan(self, view: BoardView) -> Plan:
        """The first plan of the session. A gatherer of the old plan that is not here leaves: its ghost hands over."""
        config, old, active = self._config, view.decoded, view.active
        known = {name: view.members[name].figures.get("known", 0.0) for name in active}
        heir = max(active, key=lambda name: known[name])
        if config.blueprint:
            from gcs.core.plan.blueprint import Blueprint  # it loads numpy, and most members never lead

            is_independent = config.settings.coordination == "independent"
            mode = ExchangeMode.INDEPENDENT if is_independent else ExchangeMode(config.settings.mode)
            plan = Blueprint.decode(config.blueprint).plan(active, mode, config.session, old)
            if old is None and config.session == 1 and known[heir]:
                return msgspec.structs.replace(plan, lost=())  # one gatherer has begun alone, and hands over
        elif old is not None:
            plan = renewed(old, active, config.session)
        else:
            cuts = tree.parse(config.settings.expansion)
            if len(cuts) == 1 and (crawl := config.known_crawl()):  # the hosts of the seeds are known before any page
                hosts = [host_of_key(sort_key(url)) for url in crawl[0].seeds if not is_source(url)]
                cuts = of_hosts(hosts, config.settings.delta * len(active)) if hosts else cuts
            first = first_plan(active, cuts, config.settings, heir if known[heir] else None)
            plan = msgspec.structs.replace(first, session=config.session)
        absent = tuple(name for name in old.gatherers if name not in active) if old else ()
        return msgspec.structs.replace(plan, leavers=absent)

    async def _end_if_over(self, view: BoardView, earlier: termination.TeamSnapshot | None) -> bool:
        """End the crawl if the whole team is passive in two snapshots; True if it has ended."""
        if view.state is CrawlState.PAUSED:
            return False
        later = termination.look(view.members.values(), view.epoch, view.seeds)
        self._snapshot = earlier if earlier and later and earlier.is_same(later) else later
        if earlier is None or later is None or not earlier.is_confirmed_by(later):
            return False
        if await self._board.space.count(template(Seeds), at=SEEDS_INBOX):
            return False
        await self._board.post(Control(CrawlState.DONE, self.leader.gatherer, "all that is known is fetched"))
        events.info("done", epoch=view.epoch)
        return True


def _is_settled(view: BoardView) -> bool:
    """Whether everything that the plan moves is handed over."""
    gatherers, leavers = view.plan.gatherers, view.plan.leavers
    settled = {name for name, member in view.members.items() if member.settled_epoch >= view.epoch}
    # a leaver has nothing left to send, or has said good-bye
    ready = view.gone | {name for name in settled if view.members[name].passive}
    return settled.issuperset(set(gatherers) - set(leavers)) and ready.issuperset(leavers)
