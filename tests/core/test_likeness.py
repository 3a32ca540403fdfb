"""Two looks at a page: what is let pass, and what is not."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.likeness import Likeness, Look, compare

WORDS = [f"word{number}" for number in range(400)]
TEXT = " ".join(WORDS)
PAGE = Look(
    digests=frozenset({"sha1:A", "sha1:B"}),
    links=frozenset(f"http://a.test/{number}" for number in range(40)),
    title="A page",
    text=TEXT,
    words=f"Home About {TEXT} Imprint",
)


def likeness(claim: Look, own: Look = PAGE) -> Likeness:
    return compare(claim, own, Random(1))[0]


def with_links(share: float, made_up: int = 0) -> frozenset[str]:
    kept = sorted(PAGE.links)[: round(share * len(PAGE.links))]
    return frozenset([*kept, *(f"http://evil.test/{number}" for number in range(made_up))])


@given(st.frozensets(st.text(max_size=5)), st.text(), st.text(), st.integers())
def test_same_look_is_the_same_page(links: frozenset[str], title: str, text: str, seed: int) -> None:
    look = Look(frozenset({"sha1:A"}), links, title, text)
    assert compare(look, look, Random(seed)) == (Likeness.SAME, "")


def test_same_bytes_leave_no_room_for_made_up_links_or_words() -> None:
    assert likeness(replace(PAGE, digests=frozenset({"sha1:B"}), words="")) is Likeness.SAME
    assert likeness(replace(PAGE, links=with_links(1.0, 2))) is Likeness.SAME  # two readers of odd markup
    assert likeness(replace(PAGE, links=with_links(1.0, 3))) is Likeness.OTHER
    assert likeness(replace(PAGE, links=with_links(0.9))) is Likeness.OTHER
    assert likeness(replace(PAGE, links=frozenset())) is Likeness.OTHER
    assert likeness(replace(PAGE, title="Buy now", text="cheap pills " * 100)) is Likeness.OTHER
    assert likeness(replace(PAGE, text="")) is Likeness.OTHER
    assert likeness(replace(PAGE, text=" ".join(WORDS[100:300]))) is Likeness.SAME  # another idea of the main text
    half_false = " ".join(WORDS[:200]) + " pills" * 200
    assert likeness(replace(PAGE, text=half_false)) is Likeness.OTHER


def test_page_that_changed_a_little_is_let_pass() -> None:
    changed = replace(PAGE, digests=frozenset({"sha1:C"}))
    assert likeness(changed) is Likeness.CHANGED
    news = " ".join([*(f"new{number}" for number in range(100)), *WORDS])
    assert likeness(replace(changed, links=with_links(0.8, 5), text=news)) is Likeness.CHANGED
    assert likeness(replace(changed, links=with_links(0.5))) is Likeness.OTHER
    assert likeness(replace(changed, links=with_links(1.0, 40))) is Likeness.OTHER
    assert (
        likeness(replace(changed, title="", text=" ".join(f"other{number}" for number in range(400)))) is Likeness.OTHER
    )


def test_page_without_links_or_words_takes_none() -> None:
    empty = Look(frozenset({"sha1:A"}), frozenset())
    assert likeness(replace(empty, links=frozenset({"http://evil.test/"})), empty) is Likeness.OTHER
    assert likeness(replace(empty, title="x"), empty) is Likeness.OTHER
    assert likeness(empty, empty) is Likeness.SAME


def test_white_space_and_case_do_not_count() -> None:
    squeezed = replace(PAGE, text=TEXT.replace(" ", "\n").upper(), words="")
    assert likeness(squeezed) is Likeness.SAME
