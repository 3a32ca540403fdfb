"""Synthetic webs: what the studies rely on, counted."""

import numpy as np
import pytest

from gcs.sim.graph.graph_files import sites_of
from gcs.sim.graph.owners import leaving_share
from gcs.sim.graph.synthetic import Shape, site_sizes, synthetic


@pytest.fixture(scope="module")
def web():
    return synthetic(Shape(200_000))


def test_web_has_about_ten_links_a_page_nine_of_them_inside(web):
    assert web.pages == 200_000 and 9 <= web.links / web.pages <= 11
    assert 0.09 <= leaving_share(web) <= 0.12


def test_rows_ascend_without_duplicates(web):
    inner = np.ones(web.links, np.bool_)
    inner[web.offsets[:-1][np.diff(web.offsets) > 0]] = False  # the first link of each page
    assert (np.diff(web.targets, prepend=0)[inner] > 0).all()
    assert web.targets.min() >= 0 and web.targets.max() < web.pages


def test_sites_are_zipf_up_to_the_cut(web):
    sizes = np.sort(np.bincount(web.sites))[::-1]
    assert sizes.sum() == web.pages and 999 <= sizes.max() <= 1001
    assert sizes[500] / sizes[2000] == pytest.approx(4, rel=0.2)


def test_in_degree_is_zipf(web):
    """The slope over rank, on a doubly logarithmic scale, is near -1 for links from other sites, and steep for all."""
    foreign = web.targets[web.sites[web.sources()] != web.sites[web.targets]]
    for links, slope, slack in ((foreign, -1, 0.1), (web.targets, -0.8, 0.3)):
        degrees = np.sort(np.bincount(links, minlength=web.pages))[::-1]
        assert np.polyfit(np.log(np.arange(3, 300)), np.log(degrees[3:300]), 1)[0] == pytest.approx(slope, abs=slack)


def test_names_tell_the_site(web):
    assert len(set(web.urls[:500])) == 500
    first = sites_of(web.urls[:3000])
    assert (np.diff(first) == np.diff(web.sites[:3000])).all()
    assert web.urls[-1] == list(web.urls[199_990:])[-1]


def test_same_seed_same_web():
    one, two, other = (synthetic(Shape(3000, seed)) for seed in (1, 1, 2))
    assert (one.targets == two.targets).all() and one.digest == two.digest != other.digest
    assert one.links != other.links


@pytest.mark.parametrize("pages", [10, 41, 997, 12_345])
def test_sites_hold_all_pages_of_a_web_of_any_size(pages):
    sizes = site_sizes(Shape(pages), np.random.default_rng(1))
    assert sizes.sum() == pages and sizes.min() >= 1
