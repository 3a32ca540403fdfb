"""scripts/fuzz: feeds every reader inputs made by chance, with a limit of CPU time and memory for each.

Input number n of a seed is always the same, so a child process only notes the number of the input at hand in shared
memory. If the child dies or raises, its parent makes that input again and stores it in tests/fuzz/found, where
`test_fuzz.py` keeps it as a test. `guided.py` has its inputs made by coverage.
"""

import argparse
import itertools
import mmap
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gcs.ports.system.process import end_with

from .readers import READERS, WORDS, seeds

FOUND = Path(__file__).parent / "found"
#: for one input
LIMIT_S, LIMIT_BYTES = 1.0, 200 << 20
#: bytes of an input in which a part is repeated, and how many in a thousand of these there are
LONG_BYTES, LONG_PER_MILLE = (4 << 10, 64 << 10, 256 << 10), 20
#: share of the inputs that are made from the reader's own seeds; the others from any
OWN = 0.7
#: inputs for one child: then memory that libraries keep is given back
INPUTS_PER_CHILD = 50_000


@dataclass(frozen=True, slots=True)
class Find:
    """An input that a reader could not bear."""

    reader: str
    data: bytes
    why: str


class Inputs:
    """Makes the inputs of one seed. `per_mille`: how many of a thousand are long."""

    def __init__(self, seed: int, names: list[str], per_mille: float = LONG_PER_MILLE) -> None:
        self._seed, self._names, self._long = seed, names, per_mille / 1_000
        self._own = seeds()
        self._seeds = list(itertools.chain(*self._own.values()))

    def make(self, number: int) -> tuple[str, bytes]:
        """The reader, and the input."""
        chance = random.Random((self._seed << 40) + number)
        reader = chance.choice(self._names)
        own = self._own.get(reader) if chance.random() < OWN else None
        data = bytearray(chance.choice(own or self._seeds))
        for _ in range(chance.randrange(1, 8)):
            self._mutate(data, chance)
        if chance.random() < self._long and data:
            at, size = chance.randrange(len(data)), chance.randrange(1, 40)
            part = bytes(data[at : at + size]) if chance.random() < 0.5 else chance.choice(WORDS) + chance.choice(WORDS)
            data[at:at] = part * (chance.choice(LONG_BYTES) // len(part or b"x")) + chance.choice((b"", *WORDS))
        return reader, bytes(data)

    def _mutate(self, data: bytearray, chance: random.Random) -> None:
        at, size = chance.randrange(len(data) + 1), chance.randrange(1, 30)
        match chance.randrange(7):
            case 0:
                data[at:at] = chance.choice(WORDS)
            case 1:
                data[at:at] = chance.choice(WORDS) * chance.randrange(1, 50)
            case 2:
                del data[at : at + size]
            case 3:
                other = chance.choice(self._seeds)
                start = chance.randrange(len(other) + 1)
                data[at:at] = other[start : start + chance.randrange(200)]
            case 4:
                data[at : at + 1] = bytes((chance.randrange(256),))
            case 5:
                data[at:at] = data[at : at + size] * chance.randrange(1, 30)
            case 6:
                del data[at:]


class TooMuchError(BaseException):  # readers may catch every Exception
    """An input took more than the limit."""


@contextmanager
def limits() -> Iterator[None]:
    """The limits of one input, for code that Python can interrupt; other code is ended by the signal's default."""

    def stop(_number: int, _frame: object) -> None:
        raise TooMuchError(f"more than {LIMIT_S} s")

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    signal.setitimer(signal.ITIMER_PROF, 4 * LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def bear(reader: str, data: bytes) -> None:
    """Read an input within the limits; raises what the reader raises, and TooMuchError."""
    with limits():
        READERS[reader](data)


class Tally:
    """How many inputs each reader was fed, and the CPU seconds that they took; in memory that processes share."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 2 * 8 * len(READERS))
        self._numbers = memoryview(self._shared).cast("d")
        self._at = {name: 2 * at for at, name in enumerate(READERS)}

    def add(self, reader: str, cpu_s: float) -> None:
        at = self._at[reader]
        self._numbers[at] += 1
        self._numbers[at + 1] += cpu_s

    def __str__(self) -> str:
        """A table in Markdown."""
        fed = {name: (int(self._numbers[at]), self._numbers[at + 1]) for name, at in self._at.items()}
        rows = [f"| {name} | {count:,} | {cpu_s:,.0f} |" for name, (count, cpu_s) in fed.items() if count]
        return "\n".join(["| reader | inputs | CPU s |", "|---|---|---|", *rows])


def run(inputs: Inputs, count: int, seconds: float, tally: Tally | None = None) -> tuple[int, list[Find]]:
    """Feed so many inputs, or for so long; returns how many were fed, and the finds."""
    finds, tally, shared = list[Find](), tally or Tally(), mmap.mmap(-1, 8)
    end_at, number = time.monotonic() + seconds, 0
    while number < count and time.monotonic() < end_at:
        last = min(number + INPUTS_PER_CHILD, count)
        pid = os.fork()
        if not pid:
            _child(inputs, range(number, last), end_at, shared, tally)
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except KeyboardInterrupt:  # enough: say how far it came
            os.kill(pid, signal.SIGKILL)
            status, end_at = 0, 0.0
        number = int.from_bytes(shared[:8], "big")
        if status:
            finds.append(Find(*inputs.make(number), f"the process ended with {status}"))
            number += 1
    return number, finds


def _child(inputs: Inputs, numbers: range, end_at: float, shared: mmap.mmap, tally: Tally) -> None:
    """Bear the inputs, in a process of its own; its exit code is 0 if it could."""
    code = 1
    if end_with_parent := end_with(os.getppid(), signal.SIGKILL):
        end_with_parent()
    try:
        for reader, data in map(inputs.make, itertools.islice(itertools.count(10**9), 200)):  # loads and warms all
            bear(reader, data)
        size_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size_bytes + LIMIT_BYTES,) * 2)
        number = numbers.start
        for number in numbers:
            shared[:8] = number.to_bytes(8, "big")
            reader, data = inputs.make(number)
            begun_s = time.process_time()
            bear(reader, data)
            tally.add(reader, time.process_time() - begun_s)
            if number % 100 == 0 and time.monotonic() > end_at:
                break
        shared[:8] = (number + 1).to_bytes(8, "big")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other inputs")
    parser.add_argument("--inputs", type=int, default=10_000_000, help="how many")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so long")
    parser.add_argument("--long", type=float, default=LONG_PER_MILLE, help="long ones of a thousand [%(default)s]")
    parser.add_argument("--reader", choices=READERS, action="append", help="only this one (may be repeated)")
    options = parser.parse_args()
    inputs, tally = Inputs(options.seed, options.reader or list(READERS), options.long), Tally()
    fed, finds = run(inputs, options.inputs, options.seconds, tally)
    print(tally)
    for number, find in enumerate(finds):
        path = FOUND / f"{find.reader}-{options.seed}-{number}"
        path.write_bytes(find.data)
        print(f"{path}: {find.why}")
    print(f"{fed:,} inputs, {len(finds)} finds")
    return int(bool(finds))


if __name__ == "__main__":
    sys.exit(main())
