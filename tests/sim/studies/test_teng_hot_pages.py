"""Hot pages against a crawl that goes from link to link."""

import numpy as np
import pytest

from gcs.sim.engine.reach import reach
from gcs.sim.graph.owners import page_owners
from gcs.sim.studies import teng_hot_pages
from gcs.sim.studies.study import StudyRequest


def crawl(web, outlinks, seeds, owners, size, ends):
    """Posts, crossing links, most entries in the queue at any end, posts when the final table is known."""
    depth = reach(web, np.array(seeds)).tolist()
    order = sorted((page for page in range(web.pages) if depth[page] >= 0), key=lambda page: depth[page])
    final = sorted(range(web.pages), key=lambda page: (-sum(page in links for links in outlinks), page))[:size]
    place = {page: at for at, page in enumerate(order)}
    seen, hot, queue = {}, set(), []
    posts = crossing = known = peak = 0
    for at, page in enumerate(order):
        if at in ends:
            hot = set(sorted(seen, key=lambda url: (-seen[url], url))[:size])
            peak = max(peak, len(queue))
        for link in outlinks[page]:
            seen[link] = seen.get(link, 0) + 1
            if owners[link] != owners[page]:
                crossing += 1
                posts += link not in hot
                known += link not in final
            if place.get(link, len(order)) > at and link not in hot:
                queue.append(link)
        queue = [url for url in queue if url != page]
    return posts, crossing, max(peak, len(queue)), known, len(order)


def test_rows_are_those_of_a_crawl_from_link_to_link(web, outlinks, silent, monkeypatch):
    monkeypatch.setattr(teng_hot_pages, "SIZES", (0, 1, 10, 40, 239))
    monkeypatch.setattr(teng_hot_pages, "PAGES_PER_SEED", 30)
    rows = teng_hot_pages.run(web, StudyRequest((3,), seed=4), silent)
    seeds = np.random.default_rng(4).choice(web.pages, web.pages // 30, replace=False)
    owners = page_owners(web, "site-hash", 3, 4).tolist()
    count = int((reach(web, seeds) >= 0).sum())
    ends = set(np.unique((np.geomspace(1e-3, 1, 20) * count).astype(int))[:-1].tolist())
    assert [row.table for row in rows] == [0, 1, 10, 40, 239]
    for row in rows:
        posts, crossing, peak, known, pages = crawl(web, outlinks, seeds, owners, row.table, ends)
        assert row.posts_per_page == pytest.approx(posts / pages)
        assert row.suppressed == pytest.approx(1 - posts / crossing)
        assert row.posts_known_before == pytest.approx(known / pages)
        assert row.queue_peak == pytest.approx(peak / web.pages)
    assert rows[-1].posts_per_page < rows[0].posts_per_page
    assert rows[-1].queue_peak <= rows[0].queue_peak
