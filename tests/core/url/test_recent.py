"""The memory of recent links is bounded and never claims what it did not see."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.admission import Recent


@given(st.lists(st.lists(st.integers(0, 30).map(str), unique=True)), st.integers(2, 20))
def test_recent_only_withholds_what_it_has_seen(pages: list[list[str]], capacity: int) -> None:
    recent, seen = Recent(capacity), set()
    for urls in pages:
        fresh = recent.fresh(urls)
        assert set(urls) - set(fresh) <= seen
        seen |= set(urls)


def test_recent_remembers_at_least_half_its_capacity() -> None:
    recent = Recent(100)
    urls = [str(number) for number in range(1000)]
    recent.fresh(urls[:-50])
    recent.fresh(urls[-50:])
    assert recent.fresh(urls[-49:]) == []


def test_recent_forgets_everything_when_told() -> None:
    recent = Recent(100)
    recent.fresh(["a"])
    recent.clear()
    assert recent.fresh(["a"]) == ["a"]
