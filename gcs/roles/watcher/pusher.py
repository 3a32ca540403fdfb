"""Pushes matches to their receivers: in order for each profile and receiver, at least once, each at its own pace.

A receiver that fails is tried again after a second, then after two, four… up to an hour. Those that failed last wait
for one another in slots of their own, so that one that hangs holds nobody who answers.

Invariant: a match is passed over only when the receiver has said that it has it.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping

from gcs.core.watch.push_target import MAIL, PUBLIC_WEBHOOK, STREAM, WEBHOOK
from gcs.events import Events
from gcs.ports.push import PushError, Receiver
from gcs.ports.push.digest_mail import MailReceiver
from gcs.ports.push.match_stream import StreamReceiver
from gcs.ports.push.webhook import WebhookReceiver
from gcs.ports.watch.watch_store import Waiting, WatchStore

#: pushes under way: to receivers that answered last time, to those that did not, and to one host
HEALTHY_SLOTS, FAILING_SLOTS, HOST_SLOTS = 256, 32, 8
#: seconds before a push that failed is tried again: the first time, and at most
RETRY_S, MOST_RETRY_S = 1.0, 3_600.0
#: matches that a receiver gets before others have their turn
_TURN = 100
_PRUNE_S = 60.0
events = Events("push")


def retry_after(failures: int, chance: float) -> float:
    """Seconds until the next try, after so many that failed; `chance` (0…1) keeps receivers from coming together."""
    return min(RETRY_S * 2.0 ** min(failures, 12), MOST_RETRY_S) * (0.75 + 0.5 * chance)


class Pusher:
    """Pushes the matches of one watch to their receivers."""

    def __init__(
        self,
        store: WatchStore,
        receivers: Mapping[str, Receiver] | None = None,
        clock: Callable[[], float] = time.time,
        chance: random.Random | None = None,
    ) -> None:
        self._store, self._clock = store, clock
        self._receivers: Mapping[str, Receiver] = receivers or {
            WEBHOOK: WebhookReceiver(), PUBLIC_WEBHOOK: WebhookReceiver(is_public=True),
            MAIL: MailReceiver(), STREAM: StreamReceiver(),
        }  # fmt: skip
        self._chance = chance or random.Random()
        self._healthy, self._failing = asyncio.Semaphore(HEALTHY_SLOTS), asyncio.Semaphore(FAILING_SLOTS)
        self._hosts: dict[str, asyncio.Semaphore] = {}
        self._under_way: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._pruned_at = 0.0
        #: matches that receivers have taken
        self.pushed = 0
        #: set when a push has ended: there may be more for its receiver
        self.ended = asyncio.Event()

    def step(self) -> int:
        """Begin the pushes that are due; how many are under way."""
        now = self._clock()
        for waiting in self._store.due(now):
            key = waiting.profile, waiting.target.key
            if key not in self._under_way:
                self._under_way[key] = asyncio.create_task(self._push(waiting))
        if now >= self._pruned_at + _PRUNE_S:
            self._pruned_at = now
            if lost := self._store.prune(now):
                events.warning("too-old", matches=lost)
        return len(self._under_way)

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for receiver in self._receivers.values():
            await receiver.close()

    async def _push(self, waiting: Waiting) -> None:
        slots = self._failing if waiting.failures else self._healthy
        host = self._hosts.setdefault(f"{waiting.target.host} {waiting.failures > 0}", asyncio.Semaphore(HOST_SLOTS))
        try:
            async with host, slots:
                await self._turn(waiting)
        except PushError as error:
            wait = retry_after(waiting.failures, self._chance.random())
            self._store.failed(waiting, str(error), self._clock() + wait)
            tries = waiting.failures + 1
            if tries & (tries - 1) == 0:  # the first, the second, the fourth …
                events.warning(
                    "failed", profile=waiting.profile, receiver=waiting.target.shown, tries=tries, reason=error
                )
        except Exception as error:  # a defect: this receiver waits, the others go on
            self._store.failed(waiting, type(error).__name__, self._clock() + MOST_RETRY_S)
            events.error("broken", profile=waiting.profile, receiver=waiting.target.shown, error=type(error).__name__)
        finally:
            del self._under_way[waiting.profile, waiting.target.key]
            self.ended.set()

    async def _turn(self, waiting: Waiting) -> None:
        """Push what waits, a few at a time; each time the store is told how far it came."""
        receiver = self._receivers[waiting.target.kind]
        after, given = waiting.passed, 0
        while given < _TURN:
            found = self._store.matches(waiting.profile, after, receiver.most)
            if not found:
                return
            await receiver.push(waiting.target, waiting.secret, [each.match for each in found])
            after = found[-1].seq
            given += len(found)
            self.pushed += len(found)
            self._store.passed(waiting, after, self._clock() + waiting.target.every_s)
            if waiting.target.every_s:
                return
