"""Groups of pages that are nearly the same: as a comparison of each with all finds them, in bounded time."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.near_duplicates import MOST_LOOKED_AT, SimhashGroups, is_near


def slowly(signatures: list[int]) -> list[set[int]]:
    """For each page, the groups that it may be in."""
    firsts: list[int] = []
    found = []
    for number, signature in enumerate(signatures):
        near = {first for first in firsts if signature and is_near(signatures[first], signature)}
        found.append(near or {number})
        if not near and signature:
            firsts.append(number)
    return found


def flipped(signature: int, bits: set[int]) -> int:
    return signature ^ sum(1 << bit for bit in bits)


bases = st.sampled_from([0, 1, 0xFFFF, 0x0123456789ABCDEF, (1 << 64) - 1])
signatures = st.builds(flipped, bases, st.sets(st.integers(0, 63), max_size=5))


@given(st.lists(signatures, max_size=40))
def test_groups_are_those_that_a_look_at_all_finds(some: list[int]) -> None:
    groups = SimhashGroups()
    for signature, possible in zip(some, slowly(some)):
        assert groups.group_of(signature) in possible


def test_near_is_three_bits() -> None:
    assert is_near(0b111, 0) and not is_near(0b1111, 0)


def test_pages_without_a_text_are_like_none() -> None:
    groups = SimhashGroups()
    assert [groups.group_of(0) for _ in range(3)] == [0, 1, 2]


def test_signatures_that_a_stranger_made_up_cost_bounded_work() -> None:
    """All with one part in common, and none near another."""
    groups, looked = SimhashGroups(), []
    candidates = groups._candidates

    def counted(signature: int) -> list[int]:
        found = list(candidates(signature))
        looked.append(len(found))
        return found

    groups._candidates = counted  # type: ignore[method-assign,assignment]
    for number in range(1, 3_000):
        groups.group_of(number * 0x9E3779B97F4A7C15 % (1 << 48) << 16 | 7)
    assert max(looked) <= 4 * MOST_LOOKED_AT
