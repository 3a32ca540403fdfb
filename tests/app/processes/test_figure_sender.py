"""What a collector of OpenTelemetry is told by the station."""

import re

import pytest

from gcs.app.processes import station_process
from gcs.ports.telemetry.figure_sender import figure_sender
from gcs.roles.station.http.prometheus import figures
from tests.otlp_collector import attributes, collecting
from tests.roles.station.stage import stage


async def test_collector_gets_what_prometheus_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage() as at:
        answer = await (await at.call("/metrics")).text()
        with collecting() as collected:
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collected.endpoint)
            with figure_sender({"OTEL_EXPORTER_OTLP_ENDPOINT": collected.endpoint}) as sender:
                assert sender
                for _ in range(2):
                    opened = at.station.crawls.open_crawls()
                    sender.update(figures((opened.poller.status(), opened.poller.age_s()) for opened in opened))
    shown = {(name, float(value)) for name, value in re.findall(r"^(\w+)\{.*\} (\S+)$", answer, re.M)}
    sent = {(name, point.as_double) for name, points in collected.figures.items() for point in points}
    steady = {(name, value) for name, value in shown if "eta" not in name and "per_second" not in name}
    assert len(steady) > 30 and steady <= sent
    assert {name for name, _ in shown} == {name for name, _ in sent}
    rows = collected.figures["gcs_gatherer_pages_total"]
    assert {attributes(point)["gatherer"] for point in rows} >= {"g0", "g1"}
    assert collected.services == {"gcs-station"}


def test_without_a_collector_there_is_no_sender() -> None:
    with figure_sender({}) as sender:
        assert sender is None
    with figure_sender({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}) as sender:
        assert sender is None, "only traces are wanted"
    assert station_process.TELL_S < 15
