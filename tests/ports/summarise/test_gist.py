import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.ports.summarise.gist import gist

FIRST = "The first sentence is here, and it is long enough to be one."
SECOND = 'The second one asks: "Is it?"'
THIRD = "The third one ends it!"


@pytest.mark.parametrize(
    ("description", "text", "expected"),
    [
        ("What it says.", "Other words entirely.", "What it says."),
        ("", f"{FIRST} {SECOND} {THIRD} The fourth is too many.", f"{FIRST} {SECOND} {THIRD}"),
        ("", f"Menu\nHome\n{FIRST}\n{SECOND} {THIRD} {FIRST}", f"{FIRST} {SECOND} {THIRD}"),
        ("", "Only a heading", "Only a heading"),
        ("", "", ""),
        ("", "これは最初の文です。" * 5, "これは最初の文です。 これは最初の文です。 これは最初の文です。"),
        ("", "Version 3.11 came out in 2022 and it was faster. It was good.", None),
    ],
)
def test_gist_is_the_description_or_the_first_sentences(description: str, text: str, expected: str | None) -> None:
    assert gist(description, text) == (text if expected is None else expected)


def test_gist_cuts_at_a_word() -> None:
    long = gist("word " * 200, "")
    assert long.endswith("word…")
    assert len(long) <= 401


@given(st.text(max_size=50), st.text(max_size=2000))
def test_gist_is_short(description: str, text: str) -> None:
    assert len(gist(description, text)) <= 401
