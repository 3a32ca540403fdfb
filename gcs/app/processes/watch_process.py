"""The watch of a crawl directory as a process: a thread matches what is stored, the event loop pushes what matched."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gcs.ports.watch.watch_store import WatchStore, watch_lock
from gcs.roles.watcher.pusher import Pusher
from gcs.roles.watcher.watcher import Watcher

#: seconds between two looks at the record logs, and at the receivers
_LOOK_S, _PUSH_LOOK_S = 0.2, 0.5
#: seconds that receivers get, after all is matched, to come back
_LAST_S = 5.0


class WatchOutcome(NamedTuple):
    """What a watch has done."""

    found: int
    pushed: int
    #: matches that receivers still wait for
    waiting: int


async def watch(directory: Path, is_live: Callable[[], bool]) -> WatchOutcome:
    """Match and push while `is_live`, and then what is left. InUseError if another process watches this directory."""
    with watch_lock(directory):
        return await _watch(directory, is_live)


async def _watch(directory: Path, is_live: Callable[[], bool]) -> WatchOutcome:
    loop, store = asyncio.get_running_loop(), WatchStore(directory)
    pusher = Pusher(store)
    halt = threading.Event()

    def match_all() -> int:
        own = WatchStore(directory)
        watcher = Watcher(directory, own, lambda: loop.call_soon_threadsafe(pusher.ended.set))
        try:
            while not halt.is_set():
                live = is_live()  # looked at first: what is read then is all
                while watcher.step() and not halt.is_set():
                    pass
                if not live:
                    break
                halt.wait(_LOOK_S)
        finally:
            watcher.close()
            own.close()
        return watcher.found

    matching = asyncio.create_task(asyncio.to_thread(match_all))
    try:
        found = await _push_until(matching, pusher, store)
        waiting = sum(target.waiting for target in store.targets())
    finally:
        halt.set()
        await pusher.close()
        await asyncio.gather(matching, return_exceptions=True)
        store.close()
    return WatchOutcome(found, pusher.pushed, waiting)


async def _push_until(matching: "asyncio.Task[int]", pusher: Pusher, store: WatchStore) -> int:
    """Push until all is matched and nobody is to be tried soon; what was found."""
    give_up_at = float("inf")
    while True:
        pusher.ended.clear()
        is_matched = matching.done()
        under_way = pusher.step()
        if is_matched:
            found = matching.result()
            give_up_at = min(give_up_at, time.time() + _LAST_S)
            due = store.next_due()
            if not under_way and (due is None or due > give_up_at):
                return found
        try:
            async with asyncio.timeout(_PUSH_LOOK_S):
                await pusher.ended.wait()
        except TimeoutError:
            continue
