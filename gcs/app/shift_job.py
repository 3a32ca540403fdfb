"""The job of a shift: a `gcs shift worker` runs it.

The job ends with the shift, when the shift is cancelled, when the crawl is over, and when the worker is told to stop.
"""

import os
import time
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import redis
from rq import get_current_job
from rq.job import Job

from gcs.app import consent
from gcs.app.assembly import run_loop
from gcs.app.processes import helper_process
from gcs.events import Events, set_up_log
from gcs.ports.shift_book import ShiftBook, is_dismissed

events = Events("shift")

#: seconds between two looks at the clock, the book and the worker
LOOK_S = 0.5
#: seconds to the next look at a book that is out of reach: each look blocks the job while it tries
AWAY_S = 15.0


def work(name: str) -> dict[str, Any]:
    """Work the shift of this name; returns what came of it, for RQ to keep."""
    job = get_current_job()
    assert job is not None, "run by a worker of RQ"
    set_up_log("info", False)
    watch = ShiftWatch(name, job)
    order = watch.order
    if order is None or watch.look():
        events.info("not-worked", shift=name, why=watch.why)
        return {"shift": name, "ended": watch.why}
    loan = order.loan
    if loan.allow_private and "private" not in os.environ.get(consent.VARIABLE, "").split():
        events.warning("not-allowed", shift=name, reason="private addresses need gcs shift worker --allow private")
        loan = replace(loan, allow_private=False)
    done = run_loop(helper_process.work_shift(loan, watch.look))
    return {"shift": name, "ended": watch.why or "nothing is left to do", **asdict(done)}


class ShiftWatch:
    """Checks now and then whether a shift is to end, and remembers why."""

    def __init__(self, name: str, job: Job) -> None:
        self._name, self._job = name, job
        self._book = ShiftBook(job.connection, work)
        self.order = self._book.find(name)
        self._began_at = self.order.shift.began_at(datetime.now()) if self.order else None
        self._look_at = 0.0
        self.why = ""

    def look(self) -> bool:
        """Look again, if the last look is a while ago; whether the shift is to end."""
        now = time.monotonic()
        if not self.why and now >= self._look_at:
            self._look_at = now + LOOK_S
            self.why = self._clock_says(datetime.now()) or self._book_says()
        return bool(self.why)

    def _clock_says(self, now: datetime) -> str:
        if self.order is None or self._began_at is None:
            return "it is not on"
        # the next one, which has jobs of its own, may have begun
        return "" if self.order.shift.began_at(now) == self._began_at else "it has ended"

    def _book_says(self) -> str:
        try:
            order = self._book.find(self._name)
            if order == self.order:
                return "the worker is told to stop" if is_dismissed(self._job) else ""
        except redis.RedisError as error:  # it may come back, and the crawl does not need it
            events.warning("no-book", shift=self._name, reason=str(error), again_s=AWAY_S)
            self._look_at = time.monotonic() + AWAY_S
            return ""
        return "cancelled" if order is None else "it was changed"
