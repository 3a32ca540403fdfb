"""The shapes of the papers' figures, on a web like Cho's: what must come out, however the figures themselves vary."""

from itertools import pairwise

import pytest

from gcs.sim.graph.synthetic import Shape, synthetic
from gcs.sim.studies import cambazoglu, cho_communication, cho_coverage, cho_overlap, cho_quality, cho_replication
from gcs.sim.studies.study import StudyRequest


@pytest.fixture(scope="module")
def cho():
    return synthetic(Shape(20_000))


def test_firewall_coverage_falls_with_n(cho, silent):
    shares = [row.coverage_walls for row in cho_coverage.run(cho, StudyRequest((1, 4, 16, 64), runs=1), silent)]
    assert shares[0] == 1.0 and all(a > b for a, b in pairwise(shares))
    assert shares[-1] < 0.8  # on 40 million pages 0.07


def test_nothing_is_fetched_twice_before_the_firewall_coverage(cho, silent):
    rows = cho_overlap.run(cho, StudyRequest((4, 16)), silent)
    before = [row for row in rows if row.coverage < row.firewall_coverage]
    assert len(before) > 10 and all(row.overlap == 0 for row in before)
    for n in (4, 16):
        last = [row for row in rows if row.n == n][-1]
        assert last.coverage == 1.0 and last.overlap > 1


def test_urls_per_page_rise_with_n_and_fall_by_replication(silent):
    """The 10,000 most linked are a twentieth of this web."""
    web = synthetic(Shape(200_000))
    told = [
        row for row in cho_communication.run(web, StudyRequest((2, 8, 64)), silent) if row.partitioner == "site-hash"
    ]
    assert all(a.urls_per_page < b.urls_per_page for a, b in pairwise(told))
    at = {row.replicated: row.urls_per_page for row in cho_replication.run(web, StudyRequest((64,)), silent)}
    assert at[10_000] <= 0.7 * at[0] and at[100_000] < at[10_000] < at[1_000] < at[0]


def test_fewer_than_100_exchanges_reach_the_quality_of_one_crawler(cho, silent, monkeypatch):
    monkeypatch.setattr(cho_quality, "EXCHANGES", (0, 99))
    rows = cho_quality.run(cho, StudyRequest((8,), runs=2), silent)
    for row in rows:
        if row.exchanges == 99:
            assert row.quality >= row.quality_single - cho_quality.SAME
    silence = [b.quality - a.quality for a, b in pairwise(rows) if (a.exchanges, b.exchanges) == (0, 99)]
    assert min(silence) > 0  # and without a word they do worse


def test_partitioned_graphs_exchange_fewer_bytes_in_balance(cho, silent):
    at = {row.model: row for row in cambazoglu.run(cho, StudyRequest((8,), runs=1), silent)}
    for name in ("page", "site"):
        partitioned = at[f"{name}-gp"]
        assert max(partitioned.storage_imbalance, partitioned.request_imbalance) <= 0.05
        assert partitioned.bytes < at[f"{name}-hash"].bytes
        # whole sites, in a web whose sites link at random, leave less to gain than pages
        assert partitioned.bytes < partitioned.bytes_hashed / (5 if name == "page" else 1)
