"""Search engines as sinks: one document for each URL, what fails comes again, what is broken holds nobody up."""

import logging
import socket
from collections.abc import Iterator

import pytest

from gcs.errors import SettingsError
from gcs.ports.records.page import Page
from gcs.ports.sinks import Sink
from gcs.ports.sinks.engine_client import EngineError
from gcs.ports.sinks.sink_names import named_sink
from tests.ports.records.pages import record

from .engines import ENGINES, KEY, Engine, served


def page(number: int, **given: object) -> Page:
    return Page(record(f"http://a.example/{number}", **{"title": f"Page {number}", **given}), "nowhere")


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, Sink]]:
    with served(request.param) as (engine, target):
        sink = named_sink(target)
        yield engine, sink
        sink.close()


def titles(engine: Engine) -> dict[str, str]:
    return {document["url"].rpartition("/")[2]: document["title"] for document in engine.documents.values()}


def test_page_takes_the_place_of_itself_and_goes_when_it_is_gone(engine: tuple[Engine, Sink]) -> None:
    there, sink = engine
    sink.write([page(1), page(2), page(3), page(4)])
    sink.write(
        [
            page(1, title="Anew", session=2, change="changed", fetched_at=2e9),
            page(2, session=2, change="gone", status=404, failure="http-404", fetched_at=2e9),
            page(3, session=2, noindex=True, fetched_at=2e9),
            page(4, session=2, status=304, held_at_us=5, change="same", fetched_at=2e9),
        ]
    )
    assert titles(there) == {"1": "Anew", "4": "Page 4"}
    sink.write([page(9, session=2, change="gone", status=404, failure="http-404", fetched_at=2e9)])
    assert titles(there) == {"1": "Anew", "4": "Page 4"}


def test_first_thing_that_happens_may_be_that_a_page_is_gone(engine: tuple[Engine, Sink]) -> None:
    there, sink = engine
    sink.write([page(1, session=2, change="gone", status=404, failure="http-404")])
    assert titles(there) == {}


def test_document_says_what_a_query_may_ask_for(engine: tuple[Engine, Sink]) -> None:
    there, sink = engine
    sink.write([page(1, language="en", content_type="text/html; charset=x", fields='{"price":1.5}', fetched_at=5.5)])
    (document,) = there.documents.values()
    told = [document[name] for name in ("site", "language", "type", "fetched_at", "fields")]
    assert told == ["a.example", "en", "html", 5, '{"price":1.5}']


@pytest.mark.parametrize("status", [429, 500, 503, 413])
def test_batch_comes_again_until_it_is_taken(engine: tuple[Engine, Sink], status: int) -> None:
    there, sink = engine
    sink.write([page(1)])
    there.faults = [status]
    with pytest.raises(EngineError, match=str(status)):
        sink.write([page(2)])
    sink.write([page(2)])
    assert sorted(titles(there)) == ["1", "2"]


def test_engine_without_room_takes_it_later(engine: tuple[Engine, Sink]) -> None:
    there, sink = engine
    there.full = {"http://a.example/2"}
    with pytest.raises(EngineError):
        sink.write([page(1), page(2)])
    there.full = set()
    sink.write([page(1), page(2)])
    assert sorted(titles(there)) == ["1", "2"]


@pytest.mark.parametrize("name", ["opensearch", "typesense"])
def test_broken_document_is_named_and_holds_nobody_up(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with served(name) as (there, target):
        there.broken = {"http://a.example/2"}
        sink = named_sink(target)
        with caplog.at_level(logging.WARNING):
            sink.write([page(1), page(2), page(3)])
        sink.close()
        assert sorted(titles(there)) == ["1", "3"]
    assert "http://a.example/2" in "".join(str(entry.__dict__) for entry in caplog.records)


def test_older_copy_never_replaces_a_newer_one() -> None:
    """As when the logs of a team are read one after the other."""
    with served("opensearch") as (there, target):
        sink = named_sink(target)
        sink.write([page(1, title="New", session=2, fetched_at=2e9)])
        sink.write([page(1, title="Old", session=1, fetched_at=1e9)])
        sink.close()
        assert titles(there) == {"1": "New"}


def test_no_error_and_no_name_shows_the_key(engine: tuple[Engine, Sink]) -> None:
    _, sink = engine
    wrong = named_sink(sink.name.replace(KEY, "other-key"))
    with pytest.raises(EngineError) as error:
        wrong.write([page(1)])
    wrong.close()
    assert "401" in str(error.value) and "key" not in str(error.value) + wrong.shown + sink.shown
    assert wrong.shown.endswith("/pages")


def test_server_that_hangs_or_is_away_is_an_error_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        port = hanging.getsockname()[1]
        sink = named_sink(f"opensearch=http://127.0.0.1:{port}/pages?timeout=0.1")
        with pytest.raises(EngineError, match="no answer"):
            sink.write([page(1)])
    with pytest.raises(EngineError, match="no answer"):
        sink.write([page(1)])
    sink.close()


@pytest.mark.parametrize("target", ["https://host.example", "ftp://host/pages", "https://host/a b", "https://[/pages"])
def test_target_that_is_none_is_refused(target: str) -> None:
    with pytest.raises(SettingsError, match="sink"):
        named_sink(f"typesense={target}")
