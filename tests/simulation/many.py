"""Many simulations on all cores, and the command line of `scripts/simulate`.

Each batch of seeds has a process of its own: what simulated processes held when they died goes with it.
"""

import argparse
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache

from tests.simulation.mutants import MUTANTS
from tests.simulation.simulate import Outcome, Plan, simulate, smaller

#: seeds that one process simulates
BATCH = 100


@dataclass(frozen=True)
class Run:
    """What a batch says of one seed."""

    seed: int
    violations: list[str]
    virtual_s: float
    cpu_s: float
    digest: str
    faults: int


def run_batch(plans: Sequence[Plan], mutant: str = "") -> Iterator[Run]:
    """Simulate in a forked process, one plan after the other; one that ends the process counts as failed."""
    reader, writer = os.pipe()
    _warm_up()
    pid = os.fork()
    if not pid:
        gc.disable()  # the dead must not tidy up
        os.close(reader)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        with MUTANTS[mutant]() if mutant else nullcontext(), os.fdopen(writer, "w") as out:
            for plan in plans:
                outcome = simulate(plan)
                row = [plan.seed, outcome.violations, outcome.virtual_s, outcome.cpu_s, outcome.digest]
                print(json.dumps([*row, len(outcome.plan.faults)]), file=out, flush=True)
                if outcome.violations:
                    break  # dead processes of this one may disturb the next
        os._exit(0)
    os.close(writer)
    left = list(plans)
    try:
        with os.fdopen(reader) as lines:
            for line in lines:
                run = Run(*json.loads(line))
                left.pop(0)
                yield run
    except GeneratorExit:  # nobody wants to know more
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    _, status = os.waitpid(pid, 0)
    if left and status:
        yield Run(left.pop(0).seed, [f"process: it ended with {os.waitstatus_to_exitcode(status)}"], 0.0, 0.0, "", 0)
    if left:
        yield from run_batch(left, mutant)


@cache
def _warm_up() -> None:
    """Load everything once, before the first batch."""
    simulate(Plan.of(0))


def plan_of(seed: int, gatherers: int = 0) -> Plan:
    """What a seed means, with another number of gatherers if one is given."""
    return replace(Plan.of(seed), gatherers=gatherers, elsewhere=0) if gatherers else Plan.of(seed)


def run_many(seeds: Sequence[int], jobs: int, gatherers: int = 0, mutant: str = "") -> Iterator[Run]:
    """Simulate all these seeds, on some cores; the order is that in which they come to an end."""
    plans = [plan_of(seed, gatherers) for seed in seeds]
    batches = [plans[at : at + BATCH] for at in range(0, len(plans), BATCH)]
    if jobs == 1:
        for batch in batches:
            yield from run_batch(batch, mutant)
        return
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(jobs) as pool:
        done = [pool.submit(lambda batch=batch: list(run_batch(batch, mutant))) for batch in batches]
        for future in as_completed(done):
            yield from future.result()


def tell_mutants(seeds: Sequence[int]) -> int:
    """For each broken rule, the first seed that notices it, and how; how many are not noticed."""
    missed = 0
    for name, mutant in sorted(MUTANTS.items()):
        tried, found = 0, None
        for run in run_many(seeds, 1, mutant=name):
            tried += 1
            if run.violations:
                found = run
                break
        missed += found is None
        how = f"seed {found.seed}: {found.violations[0][:90]}" if found else "not noticed"
        print(f"{name:30} {tried:5} seeds  {how}   # {(mutant.__doc__ or '').strip()}", flush=True)
    return missed


def show(outcome: Outcome, trace: bool) -> None:
    """What happened in one simulation."""
    print(outcome.plan)
    if trace:
        print("\n".join(outcome.trace))
    print("\n".join(outcome.violations) or "all that must hold has held")
    print(f"{outcome.virtual_s:.1f} simulated seconds in {outcome.cpu_s:.2f} s of CPU; trace {outcome.digest}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/simulate", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, help="simulate one seed, and say what happened")
    parser.add_argument("--seeds", metavar="A..B", help="simulate all these seeds")
    parser.add_argument("--gatherers", type=int, default=0, help="so many, whatever the seed says")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--trace", action="store_true", help="with --seed: print all events")
    parser.add_argument(
        "--smaller", action="store_true", help="with --seed: look for the smallest plan that fails alike"
    )
    parser.add_argument("--mutants", action="store_true", help="break each rule, and say how many seeds notice it")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), default="", help="break the code on purpose")
    words = parser.parse_args()
    gc.disable()
    if words.seed is not None:
        with MUTANTS[words.mutant]() if words.mutant else nullcontext():
            outcome = simulate(plan_of(words.seed, words.gatherers))
            if outcome.violations and words.smaller:
                outcome = simulate(smaller(outcome.plan, outcome.kinds))
        show(outcome, words.trace)
        if outcome.violations and words.smaller:
            print(f"for FOUND in test_simulation.py: {outcome.plan!r}")
        return bool(outcome.violations)
    if words.seeds is None and not words.mutants:
        parser.error("give --seed N, --seeds A..B or --mutants")
    first, _, last = (words.seeds or "1..1000").partition("..")
    if words.mutants:
        return tell_mutants(range(int(first), int(last or first) + 1))
    begun, runs, failed = time.monotonic(), list[Run](), list[Run]()
    for run in run_many(range(int(first), int(last or first) + 1), words.jobs, words.gatherers, words.mutant):
        runs.append(run)
        if run.violations:
            failed.append(run)
            print(f"seed {run.seed}: {'; '.join(run.violations[:3])}", flush=True)
            if words.mutant:
                break
    virtual, cpu = sum(run.virtual_s for run in runs), sum(run.cpu_s for run in runs)
    print(
        f"{len(runs)} seeds, {sum(run.faults for run in runs)} faults, {virtual:,.0f} simulated seconds in"
        f" {cpu:,.0f} s of CPU ({time.monotonic() - begun:,.0f} s): {len(failed)} failed"
    )
    return bool(failed)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    code = main()
    sys.stdout.flush()
    os._exit(code)  # what dead processes held must not tidy up
