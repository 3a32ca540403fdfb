from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.report.explored import Explored, ExploredEvidence, ExploredShare


def random_web(pages, degree, seed):
    """Links to uniformly random pages: the case for which Good and Toulmin are exact."""
    random = Random(seed)
    return [random.sample(range(pages), degree) for _ in range(pages)]


def crawl(web, stop):
    """Fetch in the order of discovery until `stop` pages are fetched."""
    explored = Explored()
    known, queue = {0}, [0]
    explored.known(1)
    for fetched, page in enumerate(queue):
        if fetched == stop:
            break
        fresh = [link for link in dict.fromkeys(web[page]) if link not in known]
        known.update(fresh)
        queue += fresh
        explored.known(len(fresh))
        explored.count_page([f"http://h/{link}" for link in web[page]])
    return explored, len(known)


@pytest.mark.parametrize("degree", [2, 4, 12])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_fraction_of_a_random_web_is_near_the_truth(degree, share):
    web = random_web(3000, degree, degree)
    _, reachable = crawl(web, len(web) + 1)
    explored, _ = crawl(web, round(share * reachable))
    assert explored.fraction() == pytest.approx(share, abs=0.05)
    found = explored.estimate()
    assert found.low - 0.01 <= share <= found.high + 0.01


def test_fraction_runs_from_nothing_to_all():
    explored = Explored()
    assert explored.estimate() == ExploredShare(0.0, 0.0, 1.0)
    explored.known(1)
    explored.count_page(["a", "b"])
    explored.known(2)
    assert 0 <= explored.fraction() <= 1 / 3
    explored.count_page([])
    explored.count_page([])
    assert explored.estimate() == ExploredShare(1.0, 1.0, 1.0)


@given(st.lists(st.tuples(st.lists(st.integers(0, 50), max_size=8, unique=True), st.integers(0, 9)), max_size=80))
def test_estimate_is_always_a_fraction_within_its_bounds(pages):
    explored = Explored(sample=16)
    for links, fresh in pages:
        explored.count_page([str(link) for link in links])
        explored.known(fresh)
        found = explored.estimate()
        assert 0 <= found.low <= found.fraction + 1e-9 and found.fraction <= found.high + 1e-9 <= 1 + 2e-9


def test_sample_stays_bounded_and_keeps_its_answer():
    web = random_web(6000, 5, 4)
    whole, known = crawl(web, 2500)
    small = Explored(sample=500)
    small.known(known)
    for page in crawl_order(web, 2500):
        small.count_page([f"http://h/{link}" for link in web[page]])
    assert len(small.evidence.backlinks) <= 500
    once = [sum(n == 1 for n in e.evidence.backlinks.values()) / len(e.evidence.backlinks) for e in (small, whole)]
    assert once[0] == pytest.approx(once[1], abs=0.07)


def crawl_order(web, stop):
    queue = dict.fromkeys([0])
    pages = list(queue)
    at = 0
    while at < stop:
        for link in web[pages[at]]:
            if link not in queue:
                queue[link] = None
                pages.append(link)
        at += 1
    return pages[:stop]


def test_history_stays_short():
    explored = Explored()
    explored.known(100_000)
    for _ in range(50_000):
        explored.count_page([])
    assert len(explored.evidence.history) < 250


def test_evidence_is_not_shared_between_crawls():
    one, two = Explored(), Explored()
    one.count_page(["a"])
    assert two.evidence == ExploredEvidence()


def test_links_that_the_crawl_does_not_follow_are_not_counted() -> None:
    explored, asked = Explored(), list[str]()

    def is_wanted(url: str) -> bool:
        asked.append(url)
        return url != "b"

    explored.count_page(["a", "b"], is_wanted)
    explored.count_page(["a", "b"], is_wanted)
    assert list(explored.evidence.backlinks.values()) == [2]
    assert asked == ["a", "b", "b"]
