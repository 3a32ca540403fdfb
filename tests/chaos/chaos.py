"""Chaos: a team of real gatherer processes on a real Redis, to which one random thing happens after another.

    kill    kill -9 of any process                     stop    SIGSTOP for longer than its lease, then SIGCONT
    leave   SIGTERM: hand over and go                  join    a new gatherer, or a killed one again under its name
    redis   kill -9 of the whiteboard's server, started again on what it had written

Leader and members alike; whoever is chosen may be starting, leaving, or at work as somebody's ghost. When most pages
are fetched (or the time is over) there is peace: whoever is stopped goes on, and the crawl has to come to its end.

As a program (`scripts/chaos`) it prints what happens and the verdict. Everything random comes from the seed; what the
processes make of it does not, so a seed is a place to look, not a proof.
"""

import argparse
import asyncio
import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from gcs.app.team_start import CrawlStart, open_crawl
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState
from gcs.core.plan.blueprint import hashed
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records, warc_files
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import open_space
from gcs.settings import Settings, load

KILL, STOP, LEAVE, JOIN, REDIS = KINDS = ("kill", "stop", "leave", "join", "redis")
#: what is drawn from, shuffled, until the crawl is nearly done; Redis has its own times
DECK = (KILL, KILL, STOP, STOP, LEAVE, JOIN, JOIN, JOIN)
#: share of the pages after which there is peace
NEARLY = 0.9
#: seconds from then on in which the crawl has to end, and its processes after it
PEACE_S, EXIT_S = 60.0, 30.0
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
    #: the events at which Redis is restarted
    redis_at: tuple[int, ...] = (4, 9)
    warc: bool = True
    #: the keyspace: "" for the tree and a plan that follows the crawl, or site-hash, url-hash
    keyspace: str = ""

    def settings(self) -> Settings:
        """Short leases, so that much happens in little time."""
        return load(
            None,
            {},
            {
                "crawl.scope": "any",
                "politeness.delay_s": 0.0,
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
        }
        return [text for text, is_wrong in wrong.items() if is_wrong]


class Member:
    """One gatherer process."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        self.name, self.process = name, process
        self.wakes_at: float | None = None
        self.leaving = self.killed = False

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
        self._directory, self._script = directory, script
        self._say = say
        self._random = random.Random(script.seed)
        self._members: list[Member] = []
        self._server = EmbeddedServer(directory / "space")
        self._deck: list[str] = []
        self._names = 0
        self._started_at = time.monotonic()
        self.happened: Counter[str] = Counter()

    def run(self) -> Verdict:
        """Let it happen, and judge."""
        with FakeWebProcess(self._script.web()) as web:
            try:
                verdict = asyncio.run(self._live(web))
            finally:
                for member in self._members:
                    if member.is_alive:
                        member.process.kill()
                        member.process.wait()
                self._server.stop()
            self._judge(verdict, web)
        return verdict

    async def _live(self, web: FakeWebProcess) -> Verdict:
        url = self._server.start()
        space = await open_space(url, crawl="crawl", name="chaos")
        try:
            script = self._script
            blueprint = hashed(script.keyspace, script.gatherers).encode() if script.keyspace else b""
            await open_crawl(
                space, CrawlStart(script.settings(), list(web.seeds), script.gatherers, blueprint=blueprint)
            )
            for _ in range(self._script.gatherers):
                self._join(fresh=True)
            await self._war(space, web)
            state = await self._peace(space, web)
        finally:
            await space.close()
        verdict = Verdict(self.happened, state, seconds=time.monotonic() - self._started_at)
        verdict.bad_exits = {
            member.name: member.process.returncode
            for member in self._members
            # who is told to go before it can listen is simply ended
            if not member.killed and member.process.poll() not in ((0, -signal.SIGTERM) if member.leaving else (0,))
        }
        return verdict

    # -- what happens ----------------------------------------------------------------------------------

    async def _war(self, space: Space, web: FakeWebProcess) -> None:
        script = self._script
        await self._first_pages(web)
        begun = next_at = time.monotonic()
        while time.monotonic() - begun < script.seconds:
            await asyncio.sleep(0.02)
            self._wake_due()
            if time.monotonic() < next_at:
                continue
            next_at = time.monotonic() + script.every_s * self._random.uniform(0.5, 1.5)
            pages = _pages(web)
            if pages >= NEARLY * script.pages and self._has_seen_all():
                break
            if (await _state(space)) is CrawlState.DONE:
                break
            if self.happened.total() + 1 in script.redis_at:
                await self._restart_redis()
            else:
                self._happen(pages)

    def _has_seen_all(self) -> bool:
        wanted = set(KINDS) if self._script.redis_at else set(DECK)
        return wanted <= set(self.happened) and self.happened.total() >= max(self._script.redis_at, default=0)

    async def _first_pages(self, web: FakeWebProcess) -> None:
        await _until(lambda: _pages(web) > 0, EXIT_S)
        assert _pages(web), "the crawl does not begin"

    def _happen(self, pages: int) -> None:
        if not self._deck:
            self._deck = self._random.sample(DECK, len(DECK))
        event = self._deck.pop()
        working = [member for member in self._members if member.is_working]
        alive = [member for member in self._members if member.is_alive]
        if event != JOIN and len(working) < 2:
            event = JOIN
        elif event == JOIN and len(alive) >= self._script.most:
            event = KILL
        if event == JOIN:
            name = self._join()
        elif event == KILL:
            name = self._kill(self._random.choice(alive))
        elif event == STOP:
            name = self._stop(self._random.choice(working))
        else:
            name = self._leave(self._random.choice(working))
        self._note(event, f"{name} ({len(alive)} alive, {pages} pages)")

    def _join(self, fresh: bool = False) -> str:
        dead = sorted({member.name for member in self._members if not member.is_alive})
        dead = [name for name in dead if not any(m.is_alive for m in self._members if m.name == name)]
        if dead and not fresh and self._random.random() < 0.6:
            name = self._random.choice(dead)
        else:
            name, self._names = f"g{self._names}", self._names + 1
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "gcs",
            "gatherer",
            "--space",
            self._server.url,
            "--crawl",
            "crawl",
        ]
        command += ["--name", name, "-o", str(self._directory / "crawl"), "--log", "info"]
        with (self._directory / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=_die_with(os.getpid())
            )
        self._members.append(Member(name, process))
        return name

    def _kill(self, member: Member) -> str:
        member.killed = True
        member.process.send_signal(signal.SIGKILL)
        member.process.wait()
        return member.name

    def _stop(self, member: Member) -> str:
        member.process.send_signal(signal.SIGSTOP)
        member.wakes_at = time.monotonic() + self._script.lease_s * self._random.uniform(1.1, 1.8)
        return member.name

    def _leave(self, member: Member) -> str:
        member.leaving = True
        member.process.terminate()
        return member.name

    def _wake_due(self, everybody: bool = False) -> None:
        for member in self._members:
            if member.wakes_at is not None and (everybody or time.monotonic() >= member.wakes_at):
                member.wakes_at = None
                if member.is_alive:
                    member.process.send_signal(signal.SIGCONT)

    async def _restart_redis(self) -> None:
        pid = self._server.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await _until(lambda: not self._server.is_running, EXIT_S)
        outage_s = self._random.uniform(0.0, 0.6)
        await asyncio.sleep(outage_s)
        self._server.revive()
        self._note(REDIS, f"away for {outage_s:.1f} s")

    async def _peace(self, space: Space, web: FakeWebProcess) -> str:
        """Nothing more happens: the crawl has to end by itself, and all processes with it."""
        self._say(f"{self._time()} peace")
        self._wake_due(everybody=True)
        if not any(member.is_working for member in self._members):
            self._join()
        give_up_at = time.monotonic() + PEACE_S + self._script.pages / 100
        state = CrawlState.RUNNING
        while state is CrawlState.RUNNING and time.monotonic() < give_up_at:
            await asyncio.sleep(0.1)
            state = await _state(space)
        self._say(f"{self._time()} {state} ({_pages(web)} pages)")
        if state is CrawlState.DONE:
            await _until(lambda: not any(member.is_alive for member in self._members), EXIT_S)
            for member in self._members:
                if member.is_alive:
                    member.process.send_signal(signal.SIGABRT)  # it says in its log where it hangs
                    member.process.wait()
        else:
            for letter in [f"{m.name}: {await space.dead_letters(m.name)}" for m in self._members]:
                self._say(letter[:200])
        return str(state)

    def _note(self, event: str, text: str) -> None:
        self.happened[event] += 1
        self._say(f"{self._time()} {event:<5} {text}")

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
        verdict.stored_twice = {url: copies for url, copies in stored.items() if copies > 1}
        again = {url: times - 1 for url, times in web.log.repeated().items() if not url.endswith("/robots.txt")}
        verdict.fetched_again = sum(again.values())
        verdict.excused = self.happened[KILL] * self._script.connections
        verdict.failures = failures(self._directory)
        if self._script.warc:
            archived = archived_pages(self._directory / "crawl")
            verdict.warc_differs = {url for url in stored | archived if stored[url] != archived[url]}


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
    parser.add_argument("--pages", type=int, default=10_000, help="[%(default)s]")
    parser.add_argument("--hosts", type=int, default=200, help="[%(default)s]")
    parser.add_argument("--gatherers", type=int, default=8, help="at the start, and at most half as many more [8]")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two events [%(default)s]")
    parser.add_argument("--seconds", type=float, default=300.0, help="peace at the latest then [%(default)s]")
    parser.add_argument("--latency", type=float, default=0.1, help="of the web, in seconds [%(default)s]")
    parser.add_argument("--lease", type=float, default=3.0, help="of a member, in seconds [%(default)s]")
    parser.add_argument("--keyspace", default="", help="site-hash or url-hash [the tree]")
    parser.add_argument("-o", "--output", type=Path, help="keep everything in this new directory")
    options = parser.parse_args()
    for seed in range(options.seed, options.seed + options.runs):
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
            redis_at=(10, 30),
            keyspace=options.keyspace,
        )
        directory = (options.output or Path(tempfile.mkdtemp(prefix="gcs-chaos-"))) / str(seed)
        directory.mkdir(parents=True)
        print(f"seed {seed}, {directory}", flush=True)
        verdict = Chaos(directory, script, lambda line: print(line, flush=True)).run()
        happened = ", ".join(f"{verdict.happened[kind]} {kind}" for kind in KINDS)
        print(f"{happened}; {verdict.pages} pages in {verdict.seconds:.0f} s by {dict(verdict.by_gatherer)}")
        print(f"fetched again: {verdict.fetched_again} (excused: {verdict.excused})")
        if verdict.troubles:
            print("\n".join(["FAILED", *verdict.troubles, f"see the logs in {directory}"]))
            return 1
        print("all is well", flush=True)
        if not options.output:
            shutil.rmtree(directory.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
