"""Claims and looks: what is borne out, what is granted to a page that changes, and what is not."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.helpers.page_compare import PageView, is_wild, misfit, resembles, same_bytes

WORDS = [f"word{number}" for number in range(400)]
TEXT = " ".join(WORDS)
PAGE = PageView(
    digests=frozenset({"sha1:A", "sha1:B"}),
    links=frozenset(f"http://a.test/{number}" for number in range(40)),
    title="A page",
    text=TEXT,
    words=f"Home About {TEXT} Imprint",
)


def wrong(claim: PageView, *looks: PageView) -> str:
    return misfit(claim, looks or (PAGE,), Random(1))


def links(share: float, made_up: int = 0) -> frozenset[str]:
    kept = sorted(PAGE.links)[: round(share * len(PAGE.links))]
    return frozenset([*kept, *(f"http://evil.test/{number}" for number in range(made_up))])


@given(st.frozensets(st.text(max_size=5)), st.text(max_size=400), st.text(max_size=400), st.integers())
def test_look_bears_itself_out(urls: frozenset[str], title: str, text: str, seed: int) -> None:
    look = PageView(frozenset({"sha1:A"}), urls, title, text)
    assert misfit(look, [look], Random(seed)) == ""
    assert same_bytes(look, look) and resembles(look, look, Random(seed)) and not is_wild([look, look], Random(seed))


def test_no_made_up_link_or_text_is_borne_out() -> None:
    assert not wrong(replace(PAGE, words=""))
    assert wrong(replace(PAGE, links=links(1.0, 1))) == "1 of 41 links are not on the page"
    assert wrong(replace(PAGE, links=links(0.9))) == "4 of 40 links of the page are missing"
    assert wrong(replace(PAGE, links=frozenset()))
    assert wrong(replace(PAGE, title="Buy now", text="cheap pills " * 100)) == "100% of the text is not on the page"
    assert wrong(replace(PAGE, text="")) == f"0 of {len(TEXT)} characters of text"
    assert wrong(replace(PAGE, text=f"{TEXT} {' pills' * 200}"))


def test_two_readers_of_one_page_may_differ_a_little() -> None:
    assert not wrong(replace(PAGE, links=links(0.95)))
    assert not wrong(replace(PAGE, text=" ".join(WORDS[100:300])))  # another idea of the main text
    assert not wrong(replace(PAGE, text=TEXT.replace(" ", "\n").upper(), words=""))


def test_what_differs_between_our_looks_is_granted_twice() -> None:
    later = replace(PAGE, digests=frozenset({"sha1:C"}), links=links(0.9, 4), words=PAGE.words + " 12:01:07")
    claim = replace(PAGE, digests=frozenset({"sha1:D"}))
    assert not wrong(replace(claim, links=links(0.95, 4)), PAGE, later)
    assert not wrong(replace(claim, links=links(0.95) | {"http://a.test/new"}), PAGE, later)
    assert wrong(replace(claim, links=links(0.95, 30)), PAGE, later)
    assert wrong(replace(claim, links=links(1.0) | {"http://a.test/new"}), PAGE, replace(later, links=PAGE.links))


def test_other_state_of_a_page_resembles_it() -> None:
    news = " ".join([*(f"new{number}" for number in range(100)), *WORDS])
    assert resembles(replace(PAGE, links=links(0.8, 5), text=news), PAGE, Random(1))
    assert not resembles(replace(PAGE, links=links(1.0, 60)), PAGE, Random(1))
    assert not resembles(replace(PAGE, text=" ".join(f"other{number}" for number in range(400))), PAGE, Random(1))


def test_page_that_is_another_one_every_time_is_wild() -> None:
    other = replace(PAGE, links=links(0.2, 30))
    assert is_wild([PAGE, other], Random(1)) and not is_wild([PAGE, replace(PAGE, links=links(0.9))], Random(1))


def test_page_without_links_or_words_takes_none() -> None:
    empty = PageView(frozenset({"sha1:A"}), frozenset())
    assert wrong(replace(empty, links=frozenset({"http://evil.test/"})), empty)
    assert wrong(replace(empty, title="x"), empty)
    assert not wrong(empty, empty)
