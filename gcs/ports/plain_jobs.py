"""RQ, as far as GCS needs it: jobs in JSON, of two functions, and nothing else.

A stock `rq worker` unpickles and runs whatever lies in its queue: who can write to its Redis runs programs on its
machine. A `PlainWorker` reads JSON only, and refuses each job that is not one of FUNCTIONS with arguments of the right
kind, that names a function to be called when it ends, or an address to be told. A refused job is logged and dropped.

What remains: who can write to this Redis chooses which crawl the workers help, and when the directories of periodic
crawls are crawled. So its Redis needs a password, as the whiteboard does.

Invariant: of a job that is refused, nothing is unpickled, imported or called.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import redis
from rq import Queue
from rq.cron import CronJob, CronScheduler
from rq.exceptions import NoSuchJobError
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.worker import Worker

from gcs.events import Events, tame

events = Events("jobs")

#: gatherers of a periodic crawl, at most
MOST_GATHERERS = 1000
#: function → what its arguments are
FUNCTIONS: dict[str, Any] = {
    "gcs.app.shift_job.work": tuple[str],
    "gcs.cli.schedule.next_session": tuple[str, int],
}
#: fields of a job that name functions, addresses or other jobs
FORBIDDEN = (
    *("success_callback_name", "failure_callback_name", "stopped_callback_name"),
    *("webhooks", "dependency_id", "dependency_ids"),
)
#: values of such a field that name nothing
NONE = (b"", b"[]")
#: bytes of a job that is one of ours, packed and unpacked
MOST_BYTES = 1 << 16


class PlainJob(Job):
    """A job in JSON, of one of FUNCTIONS. One that is refused is not there."""

    def __init__(self, id: str | None = None, connection: "redis.Redis | None" = None, **_: Any) -> None:
        super().__init__(id, connection, JSONSerializer)

    def restore(self, raw_data: Mapping[bytes, bytes]) -> Any:
        """Read the fields of the job. NoSuchJobError if it is refused: a worker goes on with the next one then."""
        reason = next((f"it has a {name}" for name in FORBIDDEN if raw_data.get(name.encode(), b"") not in NONE), "")
        if sum(map(len, raw_data.values())) > MOST_BYTES:
            reason = "it is too long"
        if not reason:
            try:
                super().restore(raw_data)
                self.description = tame(self.description or "")  # RQ logs it
                reason = self._flaw()
            except NoSuchJobError:
                raise
            except Exception as error:  # its fields may be any
                reason = f"it is no job in JSON ({type(error).__name__})"
        if reason:
            events.warning("refused", job=self.id, reason=reason)
            raise NoSuchJobError(f"refused: {reason}")

    def _flaw(self) -> str:
        """What is wrong with the job as a worker would run it; "" if nothing."""
        if len(self.data) > MOST_BYTES:
            return "it is too long"
        if self.func_name not in FUNCTIONS or self.instance or self.kwargs:
            return "it is none of the functions of GCS"
        values = msgspec.convert(self.args, FUNCTIONS[self.func_name])
        is_fair = all(1 <= value <= MOST_GATHERERS for value in values if isinstance(value, int))
        return "" if is_fair else "it asks for too many gatherers"


class PlainQueue(Queue):
    """A queue of plain jobs, whatever classes it is asked for."""

    def __init__(self, name: str, connection: "redis.Redis", **options: Any) -> None:
        super().__init__(name, connection, **options | {"job_class": PlainJob, "serializer": JSONSerializer})


class PlainWorker(Worker):
    """A worker that works plain jobs only: `gcs shift worker`."""

    def __init__(self, queues: list[str], connection: "redis.Redis", **options: Any) -> None:
        kinds = {"job_class": PlainJob, "queue_class": PlainQueue, "serializer": JSONSerializer}
        super().__init__(queues, connection=connection, **options | kinds)


class PlainCron(CronScheduler):
    """RQ's cron, which queues plain jobs."""

    def enqueue_jobs(self) -> list[CronJob]:
        """Queue the jobs that are due."""
        due = [job for job in self._cron_jobs if job.should_run()]
        for job in due:
            queue = PlainQueue(job.queue_name, self.connection)
            assert job.func is not None  # only a job that is looked at has none
            queue.enqueue(job.func, *job.args, **job.kwargs, **job.job_options)
            job.set_enqueue_time(datetime.now(UTC))
        return due
