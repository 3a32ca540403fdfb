"""Quality and coverage so far, against the studies' measure and against the whole."""

import random

import numpy as np
import pytest

from gcs.core.plan import metrics
from gcs.core.report.explored import Explored
from gcs.core.report.quality import LinkSample, merged, met_share, quality, sample

PAGES = 3_000


def web(seed: int, pages: int) -> dict[str, list[str]]:
    """A web whose pages link to popular ones."""
    chance = random.Random(seed)
    names = [f"http://h/{page}" for page in range(pages)]
    return {
        name: sorted({names[int(pages * chance.random() ** 3)] for _ in range(chance.randrange(1, 12))})
        for name in names
    }


def count(explored: Explored, links: list[str], url: str, *, is_page: bool = True) -> None:
    explored.count_page(links)
    explored.count_dealt_with(url, is_page=is_page)


def seen(links: dict[str, list[str]], fetched: list[str], most: int = 1 << 30) -> Explored:
    explored = Explored(sample=most)
    for url in fetched:
        count(explored, links[url], url)
    return explored


def truth(links: dict[str, list[str]], fetched: list[str]) -> float:
    """By the measure of the studies, over all URLs that were met."""
    backlinks: dict[str, int] = dict.fromkeys(fetched, 0)
    for url in fetched:
        for target in links[url]:
            backlinks[target] = backlinks.get(target, 0) + 1
    names = {name: place for place, name in enumerate(backlinks)}
    return metrics.quality(np.array(list(backlinks.values())), np.array([names[url] for url in fetched]))


@pytest.mark.parametrize("seed", range(10))
def test_quality_of_a_small_crawl_is_exact(seed: int) -> None:
    links = web(seed, 200)
    fetched = random.Random(seed).sample(list(links), 60)
    assert quality(sample(seen(links, fetched).evidence, 1_000)) == pytest.approx(truth(links, fetched))


@pytest.mark.parametrize("seed", range(5))
def test_quality_of_a_large_crawl_is_told_from_a_sample(seed: int) -> None:
    links = web(seed, PAGES)
    fetched = random.Random(seed).sample(list(links), PAGES // 2)
    told = sample(seen(links, fetched, most=2_000).evidence, 800)
    assert len({*told.backlinks, *told.dealt_with}) <= 800
    assert quality(told) == pytest.approx(truth(links, fetched), abs=0.06)


def test_samples_of_a_team_make_the_sample_of_one() -> None:
    links = web(1, PAGES)
    fetched = random.Random(1).sample(list(links), 1_500)
    alone = sample(seen(links, fetched).evidence, 500)
    for most in (1 << 30, 1_000):  # one of them has seen less, and has thinned its evidence less
        parts = [seen(links, fetched[:1_200], most), seen(links, fetched[1_200:], most)]
        team = merged([sample(part.evidence, 500) for part in parts], 500)
        assert team.limit <= alone.limit
        assert team.backlinks == {url: n for url, n in alone.backlinks.items() if url < team.limit}
        assert team.dealt_with == {url: n for url, n in alone.dealt_with.items() if url < team.limit}
        assert len(team.backlinks) >= 200


def test_what_is_no_page_neither_counts_for_nor_against() -> None:
    explored = Explored()
    count(explored, ["http://h/a", "http://h/b", "http://h/broken", "http://h/secret"], "http://h/")
    count(explored, ["http://h/a"], "http://h/a")
    count(explored, [], "http://h/broken", is_page=False)
    explored.count_dealt_with("http://h/secret", is_page=False)
    told = sample(explored.evidence)
    assert met_share(told) == 2 / 3
    assert quality(told) == 0.5, "a has two links, b and the seed one and none, and the seed was fetched"


def test_nothing_fetched_has_no_quality() -> None:
    assert quality(LinkSample()) is None
    assert met_share(LinkSample()) == 1.0


def test_page_of_one_gatherer_is_a_page_though_another_got_an_error() -> None:
    for order in ((True, False), (False, True)):
        team = merged([LinkSample(dealt_with={7: was}) for was in order])
        assert team.dealt_with == {7: True}
