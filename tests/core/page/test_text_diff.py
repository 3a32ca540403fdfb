"""The difference of two texts: whatever they are, it holds both; and long ones take no more than their length."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.text_diff import difference

texts = st.lists(st.sampled_from(["a", "b", "c", "long line", "", "x"]) | st.text(max_size=3), max_size=30)


@given(texts, texts)
def test_difference_holds_both_texts(older: list[str], newer: list[str]) -> None:
    found = difference(older, newer)
    assert [line for mark, line in found if mark != "+"] == older
    assert [line for mark, line in found if mark != "-"] == newer


@given(texts)
def test_difference_of_equal_texts_is_empty(text: list[str]) -> None:
    assert {mark for mark, _ in difference(text, text)} <= {" "}


def test_difference_shows_what_was_put_between() -> None:
    found = difference(["one", "two", "three"], ["one", "new", "two", "three"])
    assert [(each.mark, each.line) for each in found if each.mark != " "] == [("+", "new")]


def test_difference_of_long_hostile_texts_ends() -> None:
    """Lines that all occur twice have no anchor; lines in the opposite order have one."""
    twice = [str(number // 2) for number in range(40_000)]
    assert len(difference(twice, twice[::-1])) >= len(twice)
    once = [str(number) for number in range(40_000)]
    assert sum(change.mark == " " for change in difference(once, once[::-1])) == 1
