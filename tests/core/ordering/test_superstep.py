"""The prediction of a superstep, against the paper's own loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.ordering.superstep import Replay, Superstep, predict, replay_of


@st.composite
def webs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    pages = draw(st.integers(1, 30))
    links = sorted(draw(st.sets(st.tuples(st.integers(0, pages - 1), st.integers(0, pages - 1)), max_size=120)))
    offsets = np.searchsorted([source for source, _ in links], np.arange(pages + 1)).astype(np.int64)
    targets = np.array([target for _, target in links], np.int64)
    owners = np.array(draw(st.lists(st.integers(0, 3), min_size=pages, max_size=pages)), np.int64)
    importance = np.array(draw(st.permutations(range(pages))), np.float64)
    return offsets, targets, owners, importance


def by_the_paper(web: tuple[np.ndarray, ...], beta: int) -> Superstep:
    """Steps 1 to 6 of section 2, word by word, with the last superstep counted too."""
    offsets, targets, owners, importance = web
    fetched, waiting = [0] * 4, [0] * 4
    linked: set[int] = set()
    extracted: list[int] = []
    errors: list[float] = []
    for page in np.argsort(-importance).tolist():
        if any(count > beta for count in waiting):
            errors.append(len(linked & set(extracted)) / len(extracted))
            waiting, linked, extracted = [0] * 4, set(), []
        fetched[owners[page]] += 1
        extracted.append(page)
        for target in targets[offsets[page] : offsets[page + 1]].tolist():
            if owners[target] != owners[page]:
                waiting[owners[target]] += 1
                linked.add(target)
    errors.append(len(linked & set(extracted)) / len(extracted))
    return Superstep(max(-(-max(fetched) // len(errors)), 1), beta, float(np.mean(errors)), len(errors))


@given(webs(), st.integers(1, 12))
def test_replay_does_what_the_paper_says(web: tuple[np.ndarray, ...], beta: int) -> None:
    found, expected = Replay(*web).run(beta), by_the_paper(web, beta)
    assert (found.pages, found.count) == (expected.pages, expected.count)
    assert found.error == pytest.approx(expected.error)


@given(webs(), st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_predict_keeps_to_its_bound(web: tuple[np.ndarray, ...], bound: float) -> None:
    replay = Replay(*web)
    found = predict(replay, bound)
    assert found == replay.run(found.messages)
    assert found.error <= bound or found.messages == 1
    if bound == 1.0:
        assert found.count == 1, "with any error allowed, nobody need ever send"


def test_predict_needs_no_exchange_where_nothing_crosses() -> None:
    alone = Replay(np.array([0, 1, 2]), np.array([1, 0]), np.zeros(2, np.int64), np.array([1.0, 2.0]))
    assert predict(alone) == Superstep(2, 1, 0.0, 1)


@given(webs(), st.sampled_from([0.0, 0.05, 0.3]))
def test_predict_finds_where_the_error_becomes_too_large(web: tuple[np.ndarray, ...], bound: float) -> None:
    """A search that ends early, or answers 1 to be safe, costs exchanges for nothing."""
    replay = Replay(*web)
    beta = predict(replay, bound).messages
    if beta < replay.most_messages:
        behind = range(beta + 1, beta + max(beta // 64, 1) + 1)
        assert any(replay.run(messages).error > bound for messages in behind)


def test_predict_finds_a_border_in_the_middle() -> None:
    chance = np.random.default_rng(1)
    sources, targets = chance.integers(0, 3000, (2, 20_000))
    replay = replay_of(sources, targets, np.arange(3000) % 4)
    found, most = predict(replay), replay.most_messages
    assert found.error <= 0.05 < replay.run(found.messages + found.messages // 32 + 2).error
    assert 10 < found.messages < most / 4
