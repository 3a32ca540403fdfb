"""Ranges behave as the sets of keys that they stand for."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.plan.keyspace import contains, intersect, subtract, unite

KEYS = [bytes([number]) for number in range(16)]
pieces = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS)).map(lambda pair: tuple(sorted(pair))))


def members(ranges: object) -> set[bytes]:
    return {key for key in KEYS if any(low <= key < high for low, high in ranges)}


def is_normal(ranges: tuple[tuple[bytes, bytes], ...]) -> bool:
    flat = [key for pair in ranges for key in pair]
    return flat == sorted(flat) and all(low < high for low, high in ranges)


@given(pieces, pieces)
def test_ranges_are_sets_of_keys(one: list, other: list) -> None:
    first, second = unite(one), unite(other)
    assert is_normal(first)
    assert members(first) == members(one)
    for result, wanted in (
        (subtract(first, second), members(one) - members(other)),
        (intersect(first, second), members(one) & members(other)),
    ):
        assert is_normal(result)
        assert members(result) == wanted
    assert {key for key in KEYS if contains(first, key)} == members(one)
