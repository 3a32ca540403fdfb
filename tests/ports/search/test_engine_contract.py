"""What every engine keeps: it finds the pages that match, and no others; a write is all or nothing."""

import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from gcs.core.search.matching import matches
from gcs.core.search.query import parse
from gcs.core.search.results import Asked, present
from gcs.core.search.searchable import Searchable
from gcs.errors import GcsError
from gcs.ports.search import IndexEngine
from gcs.ports.search.index_place import begin_anew, index_of, make_index, open_index, read_card, take_place
from tests.core.search.pages import page, pages, queries

from .conftest import Opened


def urls(engine: IndexEngine, query: str) -> list[str]:
    return [each.page.url for each in engine.search(Asked(parse(query), 100, fold=False)).best]


def numbers(engine: IndexEngine, query: str) -> list[str]:
    return [url.rpartition("/")[2] for url in urls(engine, query)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(queries, pages)
def test_engine_finds_exactly_the_pages_that_match(engine: str, query: str, some: list[Searchable]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = make_index(Path(folder) / "index", engine)
        made.write(some, [], {})
        node = parse(query)
        answer = made.search(Asked(node, 100, fold=False))
        expected = sorted(each.url for each in some if matches(node, each))
        assert sorted(each.page.url for each in answer.best) == expected and answer.found == len(expected)
        for name, attribute in (("site", "host"), ("lang", "lang"), ("type", "kind")):
            values = [str(getattr(each, attribute)) for each in some if each.url in expected]
            told = {value.value: value.pages for value in answer.facets[name]}
            assert told == {value: values.count(value) for value in set(values) if value}
        made.close()


def test_page_that_comes_again_takes_the_place_of_itself(opened: Opened) -> None:
    engine = opened()
    engine.write([page(1, "red"), page(2, "red")], [], {"g0": (1, 2)})
    engine.write([page(1, "blue"), page(3, "red"), page(3, "red")], ["http://a.example/2"], {"g0": (1, 5)})
    assert (numbers(engine, "red"), numbers(engine, "blue"), engine.pages()) == (["3"], ["1"], 2)
    engine.close()
    again = opened()
    assert (numbers(again, "red"), again.positions(), again.pages()) == (["3"], {"g0": (1, 5)}, 2)
    again.close()


def test_another_process_sees_what_was_written_and_never_a_part(opened: Opened) -> None:
    writer = opened()
    writer.write([page(1, "red")], [], {"g0": (1, 1)})
    reader = opened()
    assert (numbers(reader, "red"), reader.positions()) == (["1"], {"g0": (1, 1)})
    writer.write([page(2, "red")], [], {"g0": (1, 2)})
    assert (sorted(numbers(reader, "red")), reader.positions()) == (["1", "2"], {"g0": (1, 2)})
    reader.close()
    writer.close()


def test_order_titles_frequency_and_rarity(opened: Opened) -> None:
    filler = "and so on " * 20
    engine = opened()
    engine.write(
        [
            page(0, "", filler + "whiteboard"),
            page(1, "Whiteboard", filler + "x"),
            page(2, "", filler + "whiteboard whiteboard"),
            *(page(number, "", "common") for number in range(3, 9)),
            page(9, "", "common rare"),
        ],
        [],
        {},
    )
    assert numbers(engine, "whiteboard") == ["1", "2", "0"]
    assert numbers(engine, "common OR rare")[0] == "9"
    engine.close()


def test_without_words_the_newest_comes_first(opened: Opened) -> None:
    engine = opened()
    engine.write([page(n, day=20240100 + n) for n in (3, 9, 5)], [], {})
    assert numbers(engine, "site:a.example") == ["9", "5", "3"]
    assert numbers(engine, "site:a.example date:<=2024-01-05") == ["5", "3"]
    engine.close()


def test_stored_page_comes_back_as_it_was(opened: Opened) -> None:
    engine = opened()
    odd = page(
        1, "nul \0 and \"quote' *", "赤い\n\ud7ff ]]", lang="ja", kind="html", day=20240101, simhash=(1 << 64) - 1
    )
    engine.write([odd], [], {})
    (found,) = engine.search(Asked(parse("quote"))).best
    assert found.page == odd
    engine.close()


def test_page_of_an_index_that_an_earlier_version_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tantivy's own compression did for all of it then."""
    pytest.importorskip("tantivy")
    engine = make_index(tmp_path, "tantivy")
    monkeypatch.setattr("gcs.ports.search.tantivy_engine._packed", msgspec.msgpack.encode)
    engine.write([page(1, "red", "blue")], [], {})
    (found,) = engine.search(Asked(parse("red"))).best
    assert found.page == page(1, "red", "blue")
    engine.close()


def test_folding_and_excerpts_are_the_same_for_all(opened: Opened) -> None:
    engine = opened()
    engine.write([page(1, "red", simhash=7 << 9), page(2, "red red", simhash=3 << 9), page(3, "red blue")], [], {})
    asked = Asked(parse("red"))
    results = present(asked, [engine.search(asked)])
    assert (len(results.pages), sum(hit.similar for hit in results.pages), results.found) == (2, 1, 3)
    engine.close()


def test_index_knows_its_engine_and_is_made_anew(engine: str, tmp_path: Path) -> None:
    place = tmp_path / "index"
    assert index_of(tmp_path) is None
    made = make_index(place, engine)
    made.write([page(1, "red")], [], {"g0": (1, 1)})
    made.close()
    assert index_of(tmp_path) == index_of(place) == place and read_card(place).engine == engine
    beside = begin_anew(place)
    anew = make_index(beside, "sqlite")
    anew.write([page(2, "red")], [], {"g0": (1, 1)})
    anew.close()
    take_place(beside, place)
    again = open_index(place)
    assert (again.name, numbers(again, "red")) == ("sqlite", ["2"])
    again.close()
    with pytest.raises(GcsError, match="--rebuild"):
        make_index(place, "tantivy")


def test_damaged_index_says_what_to_do(engine: str, tmp_path: Path) -> None:
    made = make_index(tmp_path / "index", engine)
    made.write([page(1, "red")], [], {})
    made.close()
    for file in (tmp_path / "index").iterdir():
        if file.name in ("meta.json", "pages.sqlite"):
            file.write_bytes(b"damaged" * 1_000)
        elif file.name != "index.json":
            file.unlink()
    with pytest.raises(GcsError, match="--rebuild"):
        open_index(tmp_path / "index")
