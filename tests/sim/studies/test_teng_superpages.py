"""Rounds of superpage creation, counted again from the plans; that they balance is tested in test_rounds."""

from collections import Counter

import numpy as np
import pytest

from gcs.core.crawled import superpages
from gcs.core.graph import Links
from gcs.core.partition import Problem, partition
from gcs.sim.graph import WebGraph, rows
from gcs.sim.partitions import crawled
from gcs.sim.reach import reach
from gcs.sim.rounds import Team, rounds
from gcs.sim.studies import teng_superpages
from gcs.sim.studies.study import Wish


def test_rows_are_counted_from_the_plans(web, silent, monkeypatch):
    monkeypatch.setattr(teng_superpages, "DELTAS", (3.0, 20.0))
    monkeypatch.setattr(teng_superpages, "ROUNDS", (0.5, 1.0))
    monkeypatch.setattr(teng_superpages, "SEEDS", 3)
    found = teng_superpages.run(web, Wish((3,), seed=2), silent)
    assert [(row.k, row.delta, row.round) for row in found] == [(3, 3.0, 1), (3, 3.0, 2), (3, 20.0, 1), (3, 20.0, 2)]
    data = crawled(web)
    keys = [data.keys[page] for page in teng_superpages.found_order(data, 2)]
    plans = [done.plan for done in rounds(keys, Team([1.0] * 3, delta=3.0, seed=2), [120, 240])]
    for row, before, plan in zip(found, [None, *plans], plans):
        urls = keys[: row.found]
        assert row.superpages == len(plan.cuts)
        assert row.imbalance == pytest.approx(slow_imbalance(urls, plan))
        if before:
            assert row.imbalance_before == pytest.approx(slow_imbalance(urls, before))
            moved = sum(owner_of(key, before) != owner_of(key, plan) for key in urls)
            assert row.moved == pytest.approx(moved / len(urls))
        hashed = Counter(partition("site-hash", Problem(np.ones(1), 3, keys=[key], seed=2))[0] for key in urls)
        assert row.imbalance_site_hash == pytest.approx(max(hashed.values()) / (len(urls) / 3) - 1)
    assert found[0].crossing_i is None


def test_crossing_links_are_counted_one_by_one(web, silent, monkeypatch):
    monkeypatch.setattr(teng_superpages, "DELTAS", (20.0,))
    last = teng_superpages.run(web, Wish((3,)), silent)[-1]
    data = crawled(web)
    unit = superpages(data.keys, 3).tolist()
    assert unit == sorted(unit)  # ranges of the key order
    links = list(zip(data.session.sources.tolist(), data.session.targets.tolist()))
    between = Counter(frozenset((unit[a], unit[b])) for a, b in links if unit[a] != unit[b])
    sides = np.array([sorted(pair) for pair in between])
    graph = Links.between(max(unit) + 1, sides[:, 0], sides[:, 1], np.array(list(between.values())))
    for name, share in (("partition-i", last.crossing_i), ("partition-ii", last.crossing_ii)):
        problem = Problem(np.array([unit.count(u) for u in range(max(unit) + 1)]), 3, links=graph, tolerance=0.05)
        owner = partition(name, problem).tolist()
        assert share == pytest.approx(sum(owner[unit[a]] != owner[unit[b]] for a, b in links) / len(links))
    assert last.crossing_ii < last.crossing_i


def owner_of(key, plan):
    return plan.owners[max(at for at, cut in enumerate(plan.cuts) if cut <= key)]


def slow_imbalance(keys, plan):
    load = Counter(owner_of(key, plan) for key in keys)
    return max(load.values()) / (len(keys) / 3) - 1


def test_found_order_goes_by_depth(web):
    data = crawled(web)
    order = teng_superpages.found_order(data, 1)
    assert sorted(order.tolist()) == list(range(web.pages))
    session = data.session
    inner = WebGraph("", *rows(session.sources, session.targets, session.pages))
    depth = reach(inner, np.random.default_rng(1).choice(web.pages, web.pages, replace=False)[:1000])
    assert (np.diff(depth[order]) >= 0).all()
