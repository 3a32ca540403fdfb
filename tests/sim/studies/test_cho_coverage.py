"""Firewall coverage against a crawler that fetches one page after the other."""

import numpy as np
import pytest

from gcs.sim.engine.reach import reach
from gcs.sim.graph.owners import page_owners, random_seeds
from gcs.sim.studies import cho_coverage
from gcs.sim.studies.study import StudyRequest


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
    """Five seeds for each gatherer, over all pages; the same seeds for every n; these on half of the sites."""
    rows = cho_coverage.run(web, StudyRequest((1, 2, 4), runs=2, seed=7), silent)
    sites = len(set(web.sites.tolist()))
    chosen = set(np.random.default_rng(7).permutation(sites)[: (sites + 1) // 2].tolist())
    kept = [page for page in range(web.pages) if web.sites[page] in chosen]
    number = {page: place for place, page in enumerate(kept)}
    links_half = [[number[link] for link in outlinks[page] if link in number] for page in kept]
    expected = {1: [], 2: [], 4: []}
    for run in range(2):
        chance = np.random.default_rng([7, run])
        seeds, seeds_half = (chance.choice(pages, 20, replace=False).tolist() for pages in (web.pages, len(kept)))
        everything = crawl(outlinks, seeds, [0] * web.pages), crawl(links_half, seeds_half, [0] * len(kept))
        for n, shares in expected.items():
            owner = page_owners(web, "site-hash", n, run)
            each = random_seeds(owner, [5] * n, chance).tolist()
            owner = owner.tolist()
            owner_half = page_owners(web.induced(np.isin(np.arange(web.pages), kept)), "site-hash", n, run).tolist()
            shares.append(
                [
                    len(crawl(outlinks, each, owner)) / web.pages,
                    len(crawl(outlinks, seeds, owner)) / len(everything[0]),
                    len(crawl(links_half, seeds_half, owner_half)) / len(everything[1]),
                ]
            )
    for row in rows:
        found = [row.coverage, row.coverage_walls, row.coverage_half]
        assert found == pytest.approx(np.mean(expected[row.n], axis=0))
    assert rows[0].coverage_walls == 1.0 and rows[-1].coverage_walls < 1.0
    assert rows[0].seeds == 20


def test_findings_and_charts_come_from_rows_alone(web, silent):
    rows = cho_coverage.run(web, StudyRequest((1, 4), runs=1), silent)
    falls = rows[1].coverage < rows[0].coverage
    assert cho_coverage.findings(rows)[0].agrees == falls
    assert [line.label for line in cho_coverage.charts(rows)[0].lines][-1].startswith("Cho")
