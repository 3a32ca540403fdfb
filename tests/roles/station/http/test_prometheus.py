"""/metrics as Prometheus reads it, /healthz and /readyz as Kubernetes does."""

from prometheus_client.parser import text_string_to_metric_families

from gcs.core.messages.tuples import HelperBeat, Member
from gcs.roles.station.http.app import LATE_POLLS
from tests.roles.station.stage import stage


async def test_metrics_are_what_the_report_says():
    async with stage() as at:
        await at.space.out(Member('odd "name"\\', "run", figures={"pages": 1.0}))
        await at.space.out(HelperBeat("h", pages=4))
        await at.poller.poll()
        answer = await at.call("/metrics")
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        families = list(text_string_to_metric_families(await answer.text()))
        found = {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}
        crawl = ("crawl", "test")
        assert found["gcs_pages_total", (crawl,)] == 101
        assert found["gcs_failures_total", (crawl, ("kind", "timeout"))] == 6
        assert found["gcs_gatherer_pages_total", (crawl, ("gatherer", 'odd "name"\\'))] == 1
        assert found["gcs_state", (crawl, ("state", "running"))] == 1
        assert found["gcs_up", (crawl,)] == 1
        assert found["gcs_helper_pages_total", (crawl, ("helper", "h"), ("place", ""))] == 4
        assert all(family.documentation for family in families)


async def test_station_is_alive_but_not_ready_when_the_whiteboard_is_away():
    now = [1000.0]
    async with stage() as at:
        assert (await at.call("/readyz")).status == 200
        poller = at.poller
        poller._clock = lambda: now[0]
        await poller.poll()
        now[0] += LATE_POLLS + 1
        assert (await at.call("/healthz")).status == 200
        assert (await at.call("/readyz")).status == 503
