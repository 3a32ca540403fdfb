"""The queue of RQ with hostile jobs, on a real server and with a real worker: nothing but our two functions is run."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from rq import Queue, SimpleWorker
from rq.exceptions import NoSuchJobError
from rq.serializers import JSONSerializer

from gcs.ports.plain_jobs import FUNCTIONS, PlainCron, PlainJob, PlainQueue, PlainWorker
from gcs.ports.space.embedded_server import EmbeddedServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = EmbeddedServer(tmp_path_factory.mktemp("rq"))
    yield server.start()
    server.stop()


@pytest.fixture
def connection(server: str) -> Iterator["redis.Redis"]:
    connection = redis.Redis.from_url(server)
    connection.flushall()
    yield connection
    connection.close()


class Bomb:
    """Runs a program when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self._mark,))


def hostile(mark: Path) -> dict[str, dict[str, Any]]:
    work = ["gcs.app.shift_job.work", None, ["night"], {}]
    session = "gcs.cli.schedule.next_session"

    def data(value: object) -> dict[str, Any]:
        return {"data": json.dumps(value)}

    return {
        "pickled": {"data": pickle.dumps(("os.getpid", None, (Bomb(mark),), {}))},
        "pickled-meta": data(["os.getpid", None, [], {}]) | {"meta": pickle.dumps(Bomb(mark))},
        "other-function": data(["os.system", None, [f"touch {mark}"], {}]),
        "method": data(["work", "gcs.app.shift_job", ["night"], {}]),
        "named": data([work[0], None, [], {"name": "night"}]),
        "arguments": data([work[0], None, [["night"]], {}]),
        "many": data([session, None, ["/tmp", 10**6], {}]),
        "callback": data(work) | {"failure_callback_name": "os.abort"},
        "webhook": data(work) | {"webhooks": json.dumps([{"url": "http://169.254.169.254/"}])},
        "deep": {"data": "[" * 50_000},
        "long": data([work[0], None, ["x" * 70_000], {}]),
        "nonsense": data(work) | {"timeout": "soon", "ttl": "never"},
        "empty": {"data": ""},
    }


NAMES = sorted(hostile(Path()))


@pytest.mark.parametrize("name", NAMES)
def test_hostile_job_is_not_there(connection: "redis.Redis", tmp_path: Path, name: str) -> None:
    mark = tmp_path / "run"
    connection.hset(f"rq:job:{name}", mapping={"origin": "gcs", "status": "queued"} | hostile(mark)[name])
    with pytest.raises(NoSuchJobError):
        PlainJob.fetch(name, connection=connection)
    assert not mark.exists()


def test_worker_drops_hostile_jobs_and_works_on(
    connection: "redis.Redis", tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mark = tmp_path / "run"
    for name, fields in hostile(mark).items():
        connection.hset(f"rq:job:{name}", mapping={"origin": "gcs", "status": "queued"} | fields)
        connection.rpush("rq:queue:gcs", name)
    Queue("gcs", connection=connection).enqueue("os.system", f"touch {mark}")  # of a stock RQ: pickled
    honest = PlainQueue("gcs", connection).enqueue("gcs.app.shift_job.work", "night")
    worker = PlainWorker(["gcs"], connection)
    assert worker.work(burst=True)
    assert not mark.exists()
    done = PlainJob.fetch(honest.id, connection=connection).return_value()
    assert done == {"shift": "night", "ended": ""}  # the book has no such shift
    refused = [each for each in caplog.records if each.message == "jobs.refused"]
    assert len(refused) >= len(NAMES) + 1


def test_description_of_a_job_commands_no_terminal(connection: "redis.Redis") -> None:
    job = PlainQueue("gcs", connection).enqueue("gcs.app.shift_job.work", "night", description="a\x1b[2J\u202eb")
    assert PlainJob.fetch(job.id, connection=connection).description == "a\ufffd[2J\ufffdb"


def test_stock_worker_would_have_run_it(connection: "redis.Redis", tmp_path: Path) -> None:
    """Why all this: the same job, and the worker that RQ brings."""
    mark = tmp_path / "run"
    Queue("gcs", connection=connection).enqueue("os.system", f"touch {mark}")
    SimpleWorker(["gcs"], connection=connection).work(burst=True)
    assert mark.exists()


def test_worker_cannot_be_made_to_unpickle(connection: "redis.Redis") -> None:
    worker = PlainWorker(["gcs"], connection, job_class="rq.job.Job", serializer="pickle")
    assert worker.serializer is JSONSerializer and worker.job_class is PlainJob
    assert {type(queue) for queue in worker.queues} == {PlainQueue}


def test_functions_are_those_that_there_are(connection: "redis.Redis") -> None:
    for name, arguments in (("gcs.app.shift_job.work", ["x"]), ("gcs.cli.schedule.next_session", ["x", 2])):
        job = PlainQueue("gcs", connection).enqueue(name, *arguments)
        assert callable(PlainJob.fetch(job.id, connection=connection).func)
        assert name in FUNCTIONS


def next_session() -> None:
    """Stands for the function of that name: a test of a port imports no command."""


def test_cron_queues_plain_jobs(connection: "redis.Redis", monkeypatch: pytest.MonkeyPatch) -> None:
    cron = PlainCron(connection)
    monkeypatch.setattr(next_session, "__module__", "gcs.cli.schedule")
    cron.register(next_session, "gcs-sessions", args=("/srv/crawl", 1), interval=60)
    assert len(cron.enqueue_jobs()) == 1
    [job] = PlainQueue("gcs-sessions", connection).jobs
    assert (job.func_name, list(job.args or ())) == ("gcs.cli.schedule.next_session", ["/srv/crawl", 1])
    assert cron.enqueue_jobs() == []
