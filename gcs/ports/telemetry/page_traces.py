"""Traces of pages, and how long requests take: from the log's line for each URL (`gcs.url`).

A trace:   page    from the request to the record
           └ GET   from the request to the answer; absent if there was no answer

`gcs.fetcher` is the gatherer, or the helper that brought the page. Requests are also counted and timed in the histogram
http.client.request.duration, by status; its attributes never hold what a stranger wrote.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from gcs.ports.telemetry import METRICS, TRACES, close, hear_its_troubles, is_wanted, service_of, sound


@contextmanager
def page_traces(environment: Mapping[str, str]) -> Iterator[None]:
    """Send traces of the pages that are stored during the `with` block, if the environment names a collector.

    Not before the last fork of a process: what sends them is a thread.
    """
    if not (is_wanted(environment, TRACES) or is_wanted(environment, METRICS)):
        yield
        return
    urls = logging.getLogger("gcs.url")
    level, propagate = urls.level, urls.propagate
    if not urls.isEnabledFor(logging.INFO):  # the log wants no line for each URL; we do
        urls.setLevel(logging.INFO)
        urls.propagate = False
    hear_its_troubles()
    sender = PageSender(environment)
    urls.addHandler(sender)
    try:
        yield
    finally:
        urls.removeHandler(sender)
        urls.setLevel(level)
        urls.propagate = propagate
        sender.end()


class PageSender(logging.Handler):
    """Makes a trace of each line for a URL."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        super().__init__(logging.INFO)
        resource = Resource.create(dict(service_of(environment, "gcs-gatherer")))
        traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        if is_wanted(environment, TRACES):
            traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        readers = [PeriodicExportingMetricReader(OTLPMetricExporter())] if is_wanted(environment, METRICS) else []
        figures = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        self._tracer = traces.get_tracer("gcs")
        self._durations = figures.get_meter("gcs").create_histogram(
            "http.client.request.duration", unit="s", description="Duration of requests."
        )
        self._shutdowns = traces.shutdown, figures.shutdown

    def emit(self, record: logging.LogRecord) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        fields = getattr(record, "fields", {})
        began_s, seconds, status = fields["began"], fields["seconds"], fields["status"]
        url, note = sound(fields["url"]), sound(fields["note"])
        page = self._tracer.start_span(
            "page",
            start_time=_ns(began_s),
            attributes={
                "url.full": url,
                "gcs.depth": fields["depth"],
                "gcs.via": sound(fields["via"]),
                "gcs.fetcher": sound(fields["by"]),
                "gcs.note": note,
            },
        )
        if status:
            request = {"http.request.method": "GET", "http.response.status_code": status}
            self._durations.record(seconds, request)
            if page.is_recording():
                about = {"url.full": url, "http.response.body.size": fields["bytes"], **_server(url)}
                inside = set_span_in_context(page)
                fetch = self._tracer.start_span(
                    "GET", inside, SpanKind.CLIENT, {**request, **about}, start_time=_ns(began_s)
                )
                fetch.end(_ns(began_s + seconds))
        elif page.is_recording():
            page.set_attribute("error.type", note)
        page.end(_ns(max(record.created, began_s + seconds)))

    def end(self) -> None:
        """Send what waits, within bounds."""
        close(*self._shutdowns)


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)


def _server(url: str) -> dict[str, str | int]:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return {}
    return {"server.address": parts.hostname or "", "server.port": port}
