"""A team that crawls in supersteps, a page, a link and a message at a time: what the simulator is held against."""

import pytest

from gcs.core.ordering import ORDERS, Found


@pytest.fixture
def slow_crawl():
    return _slow_crawl


def _slow_crawl(web, rules, seeds, most):
    """The same, with dictionaries: a list of (pages, pairs told, links told, late, late at home) by superstep."""
    order, owner = ORDERS[rules.order], rules.owners.tolist()
    known, worth, depth, fetched, untold = [], {}, {}, set(), []
    steps = []

    def hear(page, gift, deep):
        if page in fetched:
            return 1
        if page not in worth:
            known.append(page)
            worth[page], depth[page] = 0.0, deep
        worth[page] += gift if order.weighs else 0
        return 0

    for seed in sorted({*seeds, *rules.replicated.tolist()}):
        hear(seed, 0.0, 0)
        worth[seed] += order.seed
    while len(fetched) < most:
        taken = []
        for me in range(rules.k):
            mine = [page for page in known if owner[page] == me and page not in fetched]
            rank = {page: order.rank(Found("", depth=depth[page]), worth[page]) for page in mine}
            speed = 1 if rules.speeds is None else rules.speeds[me] / (sum(rules.speeds) / rules.k)
            quota = int(rules.pages_each * speed * (len(steps) + 1)) - int(rules.pages_each * speed * len(steps))
            taken.append(sorted(mine, key=lambda page: rank[page])[:quota])
        pages = [page for part in taken for page in part]
        if len(pages) > most - len(fetched):
            rounds = [part[at] for at in range(max(map(len, taken))) for part in taken if at < len(part)]
            pages = rounds[: most - len(fetched)]
        if not pages and not untold and len(fetched) == len(known):
            break
        fetched.update(pages)
        late_inside, inside = 0, []
        for page in pages:
            links = web.outlinks(page).tolist()
            gift = order.gift(worth[page], len(links)) if links else 0
            for link in links:
                if owner[link] == owner[page]:
                    inside.append((link, gift, depth[page] + 1))
                elif rules.mode == "exchange" and link not in rules.replicated:
                    untold.append((owner[page], link, gift, depth[page] + 1))
        for link in inside:
            late_inside += hear(*link)
        told = (0, 0, 0)
        if (len(steps) + 1) % rules.exchange_every == 0 or not pages:
            pairs = len({(sender, link) for sender, link, _, _ in untold})
            late = sum([hear(link, gift, deep) for _, link, gift, deep in untold])
            told = (pairs, len(untold), late)
            untold = []
        steps.append((pages, *told, late_inside))
    return steps
