"""Every URL is counted once, whatever happens to it while the count is going on."""

import random
from pathlib import Path

import msgspec
import pytest

from gcs.core.plan.plan import Plan
from gcs.core.tree.statistics import MeasuredWork, SuperpageStatistics
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import LAST_KEY, sort_key
from gcs.ports.frontier import Frontier, FrontierSettings, Mark
from gcs.roles.gatherer.team import superpage_stats as module
from gcs.roles.gatherer.team.superpage_stats import SuperpageStats

from .pages import record

CUT = sort_key("http://a.example/5")
OWN = Plan(1, ("a", "b"), (b"", CUT), (0, 0))


def url(number: int) -> str:
    return f"http://a.example/{number}"


@pytest.mark.parametrize("resumes", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_stats_count_each_url_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, resumes: bool) -> None:
    monkeypatch.setattr(module, "SLICE_URLS", 3)
    chance = random.Random(seed)
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    stats = SuperpageStats("a", frontier, random.Random(0))
    if not resumes:
        stats.adopt(OWN)
        while stats.step():
            pass
    stats.queued(frontier.insert([QueuedUrl(url(number)) for number in range(0, 900, 17)]))
    (stats.resume if resumes else stats.adopt)(OWN)
    assert not stats.is_complete
    numbers = chance.sample(range(1000), 1000)
    while stats.step():
        stats.queued(frontier.insert([QueuedUrl(url(number)) for number in numbers[:4]]))
        done = numbers.pop(0)
        frontier.finish(url(done), Mark.DONE)
        stats.recorded(msgspec.structs.replace(record(done), outlinks=[]), 0.1)
        key = sort_key(f"http://a.example/got/{done}")
        frontier.range_moves.put_in([(key, Mark.DONE)])
        stats.received([key])
    assert stats.is_complete
    tree, packed = stats.encode()
    statistics = SuperpageStatistics.decode(packed)
    figures = statistics.superpages
    marks = list(frontier.scan(b"", LAST_KEY))
    assert statistics.waiting == [key for key, mark in marks if mark is Mark.QUEUED], "so few are all in the sample"
    for at, (low, high) in enumerate(((b"", CUT), (CUT, LAST_KEY))):
        here = [mark for key, mark in marks if low <= key < high]
        assert figures[at].seen == len(here)
        assert figures[at].queued == here.count(Mark.QUEUED)
    assert stats._tree.visits == len(marks)
    assert tree
    frontier.close()


def test_stats_show_superpages_in_few_points(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    stats = SuperpageStats("a", frontier, random.Random(0))
    stats.adopt(OWN)
    stats.queued(frontier.insert([QueuedUrl(url(number)) for number in range(900)]))
    while stats.step():
        pass
    patches = stats.patches(100)
    assert [patch.low for patch in patches] == [b"", CUT] and sum(patch.seen for patch in patches) == 900
    assert sum(patch.queued for patch in patches) == 900
    assert sum(len(patch.points) for patch in patches) <= 100 + len(patches)
    for patch, (low, high) in zip(patches, [(b"", CUT), (CUT, LAST_KEY)]):
        assert all(low <= key < high for key, _ in patch.points)
        assert sum(urls for _, urls in patch.points) == pytest.approx(patch.seen)
    frontier.close()


def test_stats_count_pages_of_helpers_as_help_and_not_as_speed(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    stats = SuperpageStats("a", frontier, random.Random(0))
    stats.adopt(OWN)
    while stats.step():
        pass
    stats.queued(frontier.insert([QueuedUrl(url(number)) for number in range(4)]))
    for number in range(4):
        page = record(number)
        stats.recorded(msgspec.structs.replace(page, helper="h1") if number else page, 0.5)
    statistics = SuperpageStatistics.decode(stats.encode()[1])
    assert statistics.helped == {"a": 3}
    assert sum(work.amount for work in statistics.rates["a"].values()) == 1
    assert sum(figures.pages for figures in statistics.superpages.values()) == 4
    assert sum(figures.queued for figures in statistics.superpages.values()) == 0
    frontier.close()


def test_what_was_measured_is_kept_when_the_superpage_goes_to_another(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    stats = SuperpageStats("a", frontier, random.Random(0))
    stats.adopt(OWN)
    for number in range(100):
        stats.recorded(msgspec.structs.replace(record(500 + number), outlinks=[]), 0.1)
    finer = (b"", CUT, sort_key("http://a.example/55"))

    def measured(owners: tuple[int, ...], cuts: tuple[bytes, ...] = finer) -> dict[int, MeasuredWork]:
        stats.adopt(Plan(2, ("a", "b"), cuts, owners))
        return SuperpageStatistics.decode(stats.encode()[1]).rates["a"]

    rates = measured((0, 1, 1))
    assert {at: work.amount for at, work in rates.items()} == {1: 25, 2: 25}, "half of it, each piece as much"
    assert all(work.seconds == pytest.approx(0.1 * work.amount) for work in rates.values())
    assert measured((1, 0, 0)) == rates, "new owners are no reason to doubt it"
    for number in range(4):
        rates = measured((1, 0), OWN.cuts)
        assert number or {at: work.amount for at, work in rates.items()} == {1: 24}
        rates = measured((1, 0, 0))
    assert rates == {}, "in the end it is forgotten"
    statistics = SuperpageStatistics.decode(stats.encode(access={b"far": 0.2})[1])
    assert statistics.access == {"a": {b"far": 0.2}}
    assert statistics.origins == {0: ["http://a.example"]}, "others can measure the way to this host"
    frontier.close()
