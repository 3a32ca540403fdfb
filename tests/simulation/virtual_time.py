"""Virtual time: an event loop that never waits, simulated processes with clocks of their own, and their deaths.

A simulated process is all that runs in its context: tasks, callbacks and timers carry it along, as asyncio copies
contexts. So one event loop runs many processes, and each call of a clock is answered by the clock of its process.

- A process that is killed runs nothing any more, not even a `finally`: its callbacks are dropped.
- A process that is stopped runs what has gathered when it goes on.
- When nothing is left to do at this moment, time jumps to the next timer.

Invariant: with the same calls in the same order, the same happens, whatever the machine's clock says.
"""

import asyncio
import contextvars
import random
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from typing import Any

#: the wall clock at the beginning of a simulation
EPOCH_S = 1_700_000_000.0
#: callbacks in a row between which no more than a moment passes: more means that somebody does not wait
MOST_STEPS, MOMENT_S = 200_000, 1e-5
#: what each jump of time takes: more than what rounding takes away between two clocks, so that no timer comes too early
LATE_S = 1e-6

_PROCESS: contextvars.ContextVar["SimProcess | None"] = contextvars.ContextVar("process", default=None)


class StillError(Exception):
    """Nothing would ever happen again, or time does not go on."""


class MachineClock:
    """The clocks of one machine: each second of the world they count `rate` seconds; the wall clock may be wrong."""

    def __init__(self, rate: float = 1.0, begun_s: float = 1_000.0) -> None:
        self.rate, self.begun_s, self.wrong_s = rate, begun_s, 0.0

    def monotonic(self, now: float) -> float:
        return self.begun_s + self.rate * now

    def world(self, monotonic: float) -> float:
        """The time of the world at which the monotonic clock says that."""
        return (monotonic - self.begun_s) / self.rate

    def wall(self, now: float) -> float:
        return EPOCH_S + self.rate * now + self.wrong_s


class SimProcess:
    """One simulated process."""

    def __init__(self, loop: "SimLoop", name: str, clock: MachineClock) -> None:
        self.name, self.clock, self._loop = name, clock, loop
        self.alive, self.stopped = True, False
        self._gathered: list[_Handle] = []
        self._signals: dict[int, tuple[Callable[..., object], tuple[Any, ...]]] = {}
        self._context = contextvars.copy_context()
        self._context.run(_PROCESS.set, self)

    def run(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Start its main task."""
        return self._context.run(self._loop.create_task, work)

    def call(self, callback: Callable[..., Any], *args: object) -> Any:
        """Call a function inside of the process."""
        return self._context.copy().run(callback, *args)

    def signal(self, number: int) -> bool:
        """Call the handler of a signal; False if there is none."""
        if number not in self._signals or not self.alive:
            return False
        callback, args = self._signals[number]
        self._loop.call_soon(callback, *args, context=self._context)
        return True

    @property
    def runs(self) -> bool:
        return self.alive and not self.stopped

    def kill(self) -> None:
        """As kill -9: nothing of it runs any more. It tidies up nothing, as nobody collects garbage meanwhile."""
        self.alive = False

    def stop(self) -> None:
        """As SIGSTOP."""
        self.stopped = True

    def go_on(self) -> None:
        """As SIGCONT."""
        self.stopped = False
        gathered, self._gathered = self._gathered, []
        self._loop.go_on_with(gathered)

    def gather(self, handle: "_Handle") -> None:
        """What is to be called while it does not run waits until it goes on: for ever, if it is dead."""
        self._gathered.append(handle)

    def handle(self, number: int, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._signals[number] = callback, args


def current() -> SimProcess | None:
    """The process that runs at this moment; None for the world around."""
    return _PROCESS.get()


class _Handle:
    """A callback that is to be called, unless it is cancelled: as `asyncio.Handle` and `TimerHandle`."""

    __slots__ = ("args", "at", "callback", "context", "gone", "process")

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context,
        process: SimProcess | None,
        at: float,
    ) -> None:
        self.callback, self.args, self.context, self.process, self.at = callback, args, context, process, at
        self.gone = False

    def cancel(self) -> None:
        self.gone = True

    def cancelled(self) -> bool:
        return self.gone

    def when(self) -> float:
        return self.at


class SimLoop(asyncio.AbstractEventLoop):
    """An event loop on virtual time, with no more than coroutines need. `now` is the time of the world."""

    def __init__(self) -> None:
        self.now = 0.0
        self._ready: deque[_Handle] = deque()
        self._timers: list[tuple[float, int, _Handle]] = []
        self._count, self._steps, self._is_running = 0, 0, False
        self._on_error: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None

    # -- running

    def run_until_complete(self, future: Any) -> Any:
        """Let time pass until the future is done."""
        done = asyncio.ensure_future(future, loop=self)
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._close_generator)
        asyncio._set_running_loop(self)
        self._is_running = True
        try:
            while not done.done():
                self._run_ready()
                if not self._ready and not done.done():
                    self._pass_time()
        finally:
            self._is_running = False
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)
        return done.result()

    def _run_ready(self) -> None:
        ready = self._ready
        while ready:
            handle = ready.popleft()
            if handle.gone:
                continue
            process = handle.process
            if process is not None and not process.runs:
                process.gather(handle)
                continue
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise StillError("time does not go on: somebody does not wait")
            try:
                handle.context.run(handle.callback, *handle.args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self.call_exception_handler({"message": f"in {handle.callback}", "exception": error})

    def _pass_time(self) -> None:
        """Go on to the next timer."""
        timers, now = self._timers, self.now
        while timers and timers[0][2].gone:
            heappop(timers)
        if not timers:
            raise StillError("nothing would ever happen again")
        at = timers[0][0]
        if at - now > MOMENT_S:
            self._steps = 0
        self.now = now = max(now, at) + LATE_S
        while timers and timers[0][0] <= now:
            self._ready.append(heappop(timers)[2])

    def _close_generator(self, generator: Any) -> None:
        self.call_soon(self.create_task, generator.aclose())

    def go_on_with(self, handles: "Iterable[_Handle]") -> None:
        """Call what has gathered, soon."""
        self._ready.extend(handles)

    # -- what coroutines call

    def time(self) -> float:
        process = _PROCESS.get()
        return process.clock.monotonic(self.now) if process else self.now

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        if context is None:
            context = contextvars.copy_context()
        handle = _Handle(callback, args, context, context.get(_PROCESS), 0.0)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        process = _PROCESS.get()
        if context is None:
            context = contextvars.copy_context()
        handle = _Handle(callback, args, context, context.get(_PROCESS), when)
        self._count += 1
        heappush(self._timers, (process.clock.world(when) if process else when, self._count, handle))
        return handle

    def pass_seconds(self, seconds: float) -> "Passing":
        """Seconds of the world, to be awaited by a task: cheaper than `asyncio.sleep`."""
        return Passing(self, self.now + seconds)

    def wake_at(self, at: float, callback: Callable[..., object], arg: object, context: contextvars.Context) -> _Handle:
        """Call back at a time of the world."""
        handle = _Handle(callback, (arg,), context, context.get(_PROCESS), at)
        self._count += 1
        heappush(self._timers, (at, self._count, handle))
        return handle

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **options: Any) -> "asyncio.Task[Any]":
        return asyncio.Task(coro, loop=self, **options)

    def run_in_executor(self, _executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """Threads take no time here."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except BaseException as error:
            done.set_exception(error)
        return done

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "nobody measures the way to simulated hosts")

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: Any) -> None:
        process = _PROCESS.get()
        assert process is not None
        process.handle(sig, callback, args)

    def remove_signal_handler(self, sig: int) -> bool:
        return True

    def set_exception_handler(self, handler: Any) -> None:
        self._on_error = handler

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._on_error:
            self._on_error(self, context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return False


class Passing:
    """As a future that is done at a time of the world. It calls its one task back without a detour."""

    __slots__ = ("_asyncio_future_blocking", "_at", "_call", "_is_cancelled", "_loop")

    def __init__(self, loop: SimLoop, at: float) -> None:
        self._loop, self._at, self._is_cancelled = loop, at, False
        self._asyncio_future_blocking = False
        self._call: tuple[Callable[..., object], contextvars.Context, _Handle] | None = None

    def __await__(self) -> Iterator["Passing"]:
        self._asyncio_future_blocking = True
        yield self
        self.result()

    def add_done_callback(self, callback: Callable[..., object], *, context: contextvars.Context) -> None:
        self._call = callback, context, self._loop.wake_at(self._at, callback, self, context)

    def cancel(self, msg: object = None) -> bool:
        if self._call is None or self._is_cancelled:
            return False
        callback, context, handle = self._call
        handle.cancel()
        self._is_cancelled = True
        self._loop.call_soon(callback, self, context=context)
        return True

    def result(self) -> None:
        self._call = None  # no circle: nobody collects garbage
        if self._is_cancelled:
            raise asyncio.CancelledError

    def get_loop(self) -> SimLoop:
        return self._loop


@contextmanager
def simulated_time(loop: SimLoop, chance: random.Random) -> Iterator[None]:
    """All clocks and all secrets of this Python process are simulated while the block runs."""
    world = MachineClock()

    def clock() -> MachineClock:
        process = _PROCESS.get()
        return process.clock if process else world

    fakes: list[tuple[Any, str, Any]] = [
        (time, "time", lambda: clock().wall(loop.now)),
        (time, "monotonic", lambda: clock().monotonic(loop.now)),
        (time, "clock_gettime", lambda _which: clock().monotonic(loop.now)),
        (time, "perf_counter", lambda: clock().monotonic(loop.now)),
        (time, "thread_time", lambda: 0.0),
        (random, "SystemRandom", lambda: chance),
        (random, "uniform", chance.uniform),
    ]
    before = [(place, name, getattr(place, name)) for place, name, _ in fakes]
    for place, name, fake in fakes:
        setattr(place, name, fake)
    try:
        yield
    finally:
        for place, name, real in before:
            setattr(place, name, real)
