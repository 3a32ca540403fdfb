"""Rebalance rounds: a reason is found, the gatherers are asked for their statistics, and a plan is made of them.

    considering  ── a reason, or a survey is due ──►  asking  ── all have replied, or time is up ──►  deciding
         ▲                                                                                               │
         └──────────────────────── published, or not worth publishing ◄──────────────────────────────────┘

A survey asks without a reason, less and less often: rates show whether others would be better owners, and the hot pages
are learned from it. Calls are held, unacked, until their round is decided: if this leader dies, the next one gets them.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Announcement, CrawlState, ProbeList, RebalanceCall, StatisticsReply
from gcs.core.plan.next_plan import Draft, TeamMembers, evidence_of, hot_pages, refreshed
from gcs.core.plan.plan import Plan
from gcs.core.plan.probes import to_probe
from gcs.core.plan.triggers import LEAST_MOVE, RebalancePace, TeamState, is_forced, reason
from gcs.events import Events
from gcs.ports.space.port import LEADER_INBOX, Taken
from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.fenced_board import LEAVING, BoardView, FencedBoard

#: beats that all replies may take, and that each member adds to them
REPLY_BEATS, REPLY_BEATS_EACH = 6, 1
#: calls taken at a time
MOST_CALLS = 64
#: the reason of a round that has none
SURVEY = "survey"

events = Events("leader")


@dataclass(frozen=True, slots=True)
class _Round:
    number: int
    why: str
    until: float


class RebalanceRounds:
    """The rounds of one term. Steps only while the plan on the board is committed and nobody is missing."""

    def __init__(self, board: FencedBoard, config: LeaderConfig) -> None:
        self._board, self._config, self._settings = board, config, config.settings
        self._pace = RebalancePace.begin(board.clock(), config.settings)
        self._epoch = 0
        self._open: _Round | None = None
        #: whose way all have been asked to measure
        self._origins: tuple[str, ...] = ()
        #: filled by considering; emptied when their round is decided
        self._calls: list[Taken[Any]] = []

    @property
    def is_asking(self) -> bool:
        """Whether replies are waited for."""
        return self._open is not None

    def abandon(self) -> None:
        """Drop the open round: the team has changed since its announcement."""
        self._open = None

    async def step(self, view: BoardView) -> None:
        """Ask, collect or decide."""
        if view.epoch != self._epoch:
            self._epoch, self._pace = view.epoch, self._pace.planned(view.now)
        if self._open is None:
            await self._consider(view)
        elif (replies := await self._replies(view, self._open)) is not None:
            opened, self._open = self._open, None
            await self._decide(view, opened.why, replies)

    async def _consider(self, view: BoardView) -> None:
        """Announce a round if there is a reason, or a survey is due."""
        self._calls += await self._board.space.take_many([template(RebalanceCall)], at=LEADER_INBOX, limit=MOST_CALLS)
        state = self._state(view)
        why = reason(state, self._settings, self._pace, view.now, self._config.trigger)
        if not why and len(state.active) > 1 and not state.paused and self._pace.is_survey_due(view.now):
            why = SURVEY
        if not why:
            return
        last = await self._board.space.read(template(Announcement))
        number = await self._board.space.ticket("round", last.round if last else 0)
        await self._board.post(Announcement(number, self._board.leader.term, why))
        beats = REPLY_BEATS + REPLY_BEATS_EACH * len(view.members)
        self._open = _Round(number, why, view.now + beats * self._settings.beat_s)
        events.info("announced", round=number, reason=why)

    async def _replies(self, view: BoardView, opened: _Round) -> list[StatisticsReply] | None:
        """The replies, once all are there or the time is up; else None."""
        replies = await self._board.space.scan(template(StatisticsReply, round=opened.number))
        owners = {view.plan.gatherers[owner] for owner in view.plan.owners}
        silent = {*view.active, *owners} - {reply.gatherer for reply in replies if reply.epoch == view.epoch}
        return None if silent and view.now < opened.until else replies

    async def _decide(self, view: BoardView, why: str, replies: list[StatisticsReply]) -> None:
        """Publish the plan that follows from the replies, if it is worth it."""
        state, pace = self._state(view), self._pace
        if not state.active:
            return
        # seconds of arithmetic in a large team: the gatherer in this process goes on meanwhile
        draft, hot, origins = await asyncio.to_thread(self._draft, view, why == SURVEY, replies)
        if origins and origins != self._origins:
            self._origins = origins
            await self._board.post(ProbeList(self._board.leader.term, list(origins)))
        if why == SURVEY:
            self._pace = pace.surveyed(view.now, self._settings)
            why = reason(replace(state, locality=draft.locality), self._settings, pace, view.now)
            if not why.startswith("locality"):
                why, draft = "", Draft(view.plan, 0.0)
        if why:
            left = sum(state.left().values())
            self._pace = pace.decided(why, view.now, self._settings, moved=draft.moved, left=left)
        plan: Plan | None = None
        if is_forced(why) or draft.moved >= LEAST_MOVE:
            plan = draft.plan
        elif _is_news(view.plan.hot_pages, hot):
            plan = refreshed(view.plan, hot)
        if plan is not None:
            moved = round(draft.moved, 3) if plan is draft.plan else 0.0
            plan = await self._board.publish(plan, view, why or SURVEY, moved)
            if not plan.moves:  # nobody is disturbed: the next rebalance need not wait for this one
                self._epoch = plan.epoch
            events.info("planned", epoch=plan.epoch, superpages=len(plan.cuts), moved=moved, reason=why or SURVEY)
        else:
            events.debug("kept", epoch=view.epoch, reason=why)
        calls, self._calls = self._calls, []
        await self._board.space.ack(calls)

    def _draft(
        self, view: BoardView, survey: bool, replies: list[StatisticsReply]
    ) -> tuple[Draft, tuple[str, ...], tuple[str, ...]]:
        """A plan that may follow, the hot pages, and hosts to which all should measure the way."""
        from gcs.core.plan.rebalance import make_plan  # it loads numpy, and most members never lead

        evidence = evidence_of(view.plan, replies, view.members, self._config.limits, self._config.random)
        team = TeamMembers(view.active, self._state(view).leaving)
        hot = hot_pages(view.plan, evidence, self._settings.hot_pages)
        if survey and view.plan.static:
            return Draft(view.plan, 0.0), hot, ()
        origins = () if view.plan.static else to_probe(evidence.statistics, self._settings.probes)
        return make_plan(view.plan, team, evidence, self._settings, fresh=survey), hot, origins

    def _state(self, view: BoardView) -> TeamState:
        members, parties = view.members, view.plan.gatherers
        return TeamState(
            plan=view.plan,
            active=tuple(members[name] for name in view.active),
            leaving=tuple(sorted(name for name in parties if members[name].state in LEAVING)),
            asked="; ".join(sorted({f"{call.item.by} {call.item.reason}".strip() for call in self._calls})),
            paused=view.state is CrawlState.PAUSED,
        )


def _is_news(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Whether enough of the hot pages are new to tell everyone."""
    return 10 * len(set(new) - set(old)) > len(new)
