"""Runs pytest on several workers, and once more, alone, the tests that failed; arguments go to pytest.

Tests of processes and clocks may starve beside others on a machine that is slow that minute. A test that fails again
alone is broken. One that passes alone is sensitive to load: it is listed at the end, and more than a few of them fail
the run, because a defect that comes and goes looks the same.

Invariant: the exit code is 0 only if every test that failed has passed alone, and at most ALLOWED of them did.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

#: so many tests may fail beside others and pass alone
ALLOWED = 2
#: the first argument of the processes that run pytest once; the path of their outcomes follows
ONCE = "--once"


class Outcomes:
    """A plugin of pytest: notes which tests passed and which failed, and runs only the given ones, if any are."""

    def __init__(self, only: list[str]) -> None:
        self._only = set(only)
        self._phases: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._phases.setdefault(report.nodeid, []).append(report.outcome)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self._only:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in self._only])
            items[:] = [item for item in items if item.nodeid in self._only]

    def split(self) -> dict[str, list[str]]:
        """Tests that failed in any phase (setup, call, teardown), and tests that passed in all phases."""
        return {
            "failed": [test for test, phases in self._phases.items() if "failed" in phases],
            "passed": [test for test, phases in self._phases.items() if set(phases) == {"passed"}],
        }


def run_once(path: Path, arguments: list[str]) -> int:
    """Runs pytest in this process; the file names the tests to run (all if it names none), then the outcomes."""
    outcomes = Outcomes(json.loads(path.read_text()))
    try:
        return int(pytest.main(arguments, plugins=[outcomes]))
    finally:  # pytest raises at its end where a failed test has left something open
        path.write_text(json.dumps(outcomes.split()))


def run_apart(arguments: list[str], only: list[str]) -> tuple[int, dict[str, list[str]]]:
    """Runs pytest in a process of its own: two runs in one process would share the modules that they load."""
    with tempfile.TemporaryDirectory(prefix="gcs-tests-") as folder:
        path = Path(folder) / "outcomes.json"
        path.write_text(json.dumps(only))
        status = subprocess.run([sys.executable, __file__, ONCE, str(path), *arguments], check=False).returncode
        outcomes = json.loads(path.read_text())
    return status, outcomes if isinstance(outcomes, dict) else {"failed": [], "passed": []}  # pytest was killed


def main(arguments: list[str]) -> int:
    """The exit code of both runs."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C reaches pytest, too, which ends and says so
    # a file's tests stay together and in their order; most of them wait for processes: two workers fit two cores
    workers = os.environ.get("GCS_TEST_WORKERS", "2")
    status, first = run_apart(["-n", workers, "--dist", "loadfile", *arguments], [])
    if status != pytest.ExitCode.TESTS_FAILED or not first["failed"]:
        return status
    print("\nFailed beside other tests; once more, alone:", *first["failed"], sep="\n  ", flush=True)
    status, second = run_apart(["-n", "0", *arguments], first["failed"])
    sensitive = [test for test in first["failed"] if test in second["passed"]]
    print(f"\nFailed beside other tests, passed alone: {len(sensitive)}", *sensitive, sep="\n  ")
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return status
    if len(sensitive) > ALLOWED:
        print(f"More than {ALLOWED} tests are sensitive to load: the run has failed. Mend them, or find the defect.")
        return 1
    return int(len(sensitive) < len(first["failed"]))


if __name__ == "__main__":
    if sys.argv[1:2] == [ONCE]:
        sys.exit(run_once(Path(sys.argv[2]), sys.argv[3:]))
    sys.exit(main(sys.argv[1:]))
