"""The pages that a team may store: shares are never more than the limit together, and come to it."""

import random

import pytest

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, LeaderLease, Member, PageAllowance, PlanPosted
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.gatherer.team.page_share import PageShare
from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.fenced_board import BoardView, FencedBoard, NewestPlan
from gcs.roles.leader.page_budget import PageBudget

PLAN = Plan(1, ("a", "b", "c"), (b"", b"h", b"p"), (0, 1, 2))
POSTED = PlanPosted(1, 1, PLAN.encode(), True)


async def no_ghost(_name: str) -> bool:
    return False


class Team:
    """Three gatherers and a leader, on one board."""

    def __init__(self, folder, max_pages: int) -> None:
        self.space, self.now = MemorySpace(MemoryBoard(), "a"), 100.0
        self.config = LeaderConfig(
            settings=TeamSettings(), ghost=no_ghost, random=random.Random(1), max_pages=max_pages
        )
        self.frontiers = {name: Frontier(folder / name, FrontierSettings(fsync=False)) for name in PLAN.gatherers}
        self.shares = {name: PageShare(frontier, max_pages) for name, frontier in self.frontiers.items()}
        self.pages = dict.fromkeys(PLAN.gatherers, 0)
        self.queued = dict.fromkeys(PLAN.gatherers, 0)
        self.elect()

    def elect(self) -> None:
        leader = LeaderLease("a", 1)
        self.budget = PageBudget(
            FencedBoard(self.space, leader, NewestPlan(lambda: None), lambda: self.now), self.config
        )

    async def step(self, *away: str) -> bool:
        """The leader looks, and the gatherers see what it has posted."""
        await self.space.out(LeaderLease("a", 1))
        self.now += 0.5
        members = {
            name: Member(
                name, "run", figures={"pages": pages, "queued": self.queued[name], **self.shares[name].figures()}
            )
            for name, pages in self.pages.items()
            if name not in away
        }
        view = BoardView(self.now, True, CrawlState.RUNNING, 0, POSTED, PLAN, members, frozenset())
        is_over = await self.budget.step(view)
        for item in await self.space.scan(template(PageAllowance)):
            self.shares[item.gatherer].take(item, 1)
        return is_over

    def commit(self, name: str) -> None:
        self.shares[name].before_commit()
        self.frontiers[name].commit()
        self.shares[name].after_commit()

    @property
    def caps(self) -> int:
        return sum(share.cap or 0 for share in self.shares.values())


@pytest.fixture
def make_team(tmp_path):
    teams = []

    def make(max_pages: int) -> Team:
        teams.append(Team(tmp_path, max_pages))
        return teams[-1]

    yield make
    for team in teams:
        for frontier in team.frontiers.values():
            frontier.close()


@pytest.mark.parametrize("seed", range(10))
async def test_team_stores_all_that_it_may_and_no_page_more(make_team, seed):
    """Gatherers fetch at their own pace, die, have nothing to do; leaders change; the board forgets."""
    chance, team = random.Random(seed), make_team(200)
    team.queued.update(a=500, b=30, c=500)
    for _ in range(400):
        assert team.caps <= 200
        for name, share in team.shares.items():
            fetched = min(chance.randrange(20), share.cap - team.pages[name], team.queued[name])
            team.pages[name] += fetched
            team.queued[name] -= fetched
            if not team.queued[name]:
                share.give_back(team.pages[name])
            team.commit(name)
            if chance.random() < 0.1:  # it was killed after that
                team.shares[name] = PageShare(team.frontiers[name], 200)
        if chance.random() < 0.05:
            team.elect()
        if chance.random() < 0.05:
            await team.space.remove(template(PageAllowance))
        if await team.step():
            break
    assert sum(team.pages.values()) == 200
    control = await team.space.read(template(Control))
    assert control is not None and (control.state, control.reason) == (CrawlState.STOPPING, "limit")


async def test_share_that_is_given_back_is_told_only_when_that_is_durable(make_team):
    team = make_team(100)
    team.queued["a"] = 100
    for _ in range(4):
        await team.step()
    share = team.shares["a"]
    granted = share.cap
    assert granted == 100 // 3 // 8
    team.commit("a")
    share.give_back(3)
    assert share.cap == 3 and share.figures()["returned"] == 0
    assert not share.is_committed
    team.commit("a")
    assert share.figures()["returned"] == granted - 3 and not share.is_noted(None)
    team.queued.update(a=0, b=500)
    for _ in range(20):
        await team.step()
    assert share.is_noted((await team.space.scan(template(PageAllowance, gatherer="a")))[0])
    team.frontiers["b"].commit()
    assert team.caps <= 100


async def test_nothing_is_granted_before_everybody_was_heard(make_team):
    team = make_team(90)
    team.queued.update(a=90, b=90, c=90)
    for _ in range(4):
        await team.step()
    before = {name: share.cap for name, share in team.shares.items()}
    assert all(before.values())
    await team.space.remove(template(PageAllowance))
    team.elect()
    for _ in range(5):
        assert not await team.step("c")
    assert await team.space.scan(template(PageAllowance)) == [], "what c has is not known"
    await team.step()
    assert len(await team.space.scan(template(PageAllowance))) == 3 and team.caps <= 90


async def test_crawl_does_not_end_while_one_that_may_store_more_is_missing(make_team):
    team = make_team(30)
    team.queued.update(a=90, b=90, c=90)
    for _ in range(40):
        for name in ("a", "b"):
            team.pages[name] = team.shares[name].cap
        assert not await team.step(*(["c"] if team.shares["c"].cap else []))
    team.pages["c"] = team.shares["c"].cap
    assert await team.step() and sum(team.pages.values()) == 30


async def test_team_without_a_limit_hands_out_nothing(make_team):
    team = make_team(0)
    assert not await team.step() and await team.space.scan(template(PageAllowance)) == []
    share = team.shares["a"]
    share.give_back(0)
    assert share.cap is None and share.figures() == {} and share.is_committed
