"""Search without an index: which pages are found, in which order, and what is shown of them."""

from hypothesis import given

from gcs.core.search.matching import matches
from gcs.core.search.query import Phrase, parse, phrases
from gcs.core.search.results import Asked, Hit, SearchResults, present
from gcs.core.search.scan import Scan
from gcs.core.search.searchable import Searchable, kind_of, sites_of
from gcs.core.search.snippet import LENGTH, snippet

from .pages import page, pages, queries, texts


def find(query: str, some: list[Searchable], **asked: object) -> SearchResults:
    what = Asked(parse(query), **{"most": 100, "fold": False, **asked})  # type: ignore[arg-type]
    scan = Scan(what)
    for each in some:
        scan.add(each)
    return present(what, [scan.answer()])


def numbers(found: list[Hit]) -> list[str]:
    return [hit.url.rpartition("/")[2] for hit in found]


@given(queries, pages)
def test_scan_finds_exactly_the_pages_that_match(query: str, some: list[Searchable]) -> None:
    results = find(query, some)
    expected = {each.url for each in some if matches(parse(query), each)}
    assert {hit.url for hit in results.pages} == expected and results.found == len(expected)
    hosts = {value.value: value.pages for value in results.facets["site"]}
    assert sum(hosts.values()) == len(expected)


def test_scan_prefers_titles_more_occurrences_and_shorter_pages() -> None:
    filler = "and so on " * 20
    some = [
        page(0, "", filler + "whiteboard"),
        page(1, "Whiteboard", filler + "x"),
        page(2, "", filler + "whiteboard whiteboard"),
        page(3, "", "none"),
    ]
    assert numbers(find("whiteboard", some).pages) == ["1", "2", "0"]
    assert numbers(find("whiteboard", [page(0, "", filler + "whiteboard"), page(1, "", "whiteboard")]).pages) == [
        "1",
        "0",
    ]


def test_rare_words_count_more() -> None:
    some = [page(n, "", "common word") for n in range(8)] + [page(8, "", "common rare"), page(9, "", "rare and other")]
    assert numbers(find("rare OR common", some).pages)[0] == "8"
    assert numbers(find("rare OR common", some).pages)[1] == "9"


def test_near_duplicates_are_folded_into_the_best() -> None:
    some = [
        page(1, "red", "red", simhash=0b1111 << 20),
        page(2, "", "red", simhash=0b1110 << 20),
        page(3, "", "red red x y"),
    ]
    results = find("red", some, fold=True)
    assert (numbers(results.pages), results.pages[0].similar, results.found) == (["1", "3"], 1, 3)
    assert len(find("red", some).pages) == 3


def test_results_go_on_where_others_ended() -> None:
    some = [page(n, "", "red " * (9 - n)) for n in range(9)]
    assert numbers(find("red", some, most=3, skip=3).pages) == numbers(find("red", some).pages)[3:6]


def test_snippet_shows_the_words_and_where_they_are() -> None:
    text = "hay " * 300 + "the needle, and thread in it" + " hay" * 300
    shown = snippet(text, [Phrase(("needle",)), Phrase(("thre",), is_prefix=True)])
    assert [shown.text[begin:end] for begin, end in shown.marks] == ["needle", "thread"]
    assert shown.text.startswith("… hay") and shown.text.endswith(" …") and len(shown.text) <= LENGTH + 50


@given(texts, queries)
def test_snippet_marks_words_of_the_query_only(text: str, query: str) -> None:
    wanted = list(phrases(parse(query)))
    shown = snippet(text * 20, wanted)
    for begin, end in shown.marks:
        word = shown.text[begin:end]
        assert matches(
            parse(
                " OR ".join(
                    each
                    for p in wanted
                    for each in (f"{w}*" if p.is_prefix and len(w) > 1 else f'"{w}"' for w in p.words)
                )
            ),
            page(1, "", word),
        )


def test_kinds_and_sites() -> None:
    assert kind_of("text/html; charset=utf-8") == "html"
    assert kind_of("application/pdf") == "pdf"
    assert kind_of("image/png") == "image"
    assert sites_of("a.b.c") == ("a.b.c", "b.c", "c")


def test_excerpt_of_a_word_that_is_longer_than_it() -> None:
    found = snippet(f"{'a ' * 500}crawler{'s' * 400} end", list(phrases(parse("crawl*"))))
    assert found.text.startswith("… a a")
