"""Large inputs of one part repeated, 256 KB each; `scripts/fuzz large` has them in full length."""

import pytest

from .large import inputs, measure, warm

SIZE_BYTES = 1 << 18
INPUTS = {name: (reader, make) for name, reader, make in inputs(SIZE_BYTES)}


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    warm()


@pytest.mark.parametrize("name", INPUTS)
def test_reader_bears_one_part_repeated(name: str) -> None:
    measured = measure(name, *INPUTS[name])
    assert measured.how_it_ended == ""
    assert measured.seconds < 5.0
    assert measured.size_bytes < 200 << 20
