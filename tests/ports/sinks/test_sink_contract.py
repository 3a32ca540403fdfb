"""What every sink keeps: each page is there when `write` returns, under its id; what comes again does no harm."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from gcs.core.page.values import NOT_KEPT
from gcs.errors import SettingsError
from gcs.ports.records.page import Page
from gcs.ports.sinks import Sink
from gcs.ports.sinks.sink_names import named_sink
from tests.ports.records.pages import record

from .stores import Target

#: sinks that cannot know an id again: their readers do
APPENDING = ("jsonl", "csv", "redis")


def pages(*numbers: int, **changes: Any) -> list[Page]:
    return [
        Page(record(f"http://a.example:8080/d/{n}?q={n}", title=f"Page {n}", **changes), "nowhere") for n in numbers
    ]


def test_pages_are_there_when_write_returns(target: Target) -> None:
    sink = named_sink(target.name)
    some = pages(1, 2, 3)
    sink.write(some[:2])
    assert {row["id"]: row["url"] for row in target.rows()} == {page.id: page.url for page in some[:2]}
    sink.write(some[2:])
    sink.close()
    assert {row["id"]: row["title"] for row in target.rows()} == {page.id: page.title for page in some}


def test_batch_that_comes_again_is_known_by_its_ids(target: Target) -> None:
    some = pages(1, 2)
    for _ in range(2):  # as after a kill: by another process
        sink = named_sink(target.name)
        sink.write(some)
        sink.close()
    found = [row["id"] for row in target.rows()]
    assert set(found) == {page.id for page in some}
    assert len(found) == (4 if sink.name.split("=")[0] in APPENDING else 2)


def test_any_text_can_be_stored(target: Target) -> None:
    odd = pages(1, text="nul \0, 日本, \N{PILE OF POO}", summary="=1+1", fields='{"price":1.5,"tags":["a"]}')
    sink = named_sink(target.name)
    sink.write(odd)
    sink.close()
    assert [row["id"] for row in target.rows()] == [odd[0].id]


def test_sink_is_told_by_its_target(target: Target) -> None:
    sink = named_sink(target.name)
    again = named_sink(target.name)
    sink.close()
    again.close()
    assert sink.key == again.key and "=" in sink.name


@pytest.mark.parametrize("name", ["pages", "ftp://host/x", "page.xml", "nothing=here"])
def test_unknown_target_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="sink"):
        named_sink(name)


def test_function_class_and_object_are_sinks() -> None:
    taken: list[Page] = []

    def take(some: Sequence[Page]) -> None:
        taken.extend(some)

    class Taking:
        batch_pages = 7
        everything = True

        def write(self, some: Sequence[Page]) -> None:
            taken.extend(some)

    for given in (take, Taking, Taking()):
        Sink.of(given).write(pages(1))
    assert len(taken) == 3
    made = Sink.of(Taking)
    assert (made.batch_pages, made.everything, made.key == Sink.of(Taking()).key) == (7, True, True)
    with pytest.raises(SettingsError, match="stores nothing"):
        Sink.of(object())


def test_row_holds_what_plugins_have_added(target: Target) -> None:
    if not target.name.endswith("jsonl"):
        pytest.skip("the others hold it as a column")
    sink = named_sink(target.name)
    sink.write(pages(1, fields='{"price":1.5}'))
    sink.close()
    (row,) = target.rows()
    assert row["fields"] == {"price": 1.5} and row["fetched_at"].endswith("Z")
    assert set(msgspec.structs.asdict(record())) - NOT_KEPT <= set(row)
