"""The times of a crawl, read from the directory of a real one."""

import subprocess
import sys

from gcs.app.study.crawl_times import crawl_times
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.sim.studies import WebTimes

USUAL = WebTimes(latency_s=7.0, cpu_per_page_s=7.0, cores=3)


def test_times_are_those_of_the_crawl(tmp_path):
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=60, latency_s=0.02)) as web:
        words = [*web.seeds, "-o", tmp_path / "crawl", "--allow-private", "--scope", "any", "--delay", "0.01"]
        command = [sys.executable, "-m", "gcs", "crawl", *words, "--connections", "5"]
        subprocess.run(command, check=True, timeout=100, capture_output=True)
        times, seen = crawl_times(tmp_path / "crawl", USUAL)
    assert (times.delay_s, times.connections, times.host_connections, times.cores) == (0.01, 5, 8, 3)
    assert 0.02 <= times.latency_s < 7.0 and 0 < times.cpu_per_page_s < 7.0
    assert seen.seeds == web.seeds
    assert len(seen.latencies_s) == 2, "each host was asked often enough"
    assert all(seconds >= 0.019 for _, seconds in seen.latencies_s)


def test_pauses_of_hosts_that_wait_for_a_connection_tell_nothing(tmp_path):
    """Four hosts that answer in 50 ms, and one connection: each is asked five times a second."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=100, latency_s=0.05)) as web:
        words = [*web.seeds, "-o", tmp_path / "crawl", "--allow-private", "--scope", "any", "--delay", "0.01"]
        command = [sys.executable, "-m", "gcs", "crawl", *words, "--connections", "1"]
        subprocess.run(command, check=True, timeout=100, capture_output=True)
        times, seen = crawl_times(tmp_path / "crawl", USUAL)
    assert 0.05 <= times.latency_s < 0.15
    assert seen.latencies_s == ()


def test_what_a_directory_does_not_tell_is_as_usual(tmp_path):
    (tmp_path / "state").mkdir()
    times, seen = crawl_times(tmp_path, USUAL)
    assert (times.latency_s, times.cpu_per_page_s, seen.seeds, seen.latencies_s) == (7.0, 7.0, (), ())
