"""`gcs helper` as the owner of a machine runs it: it helps, leaves no trace on any disk, and goes when it is told."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gcs.app.processes import helper_process
from gcs.core.helpers.loan import Loan
from gcs.errors import SpaceError
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.errands.gateway_client import AwayError
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer

PAGES = 100
Start = Callable[..., "subprocess.Popen[str]"]
CRAWL = (
    *("--scope", "any", "--delay", "0", "--allow-private", "--connections", "1", "--json"),
    *("--set", "team.beat_s=0.2", "--set", "frontier.fsync=false", "--set", "helpers.lease_s=5"),
)
#: system calls that change what is on a disk, and paths on which they change nothing
TRACE = "openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,truncate,ftruncate"
HARMLESS = ("/dev/null", "/dev/tty", "/dev/pts/")


@pytest.fixture
def space(tmp_path: Path) -> Iterator[str]:
    server = EmbeddedServer(tmp_path / "space")
    yield server.start()
    server.stop()


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=20, pages=PAGES, links=20, latency_s=0.08)) as web:
        yield web


def helper(space: str, *more: str) -> tuple[str, ...]:
    return ("helper", "--space", space, "--allow-private", *more)


def ended(crawl: "subprocess.Popen[str]") -> dict[str, Any]:
    out, err = crawl.communicate(timeout=120)
    assert crawl.returncode == 0, err
    return json.loads(out)


def until(process: "subprocess.Popen[str]", word: str) -> str:
    """The first line on stderr that holds the word."""
    assert process.stderr
    for line in process.stderr:
        if word in line:
            return line
    raise AssertionError(f"it ended without {word!r}")


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace here: apt-get install strace")
def test_helper_writes_no_file(start: Start, space: str, web: FakeWebProcess, tmp_path: Path, environment: Any) -> None:
    crawl = start("crawl", web.seeds[0], "-o", "crawl", "--space", space, *CRAWL, "--summary", "full")
    trace = tmp_path / "trace"
    traced = subprocess.Popen(
        ["strace", "-f", "-o", trace, "-e", f"trace={TRACE}", sys.executable, "-m", "gcs", *helper(space)],
        env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    report = ended(crawl)
    _, said = traced.communicate(timeout=60)
    assert (traced.returncode, report["helpers"]) == (0, 1), said
    calls = trace.read_text()
    assert calls.count("openat(") > 100
    writing = re.compile(r"^\d+ +(?!open)\w+\(|O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE", re.M)
    changes = [
        line
        for line in calls.splitlines()
        if writing.search(line) and " = -1 " not in line and not any(f'"{path}' in line for path in HARMLESS)
    ]
    assert [line for line in changes if "+++" not in line and "---" not in line and "resumed" not in line] == []


def test_helper_fetches_much_of_a_crawl_and_ends_with_it(start: Start, space: str, web: FakeWebProcess) -> None:
    crawl = start("crawl", web.seeds[0], "-o", "crawl", "--space", space, *CRAWL)
    helpers = [start(*helper(space)) for _ in range(2)]
    report = ended(crawl)
    assert (report["pages"], report["helpers"], report["rebalances"]) == (PAGES, 2, 0)
    for each in helpers:
        assert each.wait(30) == 0
        assert each.stderr and re.search(r"off-duty .*pages=[1-9]", each.stderr.read())


def test_helpers_that_come_and_go_are_no_reason_to_rebalance(start: Start, space: str, web: FakeWebProcess) -> None:
    """Two gatherers, and no idle trigger: only helpers, and the rates that change with them, could be a reason."""
    words = ("--set", "team.idle_urls=1000000", "--set", "team.rebalance_s=0.3", "--log", "info")
    crawl = start("crawl", web.seeds[0], "-o", "crawl", "-n", "2", "--space", space, *CRAWL, *words)
    for _ in range(2):
        passing = start(*helper(space))
        until(passing, "on-duty")
        time.sleep(1.0)
        passing.kill()
    staying = start(*helper(space))
    out, err = crawl.communicate(timeout=120)
    assert crawl.returncode == 0, err
    assert staying.wait(30) == 0
    assert json.loads(out)["pages"] == PAGES and json.loads(out)["helpers"] >= 1
    reasons = set(re.findall(r"planned .*reason=[\"']?(\w+)", err))
    assert reasons and reasons <= {"first", "session", "join"}, reasons


def test_helper_goes_within_seconds_when_it_is_told(
    start: Start, space: str, web: FakeWebProcess, tmp_path: Path
) -> None:
    crawl = start("crawl", web.seeds[0], "-o", "crawl", "--space", space, *CRAWL)
    helping = start(*helper(space, "-j", "8"))
    until(helping, "on-duty")
    time.sleep(0.5)  # in the midst of it
    helping.send_signal(signal.SIGTERM)
    assert helping.wait(10) == 0
    assert ended(crawl)["pages"] == PAGES
    stored = [record.url for record in read_records(tmp_path / "crawl") if record.is_page]
    assert set(stored) == survey(web.web).pages and len(stored) == len(set(stored))


def test_helper_that_waits_for_a_crawl_goes_when_it_is_told(start: Start, space: str) -> None:
    waiting = start(*helper(space, "--crawl", "none"))
    until(waiting, "no-crawl-yet crawl=none there=")
    waiting.send_signal(signal.SIGTERM)
    assert waiting.wait(10) == 0


async def test_helper_on_a_shift_tries_again_where_the_crawl_is_out_of_reach(
    space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody looks after it at night; without a shift, somebody sees the message."""
    tries: list[float] = []
    there = helper_process.HelperOutcome("me", 3, 4, is_over=True, is_spent=False)

    async def work(_: Loan, is_to_stop: Callable[[], bool]) -> helper_process.HelperOutcome:
        tries.append(time.monotonic())
        if len(tries) < 3:
            raise SpaceError("gone") if len(tries) == 1 else AwayError("gone")
        return there

    monkeypatch.setattr(helper_process, "work", work)
    monkeypatch.setattr(helper_process, "AWAY_S", 0.01)
    assert await helper_process.work_shift(Loan(space), lambda: False) is there
    tries.clear()
    monkeypatch.setattr(helper_process, "LOOK_S", 0.01)
    monkeypatch.setattr(helper_process, "AWAY_S", 60.0)
    stopped = await helper_process.work_shift(Loan(space), lambda: True)
    assert not (stopped.is_over or stopped.is_spent) and len(tries) == 1


async def test_helper_that_stays_waits_for_the_next_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes would take the end of the process for a crash. What its owner lends is still a limit."""
    ends = [
        helper_process.HelperOutcome("me", 3, 4, is_over=True, is_spent=False),
        helper_process.HelperOutcome("me", 3, 4, is_over=False, is_spent=True),
    ]

    async def work(_: Loan, is_to_stop: Callable[[], bool]) -> helper_process.HelperOutcome:
        return ends.pop(0)

    monkeypatch.setattr(helper_process, "work", work)
    monkeypatch.setattr(helper_process, "LOOK_S", 0.01)
    monkeypatch.setattr(helper_process, "AWAY_S", 0.01)
    assert await helper_process.lend(Loan(""), None, stays=True) == 0
    assert not ends


def test_helper_that_is_off_duty_waits_for_its_shift(start: Start, space: str) -> None:
    later = datetime.now() + timedelta(hours=2)
    waiting = start(*helper(space, "--shift", f"{later:%H:%M}-{later + timedelta(hours=1):%H:%M}"))
    assert f"{later:%H:%M}" in until(waiting, "off-duty")
    waiting.send_signal(signal.SIGTERM)
    assert waiting.wait(10) == 0


def test_helper_says_what_is_wrong(call: Callable[..., Any]) -> None:
    for words, complaint in (
        (("--shift", "22-6"), "22:00-06:00"),
        (("--days", "someday"), "mon-fri"),
        (("--cpu", "200"), "--cpu"),
        (("--cpu", "nan"), "--cpu"),
        (("--rate", "inf"), "--rate"),
        (("--max-mb", "nan"), "--max-mb"),
        (("--place", "a b"), "place"),
    ):
        done = call(*helper("redis://127.0.0.1:1", *words))
        assert done.code == 2 and complaint in done.err
