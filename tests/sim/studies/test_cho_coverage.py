"""Firewall coverage against a crawler that fetches one page after the other."""

import numpy as np
import pytest

from gcs.sim.owners import page_owners
from gcs.sim.reach import reach
from gcs.sim.studies import cho_coverage
from gcs.sim.studies.study import Wish


def crawl(outlinks, seeds, owner):
    """Every gatherer alone, a page at a time, in its own sites only: page → distance from the seeds."""
    found = {}
    for me in set(owner):
        queue = [(page, 0) for page in seeds if owner[page] == me]
        while queue:
            page, depth = queue.pop(0)
            if page not in found:
                found[page] = depth
                queue += [(link, depth + 1) for link in outlinks[page] if owner[link] == me]
    return found


@pytest.mark.parametrize("k", [1, 2, 5])
def test_reach_is_what_gatherers_fetch_one_page_at_a_time(web, outlinks, k):
    owners = page_owners(web, "site-hash", k)
    seeds = [3, 77, 150, 230]
    found = crawl(outlinks, seeds, owners.tolist())
    assert reach(web, np.array(seeds), owners).tolist() == [found.get(page, -1) for page in range(web.pages)]


def test_owners_by_site_hash_keep_a_site_together(web):
    owners = page_owners(web, "site-hash", 4)
    assert all(len(set(owners[web.sites == site])) == 1 for site in set(web.sites.tolist()))
    assert len(set(page_owners(web, "url-hash", 4)[web.sites == 0])) > 1


def test_rows_are_means_over_the_runs(web, outlinks, silent):
    rows = cho_coverage.run(web, Wish((1, 2, 4), runs=2, seed=7), silent)
    expected = {1: [], 2: [], 4: []}
    for number in range(2):
        seeds = np.random.default_rng([7, number]).choice(web.pages, 20, replace=False).tolist()
        everything = crawl(outlinks, seeds, [0] * web.pages)
        for n, shares in expected.items():
            owner = page_owners(web, "site-hash", n, number).tolist()
            shares.append(len(crawl(outlinks, seeds, owner)) / len(everything))
    assert {row.n: row.coverage for row in rows} == {n: pytest.approx(np.mean(s)) for n, s in expected.items()}
    assert rows[0].coverage == 1.0 and rows[-1].coverage < 1.0
    assert rows[0].seeds == 20


def test_findings_and_charts_come_from_rows_alone(web, silent):
    rows = cho_coverage.run(web, Wish((1, 4), runs=1), silent)
    assert cho_coverage.findings(rows)[0].agrees
    assert [line.label for line in cho_coverage.charts(rows)[0].lines][-1].startswith("Cho")
