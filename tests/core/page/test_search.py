"""Searching against an oracle that is slow and plain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.search import Hit, Query, Search, words
from gcs.errors import UsageError

texts = st.lists(st.sampled_from(["red", "Red", "blue,", "green", "GREEN.", "été"]), max_size=12).map(" ".join)


def find(line: str, *pages: tuple[str, str]) -> list[Hit]:
    search = Search(Query.parse(line))
    for number, (title, text) in enumerate(pages):
        search.add(f"http://a.example/{number}", "a.example", title, text)
    return search.best(100)


@given(st.lists(st.tuples(texts, texts), max_size=8), st.sampled_from(["red", "red blue", '"red blue"', "red -green"]))
def test_search_finds_exactly_the_pages_that_match(pages: list[tuple[str, str]], line: str) -> None:
    found = {hit.url for hit in find(line, *pages)}
    for number, (title, text) in enumerate(pages):
        plain = {f" {' '.join(words(part))} " for part in (title, text)}
        wanted = ["red blue"] if '"' in line else [word for word in line.split() if not word.startswith("-")]
        match = all(any(f" {word} " in part for part in plain) for word in wanted)
        match &= not ("-green" in line and any(" green " in part for part in plain))
        assert (f"http://a.example/{number}" in found) == match


def test_search_prefers_titles_more_occurrences_and_shorter_pages() -> None:
    filler = "and so on " * 20
    pages = (
        ("", filler + "whiteboard"),
        ("Whiteboard", filler + "x"),
        ("", filler + "whiteboard whiteboard"),
        ("", "none"),
    )
    assert [hit.url[-1] for hit in find("whiteboard", *pages)] == ["1", "2", "0"]
    short, long = ("", "whiteboard and more"), ("", filler + "whiteboard")
    assert [hit.url[-1] for hit in find("whiteboard", long, short)] == ["1", "0"]


def test_search_shows_where_it_was() -> None:
    [hit] = find("needle", ("", "hay " * 100 + "the needle in it" + " hay" * 100))
    assert hit.excerpt.startswith("… hay")
    assert "the needle in it" in hit.excerpt
    assert len(hit.excerpt) < 200


def test_query_names_sites_and_needs_words() -> None:
    query = Query.parse("word site:example.org")
    assert query.is_at("docs.example.org")
    assert not query.is_at("badexample.org")
    with pytest.raises(UsageError, match="at least one word"):
        Query.parse("-only site:x")
