"""Thousands of profiles against a page: exactly those that match, without a look at each."""

import random

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.search.matching import matches
from gcs.core.search.query import parse
from gcs.core.search.searchable import Searchable
from gcs.core.watch.profile_index import _LEARN_EVERY, _LEARNT, ProfileIndex, keys_of
from tests.core.search.pages import page, pages, queries


@given(st.lists(queries, max_size=12), pages)
def test_matching_names_exactly_the_profiles_that_match(some: list[str], found: list[Searchable]) -> None:
    index = ProfileIndex()
    for number, query in enumerate(some):
        index.add(f"p{number}", query)
    for one in found:
        brute = sorted(f"p{number}" for number, query in enumerate(some) if matches(parse(query), one))
        assert index.matching(one) == brute


@given(st.lists(st.tuples(st.integers(0, 5), st.none() | queries), max_size=20), pages)
def test_profiles_come_change_and_go(steps: list[tuple[int, str | None]], found: list[Searchable]) -> None:
    index, there = ProfileIndex(), dict[str, str]()
    for number, query in steps:
        if query is None:
            index.remove(f"p{number}")
            there.pop(f"p{number}", None)
        else:
            index.add(f"p{number}", query)
            there[f"p{number}"] = query
    assert len(index) == len(there)
    for one in found:
        assert index.matching(one) == sorted(name for name, query in there.items() if matches(parse(query), one))


def test_keys_are_the_rarest_that_a_match_must_have() -> None:
    assert keys_of(parse('crawler "the tuplespace" site:a.example lang:en')) == {("word", "tuplespace")}
    assert keys_of(parse("site:a.example lang:en")) == {("site", "a.example")}
    assert keys_of(parse("red OR site:a.example")) == {("word", "red"), ("site", "a.example")}
    assert keys_of(parse("whit* date:2024")) == {("start", "wh")}
    assert keys_of(parse("date:2024")) is None
    assert keys_of(parse("red OR date:2024")) is None


def test_few_of_many_profiles_are_asked() -> None:
    chance = random.Random(1)
    words = [f"w{number}" for number in range(5_000)]
    index = ProfileIndex()
    for number in range(2_000):
        index.add(f"p{number}", " ".join(chance.sample(words, 2)))
    asked = [len(index.candidates(page(n, "", " ".join(chance.sample(words, 100))))) for n in range(20)]
    assert sum(asked) / 20 < 100


def test_what_was_learnt_of_words_changes_keys_and_no_match() -> None:
    """A long word that is on every page is no key any more when that is known."""
    index = ProfileIndex()
    for number in range(50):
        index.add(f"p{number}", f'"documentation w{number}"')
    common = page(1, "", "the documentation of something")
    assert len(index.candidates(common)) == 50
    for _ in range(_LEARNT * _LEARN_EVERY):
        index.matching(common)
    assert index.candidates(common) == set()
    assert index.matching(page(2, "", "documentation w7")) == ["p7"]
    index.remove("p7")
    assert index.matching(page(2, "", "documentation w7")) == []


@given(st.lists(queries, max_size=12), pages)
def test_matching_is_as_exact_after_it_has_learnt(some: list[str], found: list[Searchable]) -> None:
    index = ProfileIndex()
    for number, query in enumerate(some):
        index.add(f"p{number}", query)
    index._often.update(word for one in found for word in one.vocabulary)
    index._met, index._learnt = _LEARN_EVERY - 1, _LEARNT - 1
    for one in (*found, *found):
        brute = sorted(f"p{number}" for number, query in enumerate(some) if matches(parse(query), one))
        assert index.matching(one) == brute
