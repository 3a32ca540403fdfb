"""Damage to the files of a crawl directory, one at a time, and what must hold when the crawl goes on.

As a program (`python -m tests.cli.damage`, by hand) it damages every file in every way and prints what went wrong.
"""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from gcs.errors import GcsError
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.parquet import read_pages
from gcs.ports.records.reading import read_records

KINDS = ("flipped", "cut", "emptied", "deleted")
PAGES = 60
#: seconds for a crawl to go on to its end
LIMIT_S = 60
_FLAGS = ("--allow-private", "--delay", "0", "--scope", "any", "--json", "--set", "frontier.checkpoint_s=0.05")
_SMALL = ("--set", "store.log_records=8", "--set", "store.warc_bytes=8000", "--set", "team.lease_s=1.5")


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged file."""

    file: Path
    kind: str
    seed: int

    def do(self, directory: Path) -> None:
        path, rng = directory / self.file, random.Random(f"{self.file} {self.kind} {self.seed}")
        content = bytearray(path.read_bytes())
        if self.kind == "deleted":
            path.unlink()
        elif self.kind == "emptied":
            path.write_bytes(b"")
        elif self.kind == "cut":
            path.write_bytes(content[: rng.randrange(len(content))])
        else:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            path.write_bytes(content)


def gcs(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "gcs", *map(str, arguments)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S)


def web() -> FakeWebProcess:
    return FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=PAGES, latency_s=0.01))


def begun(directory: Path, web: FakeWebProcess, gatherers: int) -> Path:
    """A crawl that a limit has ended half way; with 0 gatherers, a crawl by one that was killed."""
    web.reset()
    words = ("crawl", web.seeds[0], "-o", directory, "-n", str(max(gatherers, 1)), *_FLAGS, *_SMALL)
    if gatherers:
        done = gcs(*words, "--max-pages", str(PAGES // 2))
        assert done.returncode == 3, done.stderr
        return directory
    crawl = subprocess.Popen([sys.executable, "-m", "gcs", *map(str, words), "--connections", "1"])
    give_up_at = time.monotonic() + LIMIT_S
    while len(web.log.hits) < PAGES // 2 and time.monotonic() < give_up_at:
        time.sleep(0.01)
    crawl.kill()
    crawl.wait()
    return directory


def files(directory: Path) -> list[Path]:
    """The files that hold something."""
    found = (path for path in sorted(directory.rglob("*")) if path.is_file() and path.stat().st_size)
    return [path.relative_to(directory) for path in found]


def stored(directory: Path) -> Counter[str]:
    return Counter(record.url for record in read_records(directory) if record.is_page)


def troubles(directory: Path, damage: Damage, web: FakeWebProcess) -> Iterator[str]:
    """Damage a file of a crawl that was begun, go on with the crawl, and say what is wrong afterwards."""
    held = {page.url for page in read_pages(directory / damage.file)} if damage.file.suffix == ".parquet" else set()
    damage.do(directory)
    done = gcs("crawl", "-o", directory, "--max-pages", "0", "--json")
    said = done.stderr
    if "Traceback" in said or done.returncode < 0:
        yield f"code {done.returncode}: {said[-1500:]}"
        return
    if done.returncode:
        last = said.strip().splitlines()[-1:]
        if done.returncode not in (1, 2) or not last or not last[0].startswith("gcs: "):
            yield f"code {done.returncode} without a line that says why: {said[-500:]!r}"
        return
    try:
        after = stored(directory)
    except GcsError as error:
        yield f"the records cannot be read: {error}"
        return
    missing = survey(web.web).pages - set(after)
    if missing and not (missing <= held and said and damage.kind == "deleted"):
        yield f"{len(missing)} pages are missing ({said!r})"
    if twice := {url: copies for url, copies in after.items() if copies > 1}:
        yield f"stored twice: {len(twice)}"


def main() -> int:
    """By hand: `python -m tests.cli.damage [ROUNDS [GATHERERS…]]`, 0 gatherers being one that was killed."""
    bad = 0
    rounds, gatherers = int((sys.argv[1:] or ["1"])[0]), [int(each) for each in sys.argv[2:]] or [1, 0, 2]
    with web() as site, tempfile.TemporaryDirectory() as place:
        for count in gatherers:
            origin = begun(Path(place) / f"team{count}", site, count)
            for file, kind in product(files(origin), KINDS):
                for seed in range(rounds if kind in ("flipped", "cut") else 1):
                    copy = Path(place) / "copy"
                    shutil.copytree(origin, copy, ignore=shutil.ignore_patterns("socket"))
                    wrong = list(troubles(copy, Damage(file, kind, seed), site))
                    bad += bool(wrong)
                    print(f"{count} {kind:<8} {file} {seed}: {'; '.join(wrong) or 'well'}", flush=True)
                    shutil.rmtree(copy)
    print(f"{bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
