"""Chaos: a team of real gatherer processes on a real Redis, to which one random thing happens after another.

    kill    kill -9 of any process                     stop    SIGSTOP for longer than its lease, then SIGCONT
    leave   SIGTERM: hand over and go                  join    a new gatherer, or a killed one again under its name
    damage  kill -9, and a byte of the process's frontier or record log is changed (only if the script says so)
    rebalance  somebody asks for a new plan            flush   the whiteboard's server forgets everything
               (both only where hosts are owed a delay)

And at certain times one of the faults of `faults`: redis, latency, memory, upgrade, clock.

Leader and members alike; whoever is chosen may be starting, leaving, or at work as somebody's ghost. When most pages
are fetched (or the time is over) there is peace: whoever is stopped goes on, and the crawl has to come to its end.

As a program (`scripts/chaos`) it prints what happens and the verdict. Everything random comes from the seed; what the
processes make of it does not, so a seed is a place to look, not a proof.
"""

import argparse
import asyncio
import ctypes
import itertools
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from gcs.app.processes.local_team import CrawlStart, open_crawl
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, RebalanceCall
from gcs.core.plan.blueprint import hashed
from gcs.core.url.canonical import host_of_url
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records, warc_files
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.port import LEADER_INBOX, Space
from gcs.ports.space.redis_space import open_space
from gcs.settings import Settings, load

from .faults import CLOCK, FAULTS, REDIS
from .proxy import SlowLine

KILL, STOP, LEAVE, JOIN = "kill", "stop", "leave", "join"
DAMAGE = "damage"
REBALANCE, FLUSH = "rebalance", "flush"
#: what is drawn from, shuffled, until the crawl is nearly done; faults have their own times
DECK = (KILL, KILL, STOP, STOP, LEAVE, JOIN, JOIN, JOIN)
#: the same where the delays of hosts are watched
POLITE_DECK = (KILL, KILL, STOP, LEAVE, LEAVE, JOIN, JOIN, JOIN, REBALANCE, FLUSH)
#: all that counts as a fault: a process that joins is none
_FAULTS = frozenset({KILL, STOP, LEAVE, DAMAGE, FLUSH, *FAULTS})
#: share of the pages after which there is peace
NEARLY = 0.9
#: seconds without a new page, from then on, in which the crawl has to end, and its processes after it
PEACE_S, EXIT_S = 180.0, 30.0
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Script:
    """What shall happen."""

    seed: int = 1
    pages: int = 1_500
    hosts: int = 40
    gatherers: int = 3
    most: int = 5
    #: seconds between two events
    every_s: float = 1.0
    #: peace after so many seconds at the latest
    seconds: float = 60.0
    latency_s: float = 0.1
    connections: int = 4
    lease_s: float = 2.0
    #: number of the event → the fault that it is
    faults: dict[int, str] = field(default_factory=lambda: {4: REDIS, 9: REDIS})
    warc: bool = True
    #: files are damaged, too
    damage: bool = False
    #: seconds that each host is owed between two requests
    delay_s: float = 0.0
    #: by how many seconds the clocks of gatherers are wrong, one after the other (libfaketime)
    skews_s: tuple[float, ...] = ()
    #: peace is not made before so many events
    events: int = 0
    #: the keyspace: "" for the tree and a plan that follows the crawl, or site-hash, url-hash
    keyspace: str = ""

    def settings(self) -> Settings:
        """Short leases, so that much happens in little time."""
        return load(
            None,
            {},
            {
                "crawl.scope": "any",
                "politeness.delay_s": self.delay_s,
                "summary.depth": "links",
                "fetch.allow_private": True,
                "fetch.connections": self.connections,
                "frontier.fsync": False,
                "store.log_records": 300,
                "store.warc": self.warc,
                "team.lease_s": self.lease_s,
                "team.beat_s": self.lease_s / 10,
                "team.rebalance_s": self.lease_s / 4,
                "team.idle_urls": 5,
                "team.recover_s": 600.0,
                "space.lease_s": 1.5 * self.lease_s,
            }
            | (
                {"team.coordination": "hash", "team.hash_by": self.keyspace.removesuffix("-hash")}
                if self.keyspace
                else {}
            ),
        )

    def web(self) -> FakeWebSpec:
        """A few large hosts, a giant, many small ones."""
        return FakeWebSpec.plain(
            seed=self.seed,
            hosts=self.hosts,
            pages=self.pages,
            host_sizes="zipf",
            giant_share=0.3,
            latency_s=self.latency_s,
        )


@dataclass(slots=True)
class Verdict:
    """What came of it."""

    happened: Counter[str]
    state: str = ""
    seconds: float = 0.0
    pages: int = 0
    missing: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    stored_twice: dict[str, int] = field(default_factory=dict)
    #: pages that damage to files excuses: not stored, and stored twice
    lost: int = 0
    doubled: int = 0
    #: requests for pages beyond the first one each, and how many the kills excuse
    fetched_again: int = 0
    excused: int = 0
    #: pages whose number of copies in the WARC files is not that in the record logs
    warc_differs: set[str] = field(default_factory=set)
    #: processes that ended with something else than they should have
    bad_exits: dict[str, int] = field(default_factory=dict)
    #: errors of ours in the logs, whatever became of them: who is gone may be missed by nobody here
    failures: list[str] = field(default_factory=list)
    by_gatherer: Counter[str] = field(default_factory=Counter)
    #: seconds between the starts of two requests to one host, at least, and what the host is owed
    least_gap_s: float = math.inf
    delay_s: float = 0.0

    @property
    def troubles(self) -> list[str]:
        """What must not be, in words; nothing if all is well."""
        wrong = {
            f"the crawl ended as {self.state!r}": self.state != CrawlState.DONE,
            f"{len(self.missing)} pages are missing: {sorted(self.missing)[:3]}": self.missing,
            f"{len(self.unknown)} pages are stored that do not exist": self.unknown,
            f"{len(self.stored_twice)} pages are stored twice: {sorted(self.stored_twice)[:3]}": self.stored_twice,
            f"{self.fetched_again} requests too many, the kills excuse {self.excused}": self.fetched_again
            > self.excused,
            f"WARC and log differ in {len(self.warc_differs)} pages": self.warc_differs,
            f"processes ended badly: {self.bad_exits}": self.bad_exits,
            f"errors in the logs: {self.failures}": self.failures,
            f"a host was asked after {self.least_gap_s:.3f} s": self.least_gap_s < self.delay_s,
        }
        return [text for text, is_wrong in wrong.items() if is_wrong]


class Member:
    """One gatherer process."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]", is_newer: bool) -> None:
        self.name, self.process = name, process
        self.wakes_at: float | None = None
        self.leaving = self.killed = False
        self.is_newer = is_newer

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    @property
    def is_working(self) -> bool:
        """Alive, neither stopped nor on its way out."""
        return self.is_alive and self.wakes_at is None and not self.leaving


class Chaos:
    """One run. The directory must be new."""

    def __init__(self, directory: Path, script: Script, say: Callable[[str], None] = lambda _: None) -> None:
        self._directory, self.script = directory, script
        self._say = say
        self.random = random.Random(script.seed)
        self.members: list[Member] = []
        self.server = EmbeddedServer(directory / "space")
        #: between the gatherers and the server
        self.line: SlowLine
        #: those that start are of a later version
        self.is_upgrading = False
        #: by how much the wall clocks of some gatherers are wrong
        self.clocks_s: dict[str, float] = {}
        self._undone: list[tuple[float, Callable[[], None]]] = []
        self._deck: list[str] = []
        self._names = 0
        self._started_at = time.monotonic()
        self.happened: Counter[str] = Counter()
        #: records of gatherers whose files were damaged: their pages may be fetched again
        self.pages_at_risk = self.damaged_logs = 0

    def run(self) -> Verdict:
        """Let it happen, and judge."""
        with FakeWebProcess(self.script.web()) as web:
            try:
                verdict = asyncio.run(self._live(web))
            finally:
                for member in self.members:
                    if member.is_alive:
                        member.process.kill()
                        member.process.wait()
                if hasattr(self, "line"):
                    self.line.__exit__()
                self.server.stop()
            self._judge(verdict, web)
        return verdict

    async def _live(self, web: FakeWebProcess) -> Verdict:
        url = self.server.start()
        self.line = SlowLine(url.removeprefix("unix://")).__enter__()
        space = await open_space(url, crawl="crawl", name="chaos")
        try:
            script = self.script
            blueprint = hashed(script.keyspace, script.gatherers).encode() if script.keyspace else b""
            await open_crawl(
                space, CrawlStart(script.settings(), list(web.seeds), script.gatherers, blueprint=blueprint)
            )
            for _ in range(self.script.gatherers):
                self._join(fresh=True)
            await self._war(space, web)
            state = await self._peace(space, web)
        finally:
            await space.close()
        verdict = Verdict(self.happened, state, seconds=time.monotonic() - self._started_at)
        verdict.bad_exits = {
            member.name: member.process.returncode
            for member in self.members
            # who is told to go before it can listen is simply ended
            if not member.killed and member.process.poll() not in ((0, -signal.SIGTERM) if member.leaving else (0,))
        }
        return verdict

    # -- what happens ----------------------------------------------------------------------------------

    async def _war(self, space: Space, web: FakeWebProcess) -> None:
        script = self.script
        await self._first_pages(web)
        begun = next_at = time.monotonic()
        while time.monotonic() - begun < script.seconds:
            await asyncio.sleep(0.02)
            self._wake_due()
            self._undo_due()
            if time.monotonic() < next_at:
                continue
            next_at = time.monotonic() + script.every_s * self.random.uniform(0.5, 1.5)
            pages = _pages(web)
            if self.happened.total() >= script.events and pages >= NEARLY * script.pages and self._has_seen_all():
                break
            if (await _state(space)) is CrawlState.DONE:
                break
            if fault := script.faults.get(self.happened.total() + 1):
                self._note(fault, await FAULTS[fault](self))
            else:
                await self._happen(space, pages)

    def _has_seen_all(self) -> bool:
        faults = self.script.faults
        return {*self._all, *faults.values()} <= set(self.happened) and self.happened.total() >= max(faults, default=0)

    async def _first_pages(self, web: FakeWebProcess) -> None:
        await _until(lambda: _pages(web) > 0, PEACE_S)
        assert _pages(web), "the crawl does not begin"

    @property
    def _all(self) -> tuple[str, ...]:
        return POLITE_DECK if self.script.delay_s else DECK

    async def _happen(self, space: Space, pages: int) -> None:
        if not self._deck:
            deck = self._all + (DAMAGE, DAMAGE) * self.script.damage
            self._deck = self.random.sample(deck, len(deck))
        event = self._deck.pop()
        working = [member for member in self.members if member.is_working]
        alive = [member for member in self.members if member.is_alive]
        if event in (KILL, STOP, LEAVE, FLUSH, DAMAGE) and len(working) < 2:
            event = JOIN
        elif event == JOIN and len(alive) >= self.script.most:
            event = KILL
        if event == JOIN:
            name = self._join()
        elif event == REBALANCE:
            await space.out(RebalanceCall("chaos"), to=LEADER_INBOX)
            name = "chaos"
        elif event == FLUSH:
            await space._connection.command("FLUSHALL")  # type: ignore[attr-defined]
            await asyncio.sleep(2 * self.script.lease_s)  # whoever knows the crawl must live to put it back
            name = "Redis"
        elif event == KILL:
            name = self._kill(self.random.choice(alive))
        elif event == DAMAGE:
            name = self._damage(self.random.choice(working))
        elif event == STOP:
            name = self._stop(self.random.choice(working))
        else:
            name = self._leave(self.random.choice(working))
        self._note(event, f"{name} ({len(alive)} alive, {pages} pages)")

    def _join(self, fresh: bool = False, name: str = "") -> str:
        dead = sorted({member.name for member in self.members if not member.is_alive})
        dead = [name for name in dead if not any(m.is_alive for m in self.members if m.name == name)]
        if name:
            pass
        elif dead and not fresh and self.random.random() < 0.6:
            name = self.random.choice(dead)
        else:
            name, self._names = f"g{self._names}", self._names + 1
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "tests.chaos.newer" if self.is_upgrading else "gcs",
            "gatherer",
            "--space",
            self.line.url,
            "--crawl",
            "crawl",
        ]
        command += ["--name", name, "-o", str(self._directory / "crawl"), "--log", "info", "--allow", "private"]
        with (self._directory / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | self._environment(name),
                preexec_fn=_die_with(os.getpid()),
            )
        self.members.append(Member(name, process, self.is_upgrading))
        return name

    def _environment(self, name: str) -> dict[str, str]:
        """What a gatherer's process has besides our own: its wrong clock, if it has one."""
        skews_s = self.script.skews_s
        if skews_s:
            return fake_clock(f"{skews_s[len(self.members) % len(skews_s)]:+g}s")
        return fake_clock(f"{self.clocks_s[name]:+g}s") if name in self.clocks_s else {}

    def _kill(self, member: Member) -> str:
        member.killed = True
        member.process.send_signal(signal.SIGKILL)
        member.process.wait()
        return member.name

    def _damage(self, member: Member) -> str:
        name, state = self._kill(member), self._directory / "crawl" / "state" / member.name
        files = [*state.glob("frontier/data.mdb"), *state.glob("log/*.log")]
        files = [file for file in files if file.stat().st_size]
        if not files:
            return f"{name}, nothing"
        file = self.random.choice(files)
        content = bytearray(file.read_bytes())
        at = self.random.randrange(len(content))
        content[at] ^= 0xFF
        file.write_bytes(content)
        self.damaged_logs += file.suffix == ".log"
        self.pages_at_risk += sum(record.gatherer == name for record in read_records(self._directory / "crawl"))
        return f"{name}, byte {at} of {file.name}"

    def _stop(self, member: Member) -> str:
        member.process.send_signal(signal.SIGSTOP)
        member.wakes_at = time.monotonic() + self.script.lease_s * self.random.uniform(1.1, 1.8)
        return member.name

    def _leave(self, member: Member) -> str:
        member.leaving = True
        member.process.terminate()
        return member.name

    def _wake_due(self, everybody: bool = False) -> None:
        for member in self.members:
            if member.wakes_at is not None and (everybody or time.monotonic() >= member.wakes_at):
                member.wakes_at = None
                if member.is_alive:
                    member.process.send_signal(signal.SIGCONT)

    def later(self, seconds: float, undo: Callable[[], None]) -> None:
        """Undo a fault then, or when peace comes."""
        self._undone.append((time.monotonic() + seconds, undo))

    def _undo_due(self, everything: bool = False) -> None:
        now, waiting = time.monotonic(), self._undone
        self._undone = [] if everything else [each for each in waiting if each[0] > now]
        for due_at, undo in waiting:
            if everything or due_at <= now:
                undo()

    def replace(self, member: Member) -> str:
        """Kill a gatherer and start it again under its name, in the version of those that start now."""
        self._kill(member)
        return self._join(name=member.name)

    async def _peace(self, space: Space, web: FakeWebProcess) -> str:
        """Nothing more happens: the crawl has to end by itself, and all processes with it."""
        self._say(f"{self._time()} peace")
        self._wake_due(everybody=True)
        self._undo_due(everything=True)
        for member in [each for each in self.members if self.is_upgrading and each.is_alive and not each.is_newer]:
            self.replace(member)
        if not any(member.is_working for member in self.members):
            self._join()
        state, pages, give_up_at = CrawlState.RUNNING, -1, math.inf
        while state is CrawlState.RUNNING and time.monotonic() < give_up_at:
            if (fetched := _pages(web)) > pages:
                pages, give_up_at = fetched, time.monotonic() + PEACE_S
            await asyncio.sleep(0.1)
            state = await _state(space)
        self._say(f"{self._time()} {state} ({_pages(web)} pages)")
        if state is CrawlState.DONE:
            await _until(lambda: not any(member.is_alive for member in self.members), EXIT_S)
            for member in self.members:
                if member.is_alive:
                    member.process.send_signal(signal.SIGABRT)  # it says in its log where it hangs
                    member.process.wait()
        else:
            for letter in [f"{m.name}: {await space.dead_letters(m.name)}" for m in self.members]:
                self._say(letter[:200])
        return str(state)

    def _note(self, event: str, text: str) -> None:
        self.happened[event] += 1
        self._say(f"{self._time()} {event:<7} {text}")

    def _time(self) -> str:
        return f"{time.monotonic() - self._started_at:6.2f}"

    # -- judging ---------------------------------------------------------------------------------------

    def _judge(self, verdict: Verdict, web: FakeWebProcess) -> None:
        truth = survey(web.web).pages
        records = [record for record in read_records(self._directory / "crawl") if record.is_page]
        stored = Counter(record.url for record in records)
        verdict.by_gatherer = Counter(record.gatherer for record in records)
        verdict.pages = len(stored)
        verdict.missing, verdict.unknown = truth - set(stored), set(stored) - truth
        if len(verdict.missing) <= self.damaged_logs:
            # each lost a record; if the range of its page has moved on, the page's new owner takes it for stored
            verdict.lost, verdict.missing = len(verdict.missing), set()
        # a frontier that is made anew while ranges move may fetch a page again that another gatherer has stored
        most = 1 + self.script.damage
        verdict.stored_twice = {url: copies for url, copies in stored.items() if copies > most}
        verdict.doubled = sum(copies > 1 for copies in stored.values())
        again = {url: times - 1 for url, times in web.log.repeated().items() if not url.endswith("/robots.txt")}
        verdict.fetched_again = sum(again.values())
        verdict.excused = sum(member.killed for member in self.members) * self.script.connections + self.pages_at_risk
        verdict.failures = failures(self._directory)
        verdict.delay_s, verdict.least_gap_s = self.script.delay_s, least_gap_s(web.log.hits)
        if self.script.warc:
            archived = archived_pages(self._directory / "crawl")
            # a page whose record was damaged is fetched again: both copies are in the WARC
            spare = self.script.damage
            verdict.warc_differs = {
                url for url in stored | archived if not stored[url] <= archived[url] <= stored[url] + spare
            }


def least_gap_s(hits: dict[str, list[float]]) -> float:
    """Between the starts of two requests to one host, by the log of the web."""
    starts: defaultdict[str, list[float]] = defaultdict(list)
    for url, times in hits.items():
        starts[host_of_url(url)] += times
    gaps = (later - earlier for times in starts.values() for earlier, later in pairwise(sorted(times)))
    return min(gaps, default=math.inf)


def failures(directory: Path) -> list[str]:
    """Lines of gatherers' logs that tell of an error in our own code."""
    logs = sorted(directory.glob("*.log"))
    lines = [f"{log.stem}: {line}" for log in logs for line in log.read_text("utf-8", "replace").splitlines()]
    return [line for line in lines if "Traceback" in line or " ERROR " in line]


def archived_pages(directory: Path) -> Counter[str]:
    """The pages in the WARC files, every record read to its end and its digests checked."""
    found: Counter[str] = Counter()
    for _, file in warc_files(directory):
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content_stream().read()
            url = record.rec_headers["WARC-Target-URI"]
            if record.rec_type in ("response", "revisit") and not url.endswith("/robots.txt"):
                found[url] += 1
    return found


def libfaketime() -> str:
    """The library that lies about the wall clock; "" if it is not installed (Debian: libfaketime).

    LIBFAKETIME names its file where that is elsewhere.
    """
    installed = map(str, Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    return os.environ.get("LIBFAKETIME") or next(installed, "")


def fake_clock(offset: str = "", file: Path | None = None) -> dict[str, str]:
    """The environment of a process whose wall clock is wrong: always, or as a file says that may change."""
    where = {"FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"} if file else {"FAKETIME": offset}
    mended = {"PYTHONPATH": str(Path(__file__).parent / "wrong_clock")}
    return {"LD_PRELOAD": libfaketime(), "FAKETIME_DONT_FAKE_MONOTONIC": "1", **mended, **where}


def _pages(web: FakeWebProcess) -> int:
    return sum(not url.endswith("/robots.txt") for url in web.log.hits)


async def _until(holds: Callable[[], bool], seconds: float) -> None:
    give_up_at = time.monotonic() + seconds
    while not holds() and time.monotonic() < give_up_at:
        await asyncio.sleep(0.02)


async def _state(space: Space) -> CrawlState:
    control = await space.read(template(Control))
    return control.state if control else CrawlState.RUNNING


def _die_with(parent: int) -> Callable[[], None]:
    """What a child does first: ask the kernel to end it when we end, whatever state it is in by then."""
    prctl = ctypes.CDLL(None).prctl

    def prepare() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def main() -> int:
    """The long form, by hand."""
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="[random]")
    parser.add_argument("--runs", type=int, default=1, help="seeds from --seed on, until one fails [%(default)s]")
    parser.add_argument("--until", type=int, help="as many runs as bring so many faults together")
    parser.add_argument("--pages", type=int, default=10_000, help="[%(default)s]")
    parser.add_argument("--hosts", type=int, default=200, help="[%(default)s]")
    parser.add_argument("--gatherers", type=int, default=8, help="at the start, and at most half as many more [8]")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two events [%(default)s]")
    parser.add_argument("--seconds", type=float, default=300.0, help="peace at the latest then [%(default)s]")
    parser.add_argument("--latency", type=float, default=0.1, help="of the web, in seconds [%(default)s]")
    parser.add_argument("--lease", type=float, default=3.0, help="of a member, in seconds [%(default)s]")
    parser.add_argument("--damage", action="store_true", help="damage files of killed gatherers, too")
    parser.add_argument("--delay", type=float, default=0.0, help="that each host is owed, in seconds [%(default)s]")
    parser.add_argument("--events", type=int, default=0, help="no peace before so many [%(default)s]")
    parser.add_argument("--skews", default="", help="seconds by which clocks are wrong, as 600,-600 (libfaketime)")
    parser.add_argument("--keyspace", default="", help="site-hash or url-hash [the tree]")
    parser.add_argument("--faults", type=int, default=8, help="one at every tenth event [%(default)s]")
    parser.add_argument("--kinds", default=",".join(FAULTS), help="of the faults, in turn [%(default)s]")
    parser.add_argument("-o", "--output", type=Path, help="keep everything in this new directory")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    if not libfaketime() and (options.skews or (CLOCK in kinds and options.faults and not options.delay)):
        parser.error("wrong clocks need libfaketime (Debian: libfaketime); LIBFAKETIME=FILE says where it is")
    total, faults, seed = Counter[str](), 0, options.seed
    while total["runs"] < options.runs or faults < (options.until or 0):
        script = Script(
            seed=seed,
            pages=options.pages,
            hosts=options.hosts,
            gatherers=options.gatherers,
            most=options.gatherers + options.gatherers // 2,
            every_s=options.every,
            seconds=options.seconds,
            latency_s=options.latency,
            lease_s=options.lease,
            faults={} if options.delay else dict(zip(range(10, 10 * options.faults + 1, 10), itertools.cycle(kinds))),
            delay_s=options.delay,
            events=options.events,
            skews_s=tuple(float(skew) for skew in options.skews.split(",") if skew),
            keyspace=options.keyspace,
            damage=options.damage,
        )
        directory = (options.output or Path(tempfile.mkdtemp(prefix="gcs-chaos-"))) / str(seed)
        directory.mkdir(parents=True)
        print(f"seed {seed}, {directory}", flush=True)
        verdict = Chaos(directory, script, lambda line: print(line, flush=True)).run()
        happened = ", ".join(f"{count} {kind}" for kind, count in verdict.happened.items())
        print(f"{happened}; {verdict.pages} pages in {verdict.seconds:.0f} s by {dict(verdict.by_gatherer)}")
        print(f"fetched again: {verdict.fetched_again} (excused: {verdict.excused})")
        print(f"excused by damage: {verdict.lost} pages missing, {verdict.doubled} stored twice")
        print(f"least gap at a host: {verdict.least_gap_s:.4f} s (owed: {verdict.delay_s:g} s)")
        if verdict.troubles:
            print("\n".join(["FAILED", *verdict.troubles, f"see the logs in {directory}"]))
            return 1
        print("all is well", flush=True)
        if not options.output:
            shutil.rmtree(directory.parent)
        total += verdict.happened
        total.update(runs=1, pages=verdict.pages, fetched_again=verdict.fetched_again, excused=verdict.excused)
        faults, seed = sum(count for kind, count in total.items() if kind in _FAULTS), seed + 1
        print(f"together: {faults} faults in {total['runs']} runs ({dict(total)})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
