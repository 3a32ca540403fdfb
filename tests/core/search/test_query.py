"""The language: what each form means, what is refused and why; any text is a query or a UsageError, in linear time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.search.matching import matches
from gcs.core.search.query import Between, Every, Is, Phrase, Some, Without, day_of, parse, phrases
from gcs.core.search.words import words
from gcs.errors import UsageError

from .pages import page, pages, queries


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("Crawler", Phrase(("crawler",))),
        ("red blue", Every((Phrase(("red",)), Phrase(("blue",))))),
        ("red AND blue", Every((Phrase(("red",)), Phrase(("blue",))))),
        ('"tuple space"', Phrase(("tuple", "space"))),
        ("e-mail", Phrase(("e", "mail"))),
        ("https://a.example/x", Phrase(("https", "a", "example", "x"))),
        ("craw*", Phrase(("craw",), is_prefix=True)),
        ("red OR blue green", Some((Phrase(("red",)), Every((Phrase(("blue",)), Phrase(("green",))))))),
        ("(red OR blue) green", Every((Some((Phrase(("red",)), Phrase(("blue",)))), Phrase(("green",))))),
        ("red -draft", Every((Phrase(("red",)), Without(Phrase(("draft",)))))),
        ("red NOT (a OR b)", Every((Phrase(("red",)), Without(Some((Phrase(("a",)), Phrase(("b",)))))))),
        ("title:Red", Phrase(("red",), in_title=True)),
        ('TITLE:"red hot"', Phrase(("red", "hot"), in_title=True)),
        ("site:Example.ORG.", Is("site", "example.org")),
        ("language:EN", Is("lang", "en")),
        ("date:2024", Between("date", 20240000, 20241231)),
        ("date:2024-05..2024-06-15", Between("date", 20240500, 20240615)),
        ("date:<2024-05", Between("date", 0, 20240499)),
        ("date:>2024", Between("date", 20241232)),
        ("depth:<=2", Between("depth", 0, 2)),
        ("depth:3", Between("depth", 3, 3)),
        ("red red", Phrase(("red",))),
    ],
)
def test_forms(text: str, node: object) -> None:
    assert parse(text) == node


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "at least one word"),
        ("-draft", "at least one word"),
        ("red OR -blue", "at least one word"),
        ("...", "at least one word"),
        ('"open', "without its end"),
        ("(red", "without its )"),
        ("red)", "without its ("),
        ("date:May", "no range"),
        ("depth:x..3", "no range"),
        ("change:often", "one of new"),
        ("r*", "at least 2 letters"),
        ("x" * 3_000, "longer than"),
        ("a " * 300, "more than 100 parts"),
        ("(" * 30 + "a" + ")" * 30, "deep"),
    ],
)
def test_refusals_say_why(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text)
    assert reason in str(error.value)


@given(st.text(alphabet='ab:-()"*.<>=ORNT 1٣é', max_size=80) | st.text(max_size=80))
def test_any_text_is_a_query_or_an_error(text: str) -> None:
    try:
        node = parse(text)
    except UsageError:
        return
    matches(node, page(1, "a", "b"))
    assert all(each.words for each in phrases(node))


@given(queries, pages)
def test_a_page_matches_or_not_as_logic_says(text: str, some: list) -> None:
    """Against the plain meaning of the parts."""
    node = parse(text)

    def holds(part: Any, one: Any) -> bool:
        if isinstance(part, Every):
            return all(holds(each, one) for each in part.parts)
        if isinstance(part, Some):
            return any(holds(each, one) for each in part.parts)
        if isinstance(part, Without):
            return not holds(part.part, one)
        if isinstance(part, Phrase):
            return any(_stands(part, words(text)) for text in ([one.title] if part.in_title else [one.title, one.text]))
        if isinstance(part, Is) and part.field == "site":
            return f".{one.host}".endswith(f".{part.value}")
        if isinstance(part, Is):
            return {"lang": one.lang, "type": one.kind, "change": one.change}[part.field] == part.value
        return part.least <= {"date": one.day, "depth": one.depth}[part.field] <= part.most

    for one in some:
        assert matches(node, one) == holds(node, one)


def _stands(phrase: Phrase, found: list[str]) -> bool:
    size = len(phrase.words)
    for at in range(len(found) - size + 1):
        here = found[at : at + size]
        if here == list(phrase.words) or (
            phrase.is_prefix and here[:-1] == list(phrase.words[:-1]) and here[-1].startswith(phrase.words[-1])
        ):
            return True
    return False


@pytest.mark.parametrize(
    ("date", "day"),
    [
        ("2024-05-06T10:00:00Z", 20240506),
        ("2024-05", 20240501),
        ("2024", 20240101),
        ("", 0),
        ("May", 0),
        ("2024-99", 0),
    ],
)
def test_days_of_dates(date: str, day: int) -> None:
    assert day_of(date) == day
