"""Many simulations on all cores, and the command line of `scripts/simulate`.

Each batch of seeds has a process of its own: what simulated processes held when they died goes with it.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from tests.simulation.mutants import MUTANTS
from tests.simulation.simulate import Outcome, Plan, simulate, smaller

#: seeds that one process simulates
BATCH = 25


@dataclass(frozen=True)
class Run:
    """What a batch says of one seed."""

    seed: int
    violations: list[str]
    virtual_s: float
    cpu_s: float
    digest: str
    faults: int


def run_batch(seeds: Sequence[int], gatherers: int, mutant: str) -> Iterator[Run]:
    """Simulate some seeds in a forked process; a seed that ends the process counts as failed."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        with MUTANTS[mutant]() if mutant else nullcontext(), os.fdopen(writer, "w") as out:
            for seed in seeds:
                outcome = simulate(plan_of(seed, gatherers))
                row = [seed, outcome.violations, outcome.virtual_s, outcome.cpu_s, outcome.digest]
                print(json.dumps([*row, len(outcome.plan.faults)]), file=out, flush=True)
                if outcome.violations:
                    break  # dead processes of this one may disturb the next
        os._exit(0)
    os.close(writer)
    left = list(seeds)
    with os.fdopen(reader) as lines:
        for line in lines:
            run = Run(*json.loads(line))
            left.remove(run.seed)
            yield run
    _, status = os.waitpid(pid, 0)
    if left and status:
        yield Run(left.pop(0), [f"process: it ended with {os.waitstatus_to_exitcode(status)}"], 0.0, 0.0, "", 0)
    if left:
        yield from run_batch(left, gatherers, mutant)


def plan_of(seed: int, gatherers: int = 0) -> Plan:
    """What a seed means, with another number of gatherers if one is given."""
    return replace(Plan.of(seed), gatherers=gatherers, elsewhere=0) if gatherers else Plan.of(seed)


def run_many(seeds: Sequence[int], jobs: int, gatherers: int = 0, mutant: str = "") -> Iterator[Run]:
    """Simulate all these seeds, on some cores; the order is that in which they come to an end."""
    if jobs == 1:
        for at in range(0, len(seeds), BATCH):
            yield from run_batch(seeds[at : at + BATCH], gatherers, mutant)
        return
    from concurrent.futures import ThreadPoolExecutor, as_completed

    batches = [seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)]
    with ThreadPoolExecutor(jobs) as pool:
        done = [pool.submit(lambda batch=batch: list(run_batch(batch, gatherers, mutant))) for batch in batches]
        for future in as_completed(done):
            yield from future.result()


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
    parser.add_argument("--mutant", choices=sorted(MUTANTS), default="", help="break the code on purpose")
    words = parser.parse_args()
    if words.seed is not None:
        with MUTANTS[words.mutant]() if words.mutant else nullcontext():
            outcome = simulate(plan_of(words.seed, words.gatherers))
            if outcome.violations and words.smaller:
                outcome = simulate(smaller(outcome.plan, outcome.kinds))
        show(outcome, words.trace)
        return bool(outcome.violations)
    if words.seeds is None:
        parser.error("give --seed N or --seeds A..B")
    first, _, last = words.seeds.partition("..")
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
