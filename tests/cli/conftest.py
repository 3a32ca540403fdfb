"""Runs `gcs` as a user does: in a process of its own, in an empty directory, without settings from outside."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gcs import cli
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess

#: for the fake web: no delays, quick retries
QUICK = (
    *("--allow-private", "--delay", "0", "--scope", "any"),
    *("--set", "politeness.retry_s=0.02", "--set", "politeness.overload_s=0.02", "--set", "frontier.checkpoint_s=0.1"),
)


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def environment() -> dict[str, str]:
    """The environment without settings of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GCS_")}


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `gcs …` in the test's directory; whatever still runs at the end of the test is killed."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str | Path, **options: object) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, "-m", "gcs", *map(str, arguments)]
        process = subprocess.Popen(command, cwd=tmp_path, text=True, **({"env": environment} | pipes | options))
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def gcs(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., Done]:
    """Runs `gcs …` to its end; `quick=True` adds what suits the fake web."""

    def run(*arguments: str | Path, quick: bool = False, stdin: str = "", **options: object) -> Done:
        process = start(*arguments, *(QUICK if quick else ()), stdin=subprocess.PIPE, **options)
        out, err = process.communicate(stdin, timeout=120)
        return Done(process.returncode, out, err)

    return run


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], environment: dict[str, str]
) -> Callable[..., Done]:
    """Runs `gcs …` in this process: quicker, for what ends before anything is crawled."""

    def call(*arguments: str | Path, **variables: str) -> Done:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(os, "environ", environment | variables)
        monkeypatch.setattr(sys, "argv", ["gcs", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return Done(int(ended.value.code or 0), out, err)

    return call


@pytest.fixture(scope="module")
def hostile() -> Iterator[FakeWebProcess]:
    """One host with every kind of trouble."""
    with FakeWebProcess(FakeWebSpec.full(hosts=1, pages=20, slow_s=0.05, retry_after_s=0)) as web:
        yield web
