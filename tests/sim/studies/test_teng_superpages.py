"""Rounds of superpage creation, counted again from the plans; that they balance is tested in test_rounds."""

from collections import Counter

import numpy as np
import pytest

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
    assert found[-1].crossing_ii <= found[-1].crossing_i and found[0].crossing_i is None


def slow_imbalance(keys, plan):
    load = Counter()
    for key in keys:
        superpage = max(at for at, cut in enumerate(plan.cuts) if cut <= key)
        load[plan.owners[superpage]] += 1
    return max(load.values()) / (len(keys) / 3) - 1


def test_found_order_goes_by_depth(web):
    data = crawled(web)
    order = teng_superpages.found_order(data, 1)
    assert sorted(order.tolist()) == list(range(web.pages))
    session = data.session
    inner = WebGraph("", *rows(session.sources, session.targets, session.pages))
    depth = reach(inner, np.random.default_rng(1).choice(web.pages, web.pages, replace=False)[:1000])
    assert (np.diff(depth[order]) >= 0).all()
