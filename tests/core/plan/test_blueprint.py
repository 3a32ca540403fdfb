"""Blueprints against brute force, on a web of hosts with their own links and a few foreign ones."""

from collections import Counter
from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.partition.partition_graph import SessionLinks
from gcs.core.plan.blueprint import MODELS, Blueprint, BlueprintRequest, _between, draw, forecast, hashed
from gcs.core.plan.plan import ExchangeMode
from gcs.core.plan.session_graph import Visits, crawled
from gcs.core.url.sortkey import sort_key
from gcs.errors import UsageError


def web(hosts=12, pages=40, seed=1):
    """Hosts of one neighbourhood (h0…h2, h3…h5, …) link to one another, now and then to any other."""
    random = Random(seed)
    urls = [f"http://h{host}.example/{page % 5}/{page}" for host in range(hosts) for page in range(pages)]
    links = set()
    for source in range(len(urls)):
        for _ in range(6):
            host = source // pages
            host = host if random.random() < 0.8 else host // 3 * 3 + random.randrange(3)
            host = host if random.random() < 0.98 else random.randrange(hosts)
            links.add((source, host * pages + int(pages * random.random() ** 3)))
    sources, targets = np.array(sorted(links)).T
    sizes = np.array([random.randrange(100, 1_000) for _ in urls])
    visits = Visits([sort_key(url) for url in urls], sizes, np.array([len(url) for url in urls]))
    return crawled(visits, sources, targets)


WEB = web()


@pytest.mark.parametrize("model", MODELS)
def test_a_blueprint_says_what_its_plan_does(model):
    blueprint = draw(WEB, BlueprintRequest(model, 4, hot_pages=5))
    assert Blueprint.decode(blueprint.encode()) == blueprint
    names = ("ada", "bob", "cyd", "dan")
    plan = blueprint.plan(names, ExchangeMode.EXCHANGE, session=2)
    parts = blueprint.owners_of(WEB).tolist()
    assert [names[part] for part in parts] == [plan.owner_of(key) for key in WEB.keys]
    if model != "dset":
        assert set(parts) == {0, 1, 2, 3}
    assert (plan.session, plan.lost, plan.moves) == (2, ((b"", b"\xff"),), ())
    told = set()
    session: SessionLinks = WEB.session
    hot = {sort_key(url) for url in plan.hot_pages}
    assert len(hot) == (0 if model == "dset" else 5), "all hosts are of one domain: nobody else names a page"
    for source, target in zip(session.sources.tolist(), session.targets.tolist()):
        if parts[source] != parts[target] and WEB.keys[target] not in hot:
            told.add((parts[source], target))
    row = forecast(WEB, blueprint)
    assert row.exchanged_urls == len(told)
    assert row.exchanged_bytes == sum(session.url_bytes[target] for _, target in told)
    assert row.urls_per_page == len(told) / session.pages
    loads = Counter(parts)
    assert row.imbalance_pages == pytest.approx(max(loads.values()) * 4 / session.pages - 1)
    shared = {site: set() for site in session.sites.tolist()}
    for part, site in zip(parts, session.sites.tolist()):
        shared[site].add(part)
    assert row.shared_hosts == sum(len(owners) > 1 for owners in shared.values())


def test_models_keep_their_promises():
    rows = {model: forecast(WEB, draw(WEB, BlueprintRequest(model, 4))) for model in MODELS}
    for model in ("metis-site", "metis-page", "superpages"):
        assert rows[model].imbalance_pages <= 0.055, model
    assert rows["metis-site"].imbalance_bytes <= 0.055
    assert rows["metis-site"].exchanged_bytes < rows["site-hash"].exchanged_bytes / 2
    assert rows["site-hash"].exchanged_bytes < rows["url-hash"].exchanged_bytes
    assert rows["site-hash"].shared_hosts == 0 and rows["url-hash"].shared_hosts == WEB.hosts


def test_what_is_new_is_listed_nowhere():
    new_page, new_host = sort_key("http://h3.example/0/new"), sort_key("http://new.example/")
    names = ("ada", "bob")
    for model, finders in (("metis-page", [False, True, True]), ("metis-site", [False, False, True])):
        plan = draw(WEB, BlueprintRequest(model, 2, finder=True)).plan(names, ExchangeMode.EXCHANGE, 2)
        assert [plan.is_finders(key) for key in (WEB.keys[7], new_page, new_host)] == finders
        assert not draw(WEB, BlueprintRequest(model, 2)).plan(names, ExchangeMode.EXCHANGE, 2).is_finders(new_host)


def test_parts_go_to_who_has_them():
    blueprint = draw(WEB, BlueprintRequest("metis-site", 3))
    first = blueprint.plan(("ada", "bob", "cyd"), ExchangeMode.EXCHANGE, 2)
    shuffled = Blueprint(
        "metis-site", 3, blueprint.cuts, tuple((part + 1) % 3 for part in blueprint.owners), blueprint.weights
    )
    second = shuffled.plan(("ada", "bob", "cyd"), ExchangeMode.EXCHANGE, 3, first)
    assert second.owners == first.owners and second.moves == () and second.epoch == first.epoch + 1


@pytest.mark.parametrize(("k", "giant", "wish", "cut"), [
    (3, 1, "needed", set()),  # twelve equal sites in three parts
    (5, 1, "needed", set(range(12))),  # twelve equal sites in five parts: all are cut
    (3, 12, "needed", {0}),  # one outweighs a part: it alone is cut
    (5, 1, "never", set()),
    (3, 1, "always", set(range(12))),
])  # fmt: skip
def test_metis_site_cuts_no_more_sites_than_the_switch_says(k, giant, wish, cut):
    urls = [
        f"http://h{host:02}.example/{page:04}" for host in range(12) for page in range(40 * (giant if not host else 1))
    ]
    random, ones = Random(5), np.ones(len(urls), np.int64)
    links = sorted({(page, min(max(page + random.randrange(-9, 10), 0), len(urls) - 1)) for page in range(len(urls))})
    data = crawled(Visits([sort_key(url) for url in urls], ones, ones * 20), *np.array(links).T)
    owners = draw(data, BlueprintRequest("metis-site", k, cut_sites=wish)).owners_of(data)
    several = {host for host in range(12) if len({*owners[data.session.sites == host].tolist()}) > 1}
    assert several <= cut and (not cut or several)
    if wish == "needed":
        assert np.bincount(owners).max() <= 1.05 * len(urls) / k


@pytest.mark.parametrize("count", [1, 2, 5])
def test_other_teams_share_a_blueprint_evenly(count):
    names = tuple(f"g{number}" for number in range(count))
    plan = draw(WEB, BlueprintRequest("metis-site", 3, cut_sites="always")).plan(names, ExchangeMode.EXCHANGE, 2)
    loads = Counter(plan.owner_of(key) for key in WEB.keys)
    assert set(loads) == set(names)
    assert max(loads.values()) < 1.25 * len(WEB.keys) / count


def test_hashed_blueprints_need_no_session():
    assert hashed("site-hash", 4) == draw(WEB, BlueprintRequest("site-hash", 4))
    with pytest.raises(UsageError, match="there are superpages"):
        draw(WEB, BlueprintRequest("by-colour", 4))


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_a_cut_lies_between_two_keys(one, other):
    low, high = sorted((one, other))
    if low != high:
        assert low < _between(low, high) <= high


@pytest.mark.parametrize("model", ["superpages", "metis-site", "metis-page"])
def test_only_the_web_that_remains_without_hot_pages_is_partitioned(model):
    """Hubs that all link to hide which hosts are twins; what everybody knows is no reason to stay together."""
    random, size = Random(3), 400
    urls = [f"http://h{page // 25:02}.example/{page % 25:02}" for page in range(size)]
    links = {(page, random.randrange(16) * 25) for page in range(size) for _ in range(6)}
    links |= {(page, (page // 25 * 25 + 200 + random.randrange(1, 25)) % size) for page in range(size) for _ in "ab"}
    sources, targets = np.array(sorted(links)).T
    ones = np.ones(size, np.int64)
    data = crawled(Visits([sort_key(url) for url in urls], ones, ones * 20), sources, targets)
    apart = draw(data, BlueprintRequest(model, 8, hot_pages=16, cut_sites="always"))
    assert sorted(apart.hot_pages) == urls[::25]
    told = msgspec.structs.replace(
        draw(data, BlueprintRequest(model, 8, cut_sites="always")), hot_pages=apart.hot_pages
    )
    assert forecast(data, apart).exchanged_urls < 0.9 * forecast(data, told).exchanged_urls
