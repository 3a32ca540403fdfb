import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import Document
from gcs.ports.reader import gist

FIRST = "The first sentence is here, and it is long enough to be one."
SECOND = 'The second one asks: "Is it?"'
THIRD = "The third one ends it!"


def page(description: str, text: str) -> Document:
    return Document(hrefs=[], description=description, text=text)


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
    assert gist(page(description, text)) == (text if expected is None else expected)


def test_gist_cuts_at_a_word() -> None:
    long = gist(page("word " * 200, ""))
    assert long.endswith("word…")
    assert len(long) <= 401


@given(st.text(max_size=50), st.text(max_size=2000))
def test_gist_is_short(description: str, text: str) -> None:
    assert len(gist(page(description, text))) <= 401
