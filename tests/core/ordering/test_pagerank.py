"""PageRank against its own definition, solved exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.ordering.pagerank import DAMPING, pagerank


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30))
def test_pagerank_solves_its_equation(links: set[tuple[int, int]]) -> None:
    pages, matrix = 8, np.zeros((8, 8))
    for source, target in links:
        matrix[target, source] = 1.0
    degrees = matrix.sum(axis=0)
    matrix = np.where(degrees > 0, matrix / np.maximum(degrees, 1), 1 / pages)
    exact = np.linalg.solve(np.eye(pages) - DAMPING * matrix, np.full(pages, (1 - DAMPING) / pages))
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    targets = np.array([target for _, target in sorted(links)], np.int64)
    found = pagerank(offsets, targets, tolerance=1e-12)
    assert found == pytest.approx(exact)
    assert found.sum() == pytest.approx(1.0)


def test_pagerank_of_nothing_is_empty() -> None:
    assert len(pagerank(np.zeros(1, np.int64), np.empty(0, np.int32))) == 0
