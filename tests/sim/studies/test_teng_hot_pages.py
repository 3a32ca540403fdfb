"""Hot pages against a crawl that goes from link to link."""

import numpy as np
import pytest

from gcs.sim.owners import page_owners
from gcs.sim.reach import reach
from gcs.sim.studies import teng_hot_pages
from gcs.sim.studies.study import Wish


def crawl(web, outlinks, seeds, owners, size, ends):
    """Posts, crossing links, most entries in the queue, posts when the final table is known; a table after each end."""
    depth = reach(web, np.array(seeds)).tolist()
    order = sorted((page for page in range(web.pages) if depth[page] >= 0), key=lambda page: depth[page])
    final = sorted(range(web.pages), key=lambda page: (-sum(page in links for links in outlinks), page))[:size]
    place = {page: at for at, page in enumerate(order)}
    seen, hot, queue = {}, set(), []
    posts = crossing = known = peak = 0
    for at, page in enumerate(order):
        if at in ends:
            ranking = sorted(seen, key=lambda url: -seen[url])
            hot = set(ranking[:size])
        for link in outlinks[page]:
            seen[link] = seen.get(link, 0) + 1
            if owners[link] != owners[page]:
                crossing += 1
                posts += link not in hot
                known += link not in final
            if place.get(link, len(order)) > at and link not in hot:
                queue.append(link)
        queue = [url for url in queue if url != page]
        peak = max(peak, len(queue))
    return posts, crossing, peak, known, len(order)


def test_rows_without_table_and_with_one_of_all(web, outlinks, silent, monkeypatch):
    """With 0 and with 200 hot pages there are no ties to break: the table is empty, or all that was seen."""
    monkeypatch.setattr(teng_hot_pages, "SIZES", (0, 239))
    monkeypatch.setattr(teng_hot_pages, "PAGES_PER_SEED", 30)
    rows = teng_hot_pages.run(web, Wish((3,), seed=4), silent)
    seeds = np.random.default_rng(4).choice(web.pages, web.pages // 30, replace=False)
    owners = page_owners(web, "site-hash", 3, 4).tolist()
    for row in rows:
        count = int((reach(web, seeds) >= 0).sum())
        ends = set(np.unique((np.geomspace(1e-3, 1, 20) * count).astype(int))[:-1].tolist())
        posts, crossing, peak, known, pages = crawl(web, outlinks, seeds, owners, row.table, ends)
        assert row.posts_per_page == pytest.approx(posts / pages)
        assert row.suppressed == pytest.approx(1 - posts / crossing)
        assert row.posts_known_before == pytest.approx(known / pages)
        assert row.queue_peak <= peak / web.pages + 1e-9  # looked at after each batch of pages, not after each page
    assert rows[1].posts_per_page < rows[0].posts_per_page
    assert rows[1].queue_peak <= rows[0].queue_peak
