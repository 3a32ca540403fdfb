"""Night shifts with RQ: the book of shifts in a plain Redis, and the bell that lets RQ's cron ring for each.

    gcs:shifts         hash    name of the shift → the order, as JSON
    gcs:shifts:rung    hash    name of the shift → when the last one began that there were jobs for

When the shift of an order begins, it becomes as many RQ jobs as it wants machines; a `gcs shift worker` works one to
its end. A job that no worker took is gone when its shift ends. A shift is a job, a URL never is. A bell that comes late
(it was off, or heard of the order too late, or the clock has jumped) rings at once for a shift that is on.

Invariant: RQ knows nothing of crawls: what a worker runs is one function with the name of a shift. Jobs of a cancelled
order find nothing in the book, and end.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import msgspec
import redis
from rq.cron import CronJob
from rq.job import Job
from rq.worker import Worker

from gcs.core.helpers.loan import Loan, Shift
from gcs.errors import UsageError
from gcs.events import Events
from gcs.ports.plain_jobs import PlainCron, PlainQueue
from gcs.ports.space.address import shown

events = Events("shift")

BOOK, RUNG = "gcs:shifts", "gcs:shifts:rung"
#: seconds for which the result of a shift can be looked at
RESULT_S = 7 * 86_400
#: RQ's word for "no limit"
NO_TIMEOUT = -1

#: what a worker runs: given the name of a shift
Work = Callable[[str], object]


class ShiftOrder(msgspec.Struct, frozen=True):
    """A shift that is to be worked, night after night."""

    name: str
    loan: Loan
    shift: Shift
    queue: str = "gcs"
    #: machines that are wanted
    workers: int = 1


_decoder = msgspec.json.Decoder(ShiftOrder)


def _decode(packed: bytes) -> ShiftOrder | None:
    """An order of the book, or None: anybody may have written there."""
    try:
        return _decoder.decode(packed)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        events.warning("order-refused", reason=str(error))
        return None


def connect(url: str) -> "redis.Redis":
    """The Redis of RQ."""
    try:
        connection = redis.Redis.from_url(url)
        connection.ping()
    except (redis.RedisError, ValueError) as error:
        raise UsageError(f"{shown(url)}: RQ needs a plain Redis, and there is none ({error}); look at --rq") from None
    return connection


class ShiftBook:
    """The orders at one Redis, and the jobs that come of them."""

    def __init__(self, connection: "redis.Redis", work: Work) -> None:
        self.connection, self.work = connection, work

    def add(self, order: ShiftOrder, now: datetime) -> bool:
        """Write an order down, in the place of the one of its name, whose jobs end.

        If its shift is on, let it begin; returns whether it is.
        """
        self.cancel(order.name)
        is_on = order.shift.ends_at(now) is not None
        if is_on:
            self.mark_rung(order, now)  # before a bell can see it
        self.connection.hset(BOOK, order.name, msgspec.json.encode(order))
        for _ in range(order.workers if is_on else 0):
            self._queue(order).enqueue(self.work, **job_of(order))
        return is_on

    def is_missed(self, order: ShiftOrder, now: datetime) -> bool:
        """Whether its shift is on, and there were no jobs for it."""
        began_at = order.shift.began_at(now)
        rung = cast("bytes | None", self.connection.hget(RUNG, order.name))
        return began_at is not None and rung != _moment(began_at)

    def mark_rung(self, order: ShiftOrder, now: datetime) -> None:
        """Note that there are jobs for the shift that is on."""
        if began_at := order.shift.began_at(now):
            self.connection.hset(RUNG, order.name, _moment(began_at))

    def find(self, name: str) -> ShiftOrder | None:
        packed = cast("bytes | None", self.connection.hget(BOOK, name))
        return None if packed is None else _decode(packed)

    def orders(self) -> list[ShiftOrder]:
        book = cast("dict[bytes, bytes]", self.connection.hgetall(BOOK))
        return [order for name in sorted(book) if (order := _decode(book[name]))]

    def cancel(self, name: str) -> bool:
        """Strike an order out: waiting jobs are dropped, and jobs under way end soon. Returns whether there was one."""
        order = self.find(name)
        if order is None:
            return False
        self.connection.hdel(BOOK, name)
        self.connection.hdel(RUNG, name)
        for job in self._queue(order).jobs:
            if job.func_name == _name(self.work) and list(job.args or ()) == [name]:
                job.delete()
        return True

    def _queue(self, order: ShiftOrder) -> PlainQueue:
        return PlainQueue(order.queue, self.connection)


class ShiftBell(PlainCron):
    """RQ's cron, which follows the book: orders come and go while it runs."""

    def __init__(self, book: ShiftBook, now: Callable[[], datetime]) -> None:
        super().__init__(connection=book.connection)
        self._book, self._now_here = book, now
        self._known: dict[str, tuple[ShiftOrder, str]] = {}

    def ring(self) -> None:
        """Ring for shifts until a signal comes."""
        self.start()  # type: ignore[no-untyped-call]

    def enqueue_jobs(self) -> list[CronJob]:
        """Read the book, then ring for whatever is due."""
        now = self._now_here()
        lines = {order.name: (order, order.shift.cron(now)) for order in self._book.orders()}
        for name in [name for name, known in self._known.items() if lines.get(name) != known]:
            self._cron_jobs = [job for job in self._cron_jobs if job.name != name]
            del self._known[name]
        for name, (order, line) in lines.items():
            if name not in self._known:
                self._known[name] = order, line
                is_missed = self._book.is_missed(order, now)
                for _ in range(order.workers):
                    job = self.register(self._book.work, order.queue, cron=line, name=name, **job_of(order))
                    if is_missed:
                        job.next_enqueue_time = self.created_at  # that is: now
        rung = super().enqueue_jobs()
        for name in {job.name for job in rung}:
            self._book.mark_rung(lines[name][0], now)
        return rung


def job_of(order: ShiftOrder) -> dict[str, Any]:
    """How an order is enqueued."""
    return {"args": (order.name,), "job_timeout": NO_TIMEOUT, "result_ttl": RESULT_S, "ttl": order.shift.minutes * 60}


def is_dismissed(job: Job) -> bool:
    """Whether the worker of this job was told to end: RQ does not tell the job."""
    key = f"{Worker.redis_worker_namespace_prefix}{job.worker_name}"
    worker = Worker.find_by_key(key, connection=job.connection)
    return worker is not None and worker.shutdown_requested_date is not None


def _moment(at: datetime) -> bytes:
    """A moment as it is written into the book: local time, to the minute."""
    return f"{at:%Y-%m-%d %H:%M}".encode()


def _name(work: Work) -> str:
    return f"{work.__module__}.{work.__qualname__}"
