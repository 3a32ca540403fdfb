"""The capacity model against gatherers that put URLs into blocks one by one, and a count of what they tell."""

import numpy as np
import pytest

from gcs.sim.engine.capacity import Costs, blocks_per_s, capacity
from gcs.sim.engine.machines import Machine, bill
from gcs.sim.graph.owners import page_owners
from gcs.sim.studies import scale
from gcs.sim.studies.study import StudyRequest


@pytest.mark.parametrize(("n", "urls_per_s"), [(3, 2.0), (8, 40.0), (8, 5000.0), (2, 9000.0)])
def test_blocks_are_those_of_gatherers_that_fill_them(n, urls_per_s):
    """For a thousand seconds, URLs from anybody to anybody else; at a checkpoint every two seconds all blocks leave."""
    chance = np.random.default_rng(1)
    pairs = n * (n - 1)
    blocks = 0
    for _ in range(500):
        waiting = chance.multinomial(chance.poisson(urls_per_s * 2), [1 / pairs] * pairs)
        blocks += sum(-(-count // 1000) for count in waiting.tolist())
    assert blocks_per_s(n, urls_per_s, 2.0, Costs()) == pytest.approx(blocks / 1000, rel=0.12)


def test_capacity_adds_up():
    costs = Costs(page_cpu_s=0.001, team_cpu_s=0.0, board_idle=0.1, board_block_s=0.001, board_url_s=1e-5)
    found = capacity(10, 0.5, costs)
    assert found.pages_per_s == 10_000 and found.urls_per_s == 5000
    assert found.blocks_per_s == pytest.approx(45.0) and found.urls_per_block == pytest.approx(111, abs=1)
    assert found.board_load == pytest.approx(0.1 + 0.045 + 0.05) and found.servers == 1
    assert capacity(1, 0.5, costs).board_load == 0.1
    assert capacity(200, 0.5, costs).servers > 1


def test_longer_checkpoints_spare_a_server():
    costs = Costs()
    crowded = capacity(128, 0.1, costs)
    assert crowded.servers > 1 and crowded.checkpoint_for_one_s > costs.checkpoint_s
    longer = Costs(checkpoint_s=crowded.checkpoint_for_one_s)
    assert capacity(128, 0.1, longer).servers == 1
    assert capacity(4096, 0.9, costs).checkpoint_for_one_s == 0.0


def test_urls_told_are_counted_on_the_graph(web, outlinks, silent, monkeypatch):
    monkeypatch.setattr(scale, "COUNTED", (2, 5))
    monkeypatch.setattr(scale, "HOT_PAGES", 10)
    rows = scale.run(web, StudyRequest((2, 5)), silent)
    indegree = {page: sum(page in links for links in outlinks) for page in range(web.pages)}
    hot = sorted(indegree, key=lambda page: (-indegree[page], page))[:10]
    for row in rows:
        owners = page_owners(web, "site-hash", row.n, 1)
        sent = {
            (owners[page], link) for page in range(web.pages) for link in outlinks[page] if owners[page] != owners[link]
        }
        assert row.urls_per_page == pytest.approx(len({pair for pair in sent if pair[1] not in hot}) / web.pages)
        assert row.hours == pytest.approx(row.pages / row.pages_per_s / 3600)


def test_rows_are_worked_out_by_hand(web, silent, monkeypatch):
    """Every column from the costs, for n = 4 in the middle (by the logarithm) between the teams that are counted."""
    monkeypatch.setattr(scale, "COUNTED", (2, 8))
    two, four, eight = scale.run(web, StudyRequest((2, 4, 8)), silent)[:: len(scale.PAGES)]
    row, costs = four, Costs()
    assert row.pages == 10**6 and row.urls_per_page == pytest.approx((two.urls_per_page + eight.urls_per_page) / 2)
    assert row.pages_per_s == pytest.approx(4 / (1130e-6 + 90e-6))
    assert row.hours * 3600 == pytest.approx(10**6 * (1130e-6 + 90e-6) / 4)
    assert row.mbit_per_s == pytest.approx(row.pages_per_s * 19_250 * 8 / 10**6)
    assert row.urls_per_s == pytest.approx(row.pages_per_s * row.urls_per_page)
    waits = row.urls_per_s * 2 / 12  # of the URLs of two seconds, what one of 12 pairs has at a checkpoint
    assert row.blocks_per_s == pytest.approx(12 * (1 - np.exp(-waits)) / 2)
    assert row.commands_per_s == pytest.approx(row.blocks_per_s * 18.7 + row.urls_per_s * 0.1)
    assert row.whiteboard_mbit_per_s == pytest.approx(row.urls_per_s * 2 * 120 * 8 / 10**6)  # in and out again
    busy = costs.board_idle + row.blocks_per_s * 216e-6 + row.urls_per_s * 12.2e-6
    assert row.whiteboard_load == pytest.approx(busy) and row.redis_servers == 1
    assert row.checkpoint_for_one_s == 2.0
    assert row.disk_gb_each == pytest.approx(10**6 / 4 * (10_060 + 690) / 1e9)


def test_model_agrees_with_live_teams():
    for n, seconds, urls, load in (*scale.LIVE, *scale.LATER):
        assert scale.model_of_live(n, seconds, urls, Costs()) == pytest.approx(load, rel=0.25)


def test_bill_is_worked_out_by_hand():
    """Ten gatherers and one server on cores of four: three machines; their network is half as fast as their cores."""
    costs = Costs(page_cpu_s=0.001, team_cpu_s=0.0, page_bytes=10_000, stored_bytes=900, state_bytes=100)
    found = capacity(10, 0.0, costs)
    machine = Machine(cores=4, usd_per_hour=2.0, mbit_s=400 / 3, disk_gb=1.0, usd_per_tb=5.0)
    due = bill(36_000_000, 10, found, costs, machine)
    assert due.machines == 3 and due.network_share == pytest.approx(2.0)
    assert due.hours == pytest.approx(2.0)  # one by the cores
    assert due.usd == pytest.approx(3 * 2.0 * 2.0 + 0.36 * 5.0)
    assert due.disk_share == pytest.approx(36 / 3)


def test_rows_have_the_bill_of_the_machines_that_were_asked_for(web, silent, monkeypatch):
    monkeypatch.setattr(scale, "COUNTED", (2, 8))
    free, dear = Machine(cores=2, usd_per_hour=0.0), Machine(cores=2, usd_per_hour=1.0)
    request = StudyRequest((4,), machine=dear, web_pages=123_456)
    rows = scale.run(web, request, silent)
    row = next(row for row in rows if row.pages == 123_456)
    assert row.machines == 3  # four gatherers, and the server of the whiteboard
    assert row.usd == pytest.approx(row.machine_hours) == pytest.approx(3 * row.hours)
    assert row.usd_per_million == pytest.approx(row.usd / 0.123456)
    assert {row.usd for row in scale.run(web, StudyRequest((4,), machine=free), silent)} == {0.0}
