"""Night shifts on a real RQ queue: a `gcs shift worker` works one, and stops it when it has to."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import redis
from rq.job import Job

from gcs.app import shift_job
from gcs.core.helpers.loan import Loan, LoanLimits, parse
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.plain_jobs import PlainJob, PlainQueue
from gcs.ports.shift_book import ShiftBell, ShiftBook, ShiftOrder
from gcs.ports.space.embedded_server import EmbeddedServer

Run = Callable[..., Any]
ALWAYS = "00:00-00:00"
CRAWL = (
    *("--scope", "any", "--delay", "0", "--allow-private", "--connections", "1", "--json"),
    *("--set", "team.beat_s=0.2", "--set", "frontier.fsync=false", "--set", "helpers.lease_s=5"),
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = EmbeddedServer(tmp_path_factory.mktemp("space"))
    yield server.start()
    server.stop()


@pytest.fixture
def book(url: str) -> Iterator[ShiftBook]:
    connection = redis.Redis.from_url(url)
    yield ShiftBook(connection, shift_job.work)
    connection.flushdb()
    connection.close()


@pytest.fixture
def worker(url: str, tmp_path: Path, environment: dict[str, str]) -> Iterator[Run]:
    """Starts a `gcs shift worker`."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*more: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "gcs", "shift", "worker", "--rq", url, "--allow", "private", *more]
        running.append(subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True))
        return running[-1]

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()


def order(url: str, hours: str = ALWAYS, **more: Any) -> ShiftOrder:
    return ShiftOrder("night", Loan(url, limits=LoanLimits(connections=2), allow_private=True), parse(hours), **more)


def the_job(book: ShiftBook, seconds: float = 30.0) -> Job:
    """The one job there is, once it is being worked."""
    queue, give_up_at = PlainQueue("gcs", book.connection), time.monotonic() + seconds
    while not (ids := queue.started_job_registry.get_job_ids() or queue.finished_job_registry.get_job_ids()):
        assert time.monotonic() < give_up_at, "nobody works it"
        time.sleep(0.05)
    return PlainJob.fetch(ids[0], connection=book.connection)


def result(job: Job, seconds: float = 30.0) -> dict[str, Any]:
    give_up_at = time.monotonic() + seconds
    while not job.is_finished:
        assert time.monotonic() < give_up_at and not job.is_failed, job.get_status()
        time.sleep(0.05)
    value = job.return_value(refresh=True)
    assert isinstance(value, dict)
    return value


def test_shift_is_worked_by_a_worker_until_the_crawl_is_over(
    start: Run, gcs: Run, worker: Run, url: str, book: ShiftBook
) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=10, pages=60, latency_s=0.1)) as web:
        crawl = start("crawl", web.seeds[0], "-o", "crawl", "--space", url, *CRAWL)
        said = gcs("shift", "schedule", "night", "--rq", url, "--space", url, "--shift", ALWAYS, "--allow-private")
        assert said.code == 0 and "it is on" in said.out
        working = worker("--burst")
        out, _ = crawl.communicate(timeout=60)
        report = json.loads(out)
        done = result(the_job(book))
        assert working.wait(20) == 0
    assert (report["pages"], report["helpers"]) == (60, 1)
    assert done["shift"] == "night" and done["pages"] > 0 and done["ended"] == "nothing is left to do"


def open_crawl(url: str, start: Run) -> "subprocess.Popen[str]":
    """A crawl that does not end soon: it will try an unreachable host again."""
    words = ("--space", url, *CRAWL, "--set", "politeness.retry_s=60")
    return start("crawl", "http://127.0.0.1:9/", "-o", "endless", *words)


def test_shift_ends_when_its_worker_is_told_to_stop_and_when_it_is_cancelled(
    start: Run, gcs: Run, worker: Run, url: str, book: ShiftBook
) -> None:
    crawl = open_crawl(url, start)
    book.add(order(url, workers=2), datetime.now())
    one, two = worker(), worker()
    queue = PlainQueue("gcs", book.connection)
    give_up_at = time.monotonic() + 30
    while len(ids := queue.started_job_registry.get_job_ids()) < 2:
        assert time.monotonic() < give_up_at
        time.sleep(0.05)
    jobs = [PlainJob.fetch(job_id, connection=book.connection) for job_id in ids]
    one.send_signal(signal.SIGTERM)
    assert one.wait(15) == 0
    said = gcs("shift", "cancel", "night", "--rq", url)
    assert said.code == 0
    ended = {result(job)["ended"] for job in jobs}
    assert ended == {"the worker is told to stop", "cancelled"}
    two.send_signal(signal.SIGTERM)
    assert two.wait(15) == 0
    crawl.send_signal(signal.SIGINT)


class _Job:
    """As much of a job as a watch looks at."""

    worker_name = "nobody"

    def __init__(self, connection: "redis.Redis") -> None:
        self.connection = connection


@pytest.mark.parametrize(
    ("hours", "end"), [("11:00-13:00", 13), (ALWAYS, 24), ("23:00-13:00", 13), ("12:00-12:00", 36)]
)
def test_shift_is_over_when_the_clock_says_so(
    url: str, book: ShiftBook, monkeypatch: pytest.MonkeyPatch, hours: str, end: int
) -> None:
    """Also where the next one begins at once: that has jobs of its own."""
    monkeypatch.setattr(shift_job, "LOOK_S", 0.0)
    day = datetime(2026, 11, 16)
    shown = day + timedelta(hours=12)

    class Wall(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return shown

    monkeypatch.setattr(shift_job, "datetime", Wall)
    book.add(order(url, hours), shown)
    watch = shift_job.ShiftWatch("night", _Job(book.connection))  # type: ignore[arg-type]
    shown = day + timedelta(hours=end, seconds=-1)
    assert not watch.look()
    shown = day + timedelta(hours=end)
    assert watch.look() and watch.why == "it has ended"
    shown = day + timedelta(days=1, hours=14)
    if hours == "11:00-13:00":
        late = shift_job.ShiftWatch("night", _Job(book.connection))  # type: ignore[arg-type]
        assert late.look() and late.why == "it is not on"


def test_shift_goes_on_while_its_book_is_out_of_reach_and_ends_by_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shift_job, "LOOK_S", 0.0)
    monkeypatch.setattr(shift_job, "AWAY_S", 0.0)
    server = EmbeddedServer(tmp_path)
    connection = redis.Redis.from_url(server.start(), retry=None)
    began = datetime.now()
    ShiftBook(connection, shift_job.work).add(order("redis://127.0.0.1:9"), began)
    watch = shift_job.ShiftWatch("night", _Job(connection))  # type: ignore[arg-type]
    assert not watch.look()
    server.stop()
    assert not watch.look()
    assert any(each.message == "shift.no-book" for each in caplog.records)

    class Wall(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return began + timedelta(days=1)

    monkeypatch.setattr(shift_job, "datetime", Wall)
    assert watch.look() and watch.why == "it has ended"


def test_bell_rings_for_the_orders_of_the_book(url: str, book: ShiftBook) -> None:
    now = [datetime(2026, 11, 16, 12, tzinfo=UTC)]
    bell = ShiftBell(book, lambda: now[0])
    queue = PlainQueue("gcs", book.connection)
    assert bell.enqueue_jobs() == []
    book.add(order(url, "22:00-06:00", workers=2), datetime(2026, 11, 16, 12))
    assert bell.enqueue_jobs() == [] and [job.cron for job in bell.get_jobs()] == ["0 22 * * *"] * 2
    for job in bell.get_jobs():
        job.next_enqueue_time = datetime(2026, 1, 1, tzinfo=UTC)  # its time has come
    assert len(bell.enqueue_jobs()) == 2
    assert [(job.args, job.timeout, job.ttl) for job in queue.jobs] == [(["night"], -1, 8 * 3600)] * 2
    book.add(order(url, "23:30-06:00"), datetime(2026, 11, 16, 12))
    bell.enqueue_jobs()
    assert [job.cron for job in bell.get_jobs()] == ["30 23 * * *"]
    assert book.cancel("night") and not book.cancel("night")
    assert queue.jobs == []
    bell.enqueue_jobs()
    assert bell.get_jobs() == []


def test_bell_that_comes_late_rings_at_once_and_once(url: str, book: ShiftBook) -> None:
    """It was off when the shift began; or did not know of it yet; or the clock went forward over the beginning."""
    queue = PlainQueue("gcs", book.connection)
    book.add(order(url, "22:00-06:00", workers=2), datetime(2026, 11, 16, 21, 59, 50))
    late = datetime(2026, 11, 17, 1, 0, tzinfo=UTC)
    assert len(ShiftBell(book, lambda: late).enqueue_jobs()) == 2 == len(queue.jobs)
    assert ShiftBell(book, lambda: late).enqueue_jobs() == []  # started again
    assert len(ShiftBell(book, lambda: late + timedelta(days=1)).enqueue_jobs()) == 2
    before = datetime(2027, 3, 28, 1, 59, tzinfo=timezone(timedelta(hours=1)))
    after = datetime(2027, 3, 28, 3, 0, tzinfo=timezone(timedelta(hours=2)))
    book.add(order(url, "02:30-06:00"), datetime(2027, 3, 28, 1, 0))
    now = [before]
    bell = ShiftBell(book, lambda: now[0])
    assert bell.enqueue_jobs() == []
    now[0] = after
    assert len(bell.enqueue_jobs()) == 1
    assert bell.enqueue_jobs() == []


def test_shift_that_is_on_and_changed_begins_anew(url: str, book: ShiftBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shift_job, "LOOK_S", 0.0)
    book.add(order(url, workers=2), datetime.now())
    watch = shift_job.ShiftWatch("night", _Job(book.connection))  # type: ignore[arg-type]
    assert not watch.look()
    assert book.add(order(url, workers=1), datetime.now())
    assert watch.look() and watch.why == "it was changed"
    assert len(PlainQueue("gcs", book.connection).jobs) == 1
    assert ShiftBell(book, lambda: datetime.now().astimezone()).enqueue_jobs() == []  # it has begun already


def test_shift_commands_tell_what_there_is(call: Run, url: str, book: ShiftBook) -> None:
    common = ("--rq", url)
    assert "no hours are given" in call("shift", "schedule", "night", *common, "--space", url).err
    later = datetime.now() + timedelta(hours=3)
    hours = f"{later:%H:%M}-{later + timedelta(hours=1):%H:%M}"
    words = ("--shift", hours, "--days", "mon-sun", "--workers", "3", "--cpu", "50", "--rate", "2", "--place", "watson")
    assert "begins" in call("shift", "schedule", "night", *common, "--space", url, *words).out
    assert hours in call("shift", "list", *common).out
    (listed,) = json.loads(call("shift", "list", *common, "--json").out)
    assert (listed["workers"], listed["loan"]["place"], listed["loan"]["limits"]["cpu"]) == (3, "watson", 0.5)
    book.add(
        ShiftOrder("secret", Loan("redis://me:hush@host", gateway="https://s", token="hush"), parse(hours)),
        datetime.now(),
    )
    assert "hush" not in call("shift", "list", *common, "--json").out
    assert book.cancel("secret")
    assert "no shift" in call("shift", "cancel", "day", *common).err
    assert call("shift", "cancel", "night", *common).code == 0
    nobody = call("shift", "list", "--rq", "redis://:hush@127.0.0.1:1").err
    assert "plain Redis" in nobody and "hush" not in nobody
