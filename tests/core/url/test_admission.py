"""The guard against spider traps, and the memory of recent links, which is bounded and claims nothing unseen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.admission import Guard, Recent

SITE = "http://example.com"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/", ""),
        ("/news/2024/02/29/a-story.html", ""),
        ("/a/b/a/b/a/b", "repeating path"),
        ("/a/b/a/b/a/b/", "repeating path"),
        ("/x/a/b/a/b/a/b/y", "repeating path"),
        ("/a/b/a/b/c", ""),
        ("/x/x/x/x", "repeating path"),
        ("/x/x/x", ""),
        ("/tiles/1/1/1.png", ""),
        ("/a/b/c/d/a/b/c/d/a/b/c/d", "repeating path"),
        ("/a/1/a/2/a/3/a/4", "repeating path"),
        ("/a/1/a/2/a/3", ""),
        ("////", "repeating path"),
        ("/" + "/".join(map(str, range(25))), ""),
        ("/" + "/".join(map(str, range(26))), "too many path segments"),
        ("/?u=/a/a/a/a/a/a/a", ""),
        ("/?a=1&a=1&a=1", ""),
        ("/?a=1&a=1&a=1&a=1", "repeating query"),
        ("/?a=1&a=2&a=3&a=4", ""),
        ("/?" + "&".join(f"p{n}" for n in range(24)), ""),
        ("/?" + "&".join(f"p{n}" for n in range(25)), "too many parameters"),
        ("/" + "a" * (2000 - len(SITE) - 1), ""),
        ("/" + "a" * (2000 - len(SITE)), "too long"),
    ],
)
def test_refuses_what_looks_like_a_trap(path: str, reason: str) -> None:
    assert Guard().refuses(SITE + path, 1000) == reason


def test_refuses_by_depth() -> None:
    guard = Guard(max_depth=3)
    assert guard.refuses(SITE + "/", 3) == ""
    assert guard.refuses(SITE + "/", 4) == "too deep"


@pytest.mark.parametrize(
    ("guard", "path"),
    [
        (Guard(max_repeats=1), "/a/a"),
        (Guard(max_repeats=2), "/a/b/a/b"),
        (Guard(max_path_segments=2), "/a/b/c"),
        (Guard(max_repeats=0, max_path_segments=2), "/a/b/c"),
        (Guard(max_query_params=1), "/?a&b"),
        (Guard(max_url_bytes=20), "/ab"),
    ],
)
def test_refuses_at_every_setting(guard: Guard, path: str) -> None:
    assert guard.refuses(SITE + path, 0)


def test_zero_is_no_limit() -> None:
    endless = SITE + "/a" * 3000 + "?" + "x=1&" * 3000
    assert Guard(0, 0, 0, 0, 0).refuses(endless, 10**6) == ""


@given(st.lists(st.sampled_from("ab") | st.sampled_from("cdefg"), max_size=16), st.integers(1, 4))
def test_refuses_repeating_paths_as_defined(segments: list[str], repeats: int) -> None:
    """Against the definition, spelled out: too often in all, or two or more segments so often in a row."""
    size = len(segments)
    too_often = any(segments.count(segment) > repeats for segment in segments)
    in_a_row = any(
        segments[start : start + n] * repeats == segments[start : start + n * repeats]
        for n in range(2, size + 1)
        for start in range(size - n * repeats + 1)
    )
    refused = Guard(max_repeats=repeats).refuses(f"{SITE}/{'/'.join(segments)}", 0)
    expected = too_often or (repeats > 1 and in_a_row)
    assert (refused == "repeating path") == expected


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
