"""OpenTelemetry, by OTLP over HTTP (extra `telemetry`): traces of pages from gatherers, figures from the station.

It is on where the environment names a collector, as every program of OpenTelemetry is told:

    OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318      _TRACES_ENDPOINT or _METRICS_ENDPOINT: only one of the two
    OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=0.01      one page of a hundred; its other variables hold

Invariant: a collector that is slow or away costs no page, and the end of a process waits for it CLOSE_S at most. What
waits for it is bounded by the queue of OpenTelemetry (OTEL_BSP_MAX_QUEUE_SIZE, 2,048 spans).
"""

import importlib.util
import logging
import threading
from collections.abc import Callable, Mapping

from gcs.errors import UsageError

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES, METRICS = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
#: seconds that the end of a process waits for the collector
CLOSE_S = 3.0


def is_wanted(environment: Mapping[str, str], own: str) -> bool:
    """Whether the environment names a collector for traces (TRACES) or figures (METRICS)."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    name = next((name for name in (own, ENDPOINT) if environment.get(name, "").strip()), None)
    if name is None:
        return False
    if importlib.util.find_spec("opentelemetry") is None or importlib.util.find_spec("opentelemetry.exporter") is None:
        raise UsageError(f"{name} is set, which takes the extra: pip install 'gcs-crawler[telemetry]'")
    return True


def service_of(environment: Mapping[str, str], name: str) -> Mapping[str, str]:
    """What names the service, unless the environment does (OTEL_SERVICE_NAME)."""
    return {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": name}


def sound(text: str) -> str:
    """Without lone surrogates, which cannot be sent: a stranger may have put them there."""
    return text.encode("utf-8", "replace").decode()


def hear_its_troubles() -> None:
    """Let what OpenTelemetry warns of (a collector that is away) into our log, in its form."""
    own, theirs = logging.getLogger("gcs"), logging.getLogger("opentelemetry")
    theirs.handlers[:], theirs.propagate = own.handlers, False


def close(*shutdowns: Callable[[], object]) -> None:
    """Send what waits and end, within CLOSE_S: a collector that does not answer is left alone."""

    def end() -> None:
        for shutdown in shutdowns:
            shutdown()

    closing = threading.Thread(target=end, name="telemetry-end", daemon=True)
    closing.start()
    closing.join(CLOSE_S)
