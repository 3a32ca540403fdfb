"""Vanishing helpers: one gatherer, and helpers of which one is killed (-9) every second, and replaced by a new one.

    scripts/chaos helpers [--seed N] [--pages N] [--helpers N] [--every S] [--delay S]

Only who is at work is killed: a machine that is busy starts helpers slowly. Whatever they were doing, every page is
stored, once, and no host is asked sooner than its delay. (A lease must be longer than the web's server can
fall behind: a request that was given up may still be waiting there to be read.)
"""

import argparse
import asyncio
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from gcs.core.messages.template import template
from gcs.core.messages.tuples import HelperBeat
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.redis_space import open_space

GCS = (sys.executable, "-m", "gcs")
#: seconds in which the crawl has to end
END_S = 240.0


@dataclass(frozen=True, slots=True)
class Script:
    """What shall happen."""

    seed: int = 1
    pages: int = 3_000
    hosts: int = 60
    helpers: int = 4
    #: seconds between two kills
    every_s: float = 1.0
    #: seconds that every host is owed, and that it takes to answer
    delay_s: float = 0.3
    latency_s: float = 0.2
    connections: int = 4
    lease_s: float = 4.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of it."""

    kills: int
    pages: int
    helped: int
    helpers: int
    least_gap_s: float
    seconds: float
    #: what must not be; none if all is well
    troubles: tuple[str, ...]


class Night:
    """One crawl with helpers that vanish."""

    def __init__(self, directory: Path, script: Script, say: Callable[[str], None]) -> None:
        self._directory, self._script, self._say = directory, script, say
        self._random = random.Random(script.seed)
        self._server = EmbeddedServer(directory / "space")
        self._helpers: list[subprocess.Popen[bytes]] = []
        self._kills = 0

    def run(self) -> Verdict:
        """Crawl, and kill until it is done."""
        script, url = self._script, self._server.start()
        spec = FakeWebSpec.plain(hosts=script.hosts, pages=script.pages, latency_s=script.latency_s, links=20)
        began = time.monotonic()
        try:
            with FakeWebProcess(spec) as web:
                crawl = subprocess.Popen(self._crawl(url, web.seeds[0]), stdout=subprocess.DEVNULL)
                try:
                    self._until_done(crawl, url)
                finally:
                    for process in (crawl, *self._helpers):
                        process.kill()
                        process.wait()
                return self._verdict(web, crawl.returncode, time.monotonic() - began)
        finally:
            self._server.stop()

    def _crawl(self, url: str, seed: str) -> list[str]:
        script = self._script
        settings = {
            "politeness.delay_s": script.delay_s,
            "fetch.connections": script.connections,
            "helpers.lease_s": script.lease_s,
            "helpers.offer_s": 2 * script.lease_s,
            "team.beat_s": 0.2,
            "frontier.fsync": False,
        }
        command = [*GCS, "crawl", seed, "-o", str(self._directory / "crawl"), "--space", url, "--scope", "any"]
        command += ["--allow-private", "--json"]
        return [*command, *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))]

    def _until_done(self, crawl: "subprocess.Popen[bytes]", url: str) -> None:
        script = self._script
        give_up_at = time.monotonic() + END_S
        self._helpers = [self._hire(url) for _ in range(script.helpers)]
        while time.monotonic() < give_up_at:
            try:
                crawl.wait(script.every_s)
                return
            except subprocess.TimeoutExpired:
                self._kill_one(asyncio.run(at_work(url)), url)

    def _kill_one(self, at_work: set[int], url: str) -> None:
        victims = [at for at, helper in enumerate(self._helpers) if helper.pid in at_work]
        if victims:
            chosen = self._random.choice(victims)
            self._helpers[chosen].send_signal(signal.SIGKILL)
            self._helpers[chosen].wait()
            self._helpers[chosen] = self._hire(url)
            self._kills += 1

    def _hire(self, url: str) -> "subprocess.Popen[bytes]":
        command = [*GCS, "helper", "--space", url, "-j", str(self._script.connections), "--allow-private"]
        return subprocess.Popen([*command, "--log", "warning"])

    def _verdict(self, web: FakeWebProcess, code: int, seconds: float) -> Verdict:
        records = list(read_records(self._directory / "crawl"))
        stored = [record.url for record in records if record.is_page]
        wanted = survey(web.web).pages
        log = web.log
        gap_s = min(host.min_gap_s for host in log.hosts.values() if host.min_gap_s is not None)
        helped = [record.helper for record in records if record.helper]
        checks = {
            f"the crawl ended with {code}": code != 0,
            f"{len(wanted - set(stored))} pages are missing": set(stored) != wanted,
            f"{len(stored) - len(set(stored))} pages are stored twice": len(stored) != len(set(stored)),
            f"a host was asked after {gap_s:.3f} s": gap_s < self._script.delay_s,
            "no helper helped": not helped,
        }
        troubles = tuple(trouble for trouble, is_so in checks.items() if is_so)
        again = sum(len(times) - 1 for url, times in log.hits.items() if not url.endswith("/robots.txt"))
        self._say(f"{len(stored)} pages in {seconds:.0f} s, {self._kills} kills, {again} pages asked for again")
        self._say(f"{len(helped)} by {len(set(helped))} helpers, least gap {gap_s:.3f} s: {troubles or 'all is well'}")
        return Verdict(self._kills, len(stored), len(helped), len(set(helped)), gap_s, seconds, troubles)


async def at_work(url: str) -> set[int]:
    """The processes of the helpers that are on the whiteboard, those of the dead that are not forgotten included."""
    space = await open_space(url, crawl="crawl", name="night")
    try:
        return {int(beat.helper.split("-")[-2]) for beat in await space.scan(template(HelperBeat))}
    finally:
        await space.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/chaos helpers", description=__doc__)
    for field in fields(Script):
        parser.add_argument(f"--{field.name.removesuffix('_s')}", dest=field.name, type=type(field.default))
    given = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    directory = Path(tempfile.mkdtemp(prefix="gcs-vanishing-"))
    try:
        verdict = Night(directory, Script(**given), print).run()
    finally:
        shutil.rmtree(directory)
    return 1 if verdict.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
