"""What a collector of OpenTelemetry is told of a crawl's pages."""

import logging
import socket
from pathlib import Path
from typing import Any

import pytest

from gcs.cli import gcs
from gcs.errors import UsageError
from gcs.events import Events, set_up_log
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.telemetry.page_traces import page_traces
from tests.otlp_collector import attributes, collecting

LINE: dict[str, Any] = {
    "status": 200, "bytes": 9, "url": "http://a.org:81/x", "depth": 1, "via": "-", "type": "text/html", "by": "g0",
    "began": 1000.0, "seconds": 0.25, "digest": "-", "note": "-",
}  # fmt: skip


def crawl(seed: str, directory: Path) -> None:
    words = ["crawl", seed, "-o", str(directory), "--json", "--allow-private", "--delay", "0", "--contact", "a@b.org"]
    gcs.main(words, standalone_mode=False)


def test_each_page_is_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    with collecting() as collected, FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=30)) as web:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collected.endpoint)
        crawl(web.seeds[0], tmp_path / "out")
    assert "url.fetched" not in capsys.readouterr().err, "the log wants no line for each URL"
    pages = [span for span in collected.spans if span.name == "page"]
    fetches = {span.parent_span_id: span for span in collected.spans if span.name == "GET"}
    assert len({span.trace_id for span in pages}) == len(pages) == 30
    seed = next(span for span in pages if attributes(span)["url.full"] == web.seeds[0])
    fetch = fetches[seed.span_id]
    assert fetch.trace_id == seed.trace_id and attributes(fetch)["http.response.status_code"] == 200
    assert (
        seed.start_time_unix_nano == fetch.start_time_unix_nano <= fetch.end_time_unix_nano <= seed.end_time_unix_nano
    )
    assert attributes(seed)["gcs.fetcher"] == "g0" and attributes(seed)["gcs.depth"] == 0
    [point] = collected.figures["http.client.request.duration"]
    assert point.count == 30 and attributes(point)["http.response.status_code"] == 200
    assert collected.services == {"gcs-gatherer"}


def test_line_of_a_stranger_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lone surrogates, which protobuf refuses, spoil no batch; a failure without an answer has no GET."""
    set_up_log("warning", as_json=False)
    urls = Events("url")
    with collecting() as collected:
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collected.endpoint}
        monkeypatch.setenv(*next(iter(environment.items())))
        with page_traces(environment):
            urls.info("fetched", **LINE | {"via": "http://a.org/\udc80"})
            urls.info("failed", **LINE | {"status": 0, "seconds": 0.0, "note": "timeout"})
            urls.info("fetched", **LINE | {"url": "http://[bad:port/"})
    found = [(span.name, attributes(span)) for span in collected.spans]
    assert [name for name, _ in found].count("page") == 3 and [name for name, _ in found].count("GET") == 2
    assert ("timeout" in {about.get("error.type") for _, about in found}) and "http://a.org/?" in {
        about.get("gcs.via") for _, about in found
    }
    assert next(about for name, about in found if name == "GET")["server.port"] == 81
    assert not urls.tells_info, "what was changed in the log is as before"


def test_share_of_the_pages_is_sent_where_the_sampler_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    with collecting() as collected:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collected.endpoint)
        with page_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": collected.endpoint}):
            Events("url").info("fetched", **LINE)
    assert not collected.spans and collected.figures["http.client.request.duration"][0].count == 1


def test_collector_that_never_answers_costs_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=10)) as web:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        crawl(web.seeds[0], tmp_path / "out")
    assert '"pages":10' in capsys.readouterr().out.replace(" ", "")


def test_without_a_collector_nothing_is_loaded_or_changed() -> None:
    handlers = logging.getLogger("gcs.url").handlers[:]
    with page_traces({}), page_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}):
        assert logging.getLogger("gcs.url").handlers == handlers


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with (
        pytest.raises(UsageError, match=r"gcs-crawler\[telemetry\]"),
        page_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}),
    ):
        pass
