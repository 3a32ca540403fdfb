"""The watchdog ends a process that is held, and the next run learns by what."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gcs.ports.system.watchdog import Watchdog, cpu_limit

URL = "http://h.test/bomb"
#: reads something with a limit of CPU time, in a way that no Python code can interrupt
READ = """
import sys
from pathlib import Path
from gcs.ports.system.watchdog import Watchdog
watchdog = Watchdog(Path(sys.argv[1]), 0.2)
watchdog.begin("http://h.test/harmless")
watchdog.begin("http://h.test/bomb")
exec(sys.argv[2])
watchdog.end()
watchdog.close()
"""
SPIN = "sum(range(1 << 40))"
KILL = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


def run(folder: Path, code: str) -> int:
    return subprocess.run([sys.executable, "-c", READ, str(folder), code], check=False, timeout=60).returncode


def test_watchdog_ends_what_is_held_and_names_it(tmp_path: Path) -> None:
    assert run(tmp_path, SPIN) == -signal.SIGPROF
    stack = (tmp_path / "held.stack").read_text()
    assert "most recent call first" in stack
    watchdog = Watchdog(tmp_path)
    assert watchdog.held() == URL
    assert watchdog.held() is None
    watchdog.close()


def test_watchdog_gives_what_a_killed_process_read_a_second_chance(tmp_path: Path) -> None:
    for expected in (None, URL):
        assert run(tmp_path, KILL) == -signal.SIGKILL
        watchdog = Watchdog(tmp_path)
        assert watchdog.held() == expected
        watchdog.close()


def test_watchdog_names_a_url_of_any_length(tmp_path: Path) -> None:
    """Half of a URL would be no URL of the frontier, and the page would hold one gatherer after the other."""
    url = "http://h.test/" + "a" * 20_000
    for expected in (None, url):
        watchdog = Watchdog(tmp_path)
        watchdog.begin(url)
        del watchdog  # as if the process died
        watchdog = Watchdog(tmp_path)
        assert watchdog.held() == expected
        watchdog.close()


def test_watchdog_without_a_timer_gives_five_chances(tmp_path: Path) -> None:
    """A user's program is killed more often than a crawler, and not by its pages."""
    for expected in (None, None, None, None, URL):
        assert run(tmp_path, KILL) == -signal.SIGKILL
        watchdog = Watchdog(tmp_path, None)
        assert watchdog.held() == expected
        watchdog.close()


@pytest.mark.parametrize("code", ["pass", "import time; time.sleep(0.5)"])
def test_watchdog_lets_go_what_takes_no_cpu_time(tmp_path: Path, code: str) -> None:
    assert run(tmp_path, code) == 0
    watchdog = Watchdog(tmp_path)
    assert watchdog.held() is None
    watchdog.close()


def test_watchdog_takes_any_name(tmp_path: Path) -> None:
    watchdog = Watchdog(tmp_path)
    for name in ("", "x", "\ud800", "x" * 10_000):
        watchdog.begin(name)
    watchdog.end()
    assert watchdog.held() is None
    watchdog.close()


def test_cpu_limit_ends_the_process() -> None:
    pid = os.fork()
    if not pid:
        with cpu_limit(0.1):
            sum(range(1 << 40))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGPROF
