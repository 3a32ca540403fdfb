"""A collector of OpenTelemetry on loopback: keeps what it is sent by OTLP over HTTP."""

import gzip
import http.server
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.ports.kube_api import serving

trace = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
metrics = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")


@dataclass
class Collected:
    """What has arrived."""

    spans: list[Any] = field(default_factory=list)
    figures: dict[str, list[Any]] = field(default_factory=dict)  # name → its points as of the last sending
    services: set[str] = field(default_factory=set)
    endpoint: str = ""


def attributes(of: Any) -> dict[str, Any]:
    """Of a span, a point or a resource."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}


@contextmanager
def collecting() -> Iterator[Collected]:
    """Serve during the `with` block."""
    collected = Collected()

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
            if self.path == "/v1/traces":
                for part in trace.ExportTraceServiceRequest.FromString(body).resource_spans:
                    collected.services.add(attributes(part.resource)["service.name"])
                    collected.spans += [span for scope in part.scope_spans for span in scope.spans]
            elif self.path == "/v1/metrics":
                for part in metrics.ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    collected.services.add(attributes(part.resource)["service.name"])
                    for figure in [each for scope in part.scope_metrics for each in scope.metrics]:
                        points = getattr(figure, figure.WhichOneof("data")).data_points
                        collected.figures[figure.name] = list(points)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)) as server:
        collected.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        yield collected
