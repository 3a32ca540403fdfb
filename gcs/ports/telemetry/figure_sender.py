"""The station's figures, sent by OTLP under the names that they have in /metrics: the same panels and alerts hold."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from gcs.core.report.figures import Figure
from gcs.ports.telemetry import METRICS, close, hear_its_troubles, is_wanted, service_of, sound

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation


class FigureSender:
    """Sends the figures that it was given last, every OTEL_METRIC_EXPORT_INTERVAL milliseconds (60,000)."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource

        resource = Resource.create(dict(service_of(environment, "gcs-station")))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self._meter, self._shutdown = provider.get_meter("gcs"), provider.shutdown
        self._instruments: dict[str, Any] = {}
        #: replaced as a whole: another thread reads it
        self._figures: dict[str, Figure] = {}

    def update(self, figures: Iterable[Figure]) -> None:
        """Send these from now on."""
        self._figures = {figure.name: figure for figure in figures}
        for name, figure in self._figures.items():
            if name not in self._instruments:
                kind = "create_observable_counter" if figure.kind == "counter" else "create_observable_gauge"
                create = getattr(self._meter, kind)
                self._instruments[name] = create(name, [partial(self._observe, name)], description=figure.text)

    def _observe(self, name: str, _: "CallbackOptions") -> "Iterator[Observation]":
        from opentelemetry.metrics import Observation

        if figure := self._figures.get(name):
            for labels, value in figure.samples:
                yield Observation(float(value), {key: sound(text) for key, text in labels.items()})

    def end(self) -> None:
        """Send the last ones, within bounds."""
        close(self._shutdown)


@contextmanager
def figure_sender(environment: Mapping[str, str]) -> Iterator[FigureSender | None]:
    """A sender during the `with` block, if the environment names a collector."""
    if not is_wanted(environment, METRICS):
        yield None
        return
    hear_its_troubles()
    sender = FigureSender(environment)
    try:
        yield sender
    finally:
        sender.end()
