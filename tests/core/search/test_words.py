"""Words: the same whatever their case, accents and forms; and the same when they are taken again."""

import sys
import unicodedata
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.search import words as of_words
from gcs.core.search.words import LONGEST, MOST_MARKS, joined, words

#: letters that change, join or part with those beside them, and some that do not
_LETTERS = "aB_ -1éÅİßſﬁ½…“™сЯйё가ᄀ\u1161\u11a8か\u3099ﾊﾞ東ักשׁ\u05c1\u0345\u0301ΑςΣἘ\u09be\ud800"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Café’s naïve ＴＥＳＴ", ["the", "cafe", "s", "naive", "test"]),
        ("straße STRASSE", ["strasse", "strasse"]),
        ("Ёлка ёлка", ["елка", "елка"]),
        ("東京タワー and 한국어", ["東", "京", "タ", "ワ", "ー", "and", "한국어"]),
        ("हिन्दी शब्द", ["हिन्दी", "शब्द"]),
        ("foo_bar 3.14 e-mail", ["foo_bar", "3", "14", "e", "mail"]),
        ("", []),
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text(max_size=60))
def test_words_taken_again_are_the_same(text: str) -> None:
    found = words(text)
    assert words(" ".join(found)) == found
    assert all(0 < len(word) <= LONGEST and not word.isspace() and '"' not in word for word in found)


@given(st.text(alphabet="abcXYZ é-_1\n", max_size=60))
def test_case_does_not_count(text: str) -> None:
    assert words(text.upper()) == words(text.lower())


@given(st.text(st.sampled_from(_LETTERS), max_size=200) | st.text(max_size=60))
def test_letters_taken_one_by_one_make_the_same_words(text: str) -> None:
    """The quick way against the one that takes the text as a whole."""
    with mock.patch.object(of_words, "_by_letters", lambda _text: None):
        expected = words(text)
    assert words(text) == expected and joined(text).split() == expected


def test_letters_of_all_kinds_are_taken_one_by_one() -> None:
    for text in ("Тихий Дон — роман", "東京タワー、と", "naïve “Straße” 3½", "가나다"):
        assert of_words._by_letters(text) is not None


def test_marks_are_in_the_planes_that_are_looked_at() -> None:
    for code in set(range(sys.maxunicode + 1)).difference(of_words._CODES):
        assert unicodedata.category(chr(code)) not in ("Mn", "Mc") and not unicodedata.combining(chr(code))


def test_long_word_is_cut_into_words() -> None:
    assert words("x" * 150) == ["x" * 64, "x" * 64, "x" * 22]


@pytest.mark.parametrize("marks", ["\u05b0\u0591", "\u0344\u05b0", "\uff9e\u05b0"])
def test_marks_without_end_on_a_letter_do_not_count(marks: str) -> None:
    """Normal forms sort them, in time that grows with the square of their number: half a megabyte took a minute."""
    found = words(f"x{marks * 100_000}")
    assert 1 <= len("".join(found)) <= 1 + MOST_MARKS
    assert words(" ".join(found)) == found
