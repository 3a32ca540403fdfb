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
import selectors
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

#: the wall clock at the beginning of a simulation
EPOCH_S = 1_700_000_000.0
#: steps of the loop in a row that wait for no longer than a moment: more means that somebody does not wait
MOST_STEPS, MOMENT_S = 200_000, 1e-5
#: what each step takes: more than what rounding takes away between two clocks, so that no timer comes too early
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
        self._gathered: list[tuple[asyncio.Handle, contextvars.Context, Callable[..., object], tuple[Any, ...]]] = []
        self.tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
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

    def kill(self) -> None:
        """As kill -9: nothing of it runs any more. What it holds is kept, so that nothing is tidied up."""
        self.alive = False
        self._gathered.clear()
        self._loop.graveyard.append((self, list(self.tasks)))

    def stop(self) -> None:
        """As SIGSTOP."""
        self.stopped = True

    def go_on(self) -> None:
        """As SIGCONT."""
        self.stopped = False
        gathered, self._gathered = self._gathered, []
        for handle, context, callback, args in gathered:
            self._loop.call_soon(_unless_cancelled, handle, callback, *args, context=context)

    def gather(self, handle: asyncio.Handle, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        """Keep a callback, unless it is cancelled, until the process goes on."""
        self._gathered.append((handle, contextvars.copy_context(), callback, args))

    def handle(self, number: int, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._signals[number] = callback, args


def current() -> SimProcess | None:
    """The process that runs at this moment; None for the world around."""
    return _PROCESS.get()


class _NoWaiting(selectors.SelectSelector):
    """Lets time pass instead of waiting."""

    loop: "SimLoop"

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise StillError("nothing would ever happen again")
        self.loop.pass_time(timeout)
        return []


class SimLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time. `now` is the time of the world."""

    def __init__(self) -> None:
        selector = _NoWaiting()
        super().__init__(selector)
        selector.loop = self
        self.now = 0.0
        #: processes that were killed, with their tasks
        self.graveyard: list[tuple[SimProcess, list[asyncio.Task[Any]]]] = []
        self._clock_resolution = 0.0
        self._steps = 0
        self.set_task_factory(_make_task)

    def pass_time(self, seconds: float) -> None:
        """Go on to the next timer, or to what is to be done now."""
        self.now += max(0.0, seconds) + LATE_S
        self._steps = 0 if seconds > MOMENT_S else self._steps + 1
        if self._steps > MOST_STEPS:
            raise StillError("time does not go on: somebody does not wait")

    def time(self) -> float:
        process = _PROCESS.get()
        return process.clock.monotonic(self.now) if process else self.now

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        process = _PROCESS.get()
        at = process.clock.world(when) if process else when
        context = context or contextvars.copy_context()
        cell = _Cell()
        cell.handle = super().call_at(at, _run, context.get(_PROCESS), cell, callback, *args, context=context)
        return cell.handle

    def _call_soon(self, callback: Callable[..., object], args: tuple[Any, ...], context: Any) -> Any:
        context = context or contextvars.copy_context()
        cell = _Cell()
        cell.handle = super()._call_soon(_run, (context.get(_PROCESS), cell, callback, *args), context)  # type: ignore[misc]
        return cell.handle

    def run_in_executor(self, _executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """Threads take no time here."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except BaseException as error:
            done.set_exception(error)
        return done

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: Any) -> None:
        process = _PROCESS.get()
        assert process is not None
        process.handle(sig, callback, args)

    def remove_signal_handler(self, sig: int) -> bool:
        return True


def _make_task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> "asyncio.Task[Any]":
    task = asyncio.Task(work, loop=loop, **options)
    process = _PROCESS.get()
    if process:
        process.tasks.add(task)
    return task


class _Cell:
    """Lets a callback know its handle."""

    __slots__ = ("handle",)
    handle: Any


def _run(process: SimProcess | None, cell: _Cell, callback: Callable[..., object], *args: Any) -> None:
    if process is None or (process.alive and not process.stopped):
        callback(*args)
    elif process.alive:
        process.gather(cell.handle, callback, args)


def _unless_cancelled(handle: asyncio.Handle, callback: Callable[..., object], *args: Any) -> None:
    if not handle.cancelled():
        callback(*args)


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
