"""One simulation from a seed: which team crawls which web under which faults, and whether what must hold has held.

python -m tests.simulation.simulate --seed 7            one seed, with its faults and what went wrong
python -m tests.simulation.simulate --seeds 1..1000     many, on all cores; a failing one is made smaller
"""

import asyncio
import hashlib
import logging
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gcs.errors import GcsError
from gcs.ports.records.reading import read_records
from gcs.settings import Settings, load
from tests.simulation.faults import Fault, apply, faults_of, strike
from tests.simulation.sim_team import KilledError, SimTeam, quick
from tests.simulation.sim_web import SimWeb, web_of
from tests.simulation.virtual_time import MachineClock, SimLoop, StillError, simulated_time

#: seconds of virtual time after the last fault within which the crawl must have ended
PATIENCE_S = 900.0
#: what the dead processes of earlier simulations hold: it would tidy up in the next one if it were freed
_KEPT: list[object] = []
#: looks at a simulated team while it crawls
Watch = Callable[[SimTeam], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Plan:
    """What is simulated. All of it follows from the seed, unless it is made smaller."""

    seed: int
    gatherers: int
    #: of them, those on machines of their own
    elsewhere: int
    hosts: int
    pages: int
    delay_s: float
    trouble: float
    faults: tuple[Fault, ...]
    #: seconds that answers take, at least and at most
    answers_s: tuple[float, float] = (0.01, 0.12)
    #: how many times as long as usual beats and leases last
    tempo: float = 1.0
    #: `crawl.max_pages`
    max_pages: int = 0
    #: links of a page besides those of the tree: without any, each page is found by one link only
    links: int = 6

    @classmethod
    def of(cls, seed: int) -> "Plan":
        """Most crawls are small, as most defects need few pages; one in eleven has delays of seconds."""
        chance = random.Random(seed)
        gatherers = chance.choice((1, 2, 2, 3, 3, 4, 5))
        elsewhere = chance.randint(0, gatherers - 1) if chance.random() < 0.5 else 0
        size = chance.choices(("small", "middle", "polite"), weights=(8, 2, 1))[0]
        hosts = chance.choice({"small": (1, 2, 3, 5), "middle": (2, 5, 8, 12), "polite": (2, 4, 8)}[size])
        pages = max(hosts, chance.choice({"small": (6, 10, 16), "middle": (40, 80), "polite": (12, 24)}[size]))
        delay_s = chance.choice((1.0, 2.0, 5.0) if size == "polite" else (0.0, 0.1, 0.3))
        trouble = chance.choice((0.0, 0.0, 0.05))
        tempo = 4.0 if size == "polite" else 1.0
        span_s = 3.0 * tempo + delay_s * pages / hosts  # about as long as the crawl
        faults = faults_of(chance, gatherers, elsewhere, span_s, tempo)
        answers_s = 0.01, chance.choice((0.12, 0.12, 1.5))
        max_pages = chance.choice((0, 0, 0, 0, pages // 2))
        return cls(
            seed,
            gatherers,
            elsewhere,
            hosts,
            pages,
            delay_s,
            trouble,
            faults,
            answers_s,
            tempo,
            max_pages,
            chance.choice((0, 0, 2)),
        )

    def __str__(self) -> str:
        web = f"{self.pages} pages on {self.hosts} hosts, delay {self.delay_s:g} s, trouble {self.trouble:g}"
        lines = [f"seed {self.seed}: {self.gatherers} gatherers ({self.elsewhere} elsewhere), {web}"]
        return "\n".join(lines + [f"  {fault}" for fault in self.faults])


@dataclass
class Outcome:
    """What came of it."""

    plan: Plan
    violations: list[str] = field(default_factory=list)
    virtual_s: float = 0.0
    cpu_s: float = 0.0
    trace: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """Equal for equal histories."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()[:16]

    @property
    def kinds(self) -> set[str]:
        """The kinds of what went wrong, without times and names."""
        return {
            line.split(" ", 2)[1].rstrip(":") if line[:1].isdigit() else line.split(":")[0] for line in self.violations
        }


def settings_of(plan: Plan) -> Settings:
    """Short leases and beats, so that faults meet each other."""
    tempo = plan.tempo
    return quick(
        load(None, {}, {}),
        crawl={
            "name": "sim",
            "scope": "any",
            "contact": "sim@example.org",
            "sitemaps": False,
            "max_pages": plan.max_pages,
        },
        politeness={"delay_s": plan.delay_s, "retry_s": 1.0, "tries": 5},
        fetch={"connections": 8, "allow_private": True},
        summary={"depth": "links"},
        frontier={"checkpoint_s": 1.0, "recent_urls": 1000},
        team={"lease_s": 3.0 * tempo, "beat_s": 0.5 * tempo, "recover_s": 20.0 * tempo, "block_s": 0.5 * tempo},
        space={"patience_s": 30.0 * tempo, "lease_s": 5.0 * tempo},
        store={"warc": False, "summaries": False},
        helpers={"lend": False},
    )


class _Trace(logging.Handler):
    """Keeps the events of the simulated processes."""

    def __init__(self, loop: SimLoop, lines: list[str]) -> None:
        super().__init__()
        self._loop, self._lines = loop, lines

    def emit(self, record: logging.LogRecord) -> None:
        from tests.simulation.virtual_time import current

        process = current()
        fields = " ".join(f"{key}={value}" for key, value in vars(record).get("fields", {}).items())
        who = process.name if process else "world"
        self._lines.append(f"{self._loop.now:9.3f} {who:8} {record.levelname[:4]} {record.getMessage()} {fields}")


def simulate(
    plan: Plan, folder: Path | None = None, settings: Settings | None = None, watch: Watch | None = None
) -> Outcome:
    """Run one simulation in this process. `settings`: others than those of `settings_of`; `watch` goes on beside it."""
    outcome = Outcome(plan)
    begun_s, chance, loop = time.process_time(), random.Random(plan.seed + 1), SimLoop()  # type: ignore[abstract]
    shared = Path("/dev/shm")
    scratch = folder or Path(tempfile.mkdtemp(prefix="gcs-sim-", dir=shared if shared.is_dir() else None))
    web, expected = web_of(plan.seed % 8, plan.hosts, plan.pages, plan.links)
    sim_web = SimWeb(loop, chance, web, plan.delay_s, plan.trouble, plan.answers_s)
    team = SimTeam(loop, chance, sim_web, settings or settings_of(plan), list(web.seeds), scratch)
    handler, log = _Trace(loop, outcome.trace), logging.getLogger("gcs")
    level, log.propagate = log.level, False
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    loop.set_exception_handler(lambda _, context: _unhandled(team, context))
    try:
        with simulated_time(loop, chance), team.installed():
            asyncio.set_event_loop(loop)
            try:
                state = loop.run_until_complete(_crawl(team, plan, watch))
            except StillError as error:
                state = f"still: {error}"
            except GcsError as error:
                state = f"gcs crawl: {error}"
        outcome.violations += [*team.violations, *sim_web.violations]
        _judge(outcome, team, state, expected)
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        asyncio.set_event_loop(None)
        if folder is None:
            shutil.rmtree(scratch, ignore_errors=True)
        _KEPT.append((loop, team))
    outcome.trace[:] = [line.replace(str(scratch), "") for line in (*outcome.trace, *team.notes)]
    outcome.virtual_s, outcome.cpu_s = loop.now, time.process_time() - begun_s
    return outcome


def _unhandled(team: SimTeam, context: dict[str, object]) -> None:
    error = context.get("exception")
    if isinstance(error, KilledError) or "never retrieved" in str(context.get("message")):
        return
    if "was destroyed" in str(context.get("message")):
        return
    team.violations.append(f"{team.loop.now:.3f} unhandled: {context.get('message')} {error!r}")


async def _crawl(team: SimTeam, plan: Plan, watch: Watch | None) -> str:
    chance = random.Random(plan.seed + 2)
    names = [f"g{index}" for index in range(plan.gatherers)]
    local, away = names[: plan.gatherers - plan.elsewhere], names[plan.gatherers - plan.elsewhere :]
    others = []
    team.machine("m0", MachineClock(rate=chance.uniform(0.995, 1.005), begun_s=chance.uniform(0, 1e5)))
    for name in away:
        machine = f"m-{name}"
        team.machine(machine, MachineClock(rate=chance.uniform(0.995, 1.005), begun_s=chance.uniform(0, 1e5)))
        others.append((name, machine))
    crawl = team.crawl(local, others)
    await team.begun.wait()
    team.network.on_moment = lambda moment: strike(team, moment)
    beside = [asyncio.ensure_future(apply(team, plan.faults))]
    beside += [asyncio.ensure_future(watch(team))] if watch else []
    last_s = max((fault.until_s for fault in plan.faults), default=0.0)
    done, _ = await asyncio.wait([crawl], timeout=last_s + PATIENCE_S)
    team.is_over = True
    for task in beside:
        task.cancel()
    return crawl.result() if done else "never ended"


def _judge(outcome: Outcome, team: SimTeam, state: str, expected: frozenset[str]) -> None:
    plan = outcome.plan
    # a disk that stays full: the state is kept, and whoever has made room goes on
    has_given_up = "times within a minute" in state and any(fault.kind == "full" for fault in plan.faults)
    if state != "done" and not has_given_up and not (plan.max_pages and state == "limit"):
        outcome.violations.append(f"end: the crawl ended as '{state}'")
        return
    stored: Counter[str] = Counter()
    for machine in team.machines.values():
        if not machine.is_lost and (machine.directory / "state").is_dir():
            stored.update(record.url for record in read_records(machine.directory) if record.is_page)
    pages = sum(stored.values())
    if plan.max_pages and pages > plan.max_pages:
        outcome.violations.append(f"limit: {pages} pages stored, {plan.max_pages} may be")
    if state == "limit" and pages < plan.max_pages and not team.has_lost:
        outcome.violations.append(f"limit: {pages} pages stored of {plan.max_pages}")
    if state == "done" and (missing := sorted(expected - stored.keys())):
        outcome.violations.append(f"coverage: {len(missing)} of {len(expected)} pages missing, {missing[:3]}")
    if not team.is_begun_anew and (twice := sorted(url for url, count in stored.items() if count > 1)):
        outcome.violations.append(f"twice: {len(twice)} pages stored twice, {twice[:3]}")
    if dead := sum(map(len, team.network.board.dead.values())):
        outcome.violations.append(f"dead letters: {dead}")


def smaller(plan: Plan, kinds: set[str]) -> Plan:
    """The smallest plan found that goes wrong in the same way: fewer faults, then fewer gatherers."""

    def fails(candidate: Plan) -> bool:
        return bool(simulate(candidate).kinds & kinds)

    step = max(1, len(plan.faults) // 2)
    while step:
        at = 0
        while at < len(plan.faults):
            candidate = replace(plan, faults=plan.faults[:at] + plan.faults[at + step :])
            if fails(candidate):
                plan = candidate
            else:
                at += step
        step //= 2
    while plan.gatherers - plan.elsewhere > 1 and fails(fewer := replace(plan, gatherers=plan.gatherers - 1)):
        plan = fewer
    return plan
