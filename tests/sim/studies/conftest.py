"""A small web with URLs, sites of unlike size and a few links between them, and what a slow crawler needs of it."""

from random import Random

import numpy as np
import pytest

from gcs.sim.graph.graph_files import sites_of
from gcs.sim.graph.web_graph import WebGraph, rows


def _make_web(pages=240, sites=12, seed=1):
    random = Random(seed)
    hosts = sorted(random.choices(range(sites), [1 / (rank + 1) for rank in range(sites)], k=pages))
    urls = [f"http://s{host}.example/p{page}" for page, host in enumerate(hosts)]
    links = set()
    for page, host in enumerate(hosts):
        for _ in range(random.randrange(1, 6)):
            near = [other for other in range(pages) if hosts[other] == host]
            links.add((page, random.choice(near) if random.random() < 0.8 else random.randrange(pages)))
    sources, targets = np.array(sorted(links)).T
    sizes = np.array([random.randrange(100, 10_000) for _ in range(pages)])
    return WebGraph("small", *rows(sources, targets, pages), urls, sites_of(urls), sizes)


@pytest.fixture
def make_web():
    """The maker of webs."""
    return _make_web


@pytest.fixture(params=[1, 2, 3])
def web(request):
    return _make_web(seed=request.param)


@pytest.fixture
def outlinks(web):
    """Page → the pages that it links to, as plain lists."""
    return [web.outlinks(page).tolist() for page in range(web.pages)]


@pytest.fixture
def silent():
    return lambda _share, _what: None
