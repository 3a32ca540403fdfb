"""A soak: one long crawl of a web without an end, and what it costs from its beginning to its end.

    scripts/soak [--pages 1000000] [--hosts 20000] [--gatherers 1] [--delay S] [--disk-mb 2000] [--json] …

The web (`endless_web`) has one core, the crawl the others. Text, WARC and Parquet are on. Finished files go to a folder
in which only the youngest are kept, so the disk is bounded. Each second the soak notes the pages that were served, the
memory, file handles and CPU time of the crawl's processes, and now and then the disk. The run is cut into twenty parts
of equally many pages. It is *flat* where, from the second part on, memory and pages per second stay within a share of
their median.

Takes root: the hosts have names, which the crawl asks of a name server of the soak's own.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from .endless_web import DOMAIN, EndlessSpec
from .name_server import use_in_this_process

PARTS = 20
#: part of the median by which memory and speed may differ
FLAT = 0.15
#: seconds between two looks at the disk
_DISK_S = 5.0
_ROOT = Path(__file__).parents[2]
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is crawled, and by whom."""

    pages: int = 1_000_000
    gatherers: int = 1
    depth: str = "fast"
    delay_s: float = 0.0
    #: finished files that are kept
    disk_mb: int = 2_000
    connections: int = 128
    web: EndlessSpec = field(default_factory=EndlessSpec)
    #: more settings of the crawl, each SECTION.KEY=VALUE
    settings: tuple[str, ...] = ()


class Sample(msgspec.Struct):
    """One look at the crawl."""

    at_s: float
    pages: int
    #: of all processes of the crawl: memory, of that what is no file's, of that the whiteboard's
    rss_mb: float
    own_mb: float
    board_mb: float
    files: int
    cpu_s: float
    #: frontier and logs, and finished files
    state_mb: float
    kept_mb: float


class Part(msgspec.Struct):
    """A twentieth of the pages."""

    pages: int
    seconds: float
    pages_per_s: float
    pages_per_cpu_s: float
    #: at its end
    rss_mb: float
    own_mb: float
    board_mb: float
    files: int
    state_mb: float


class Outcome(msgspec.Struct):
    """What a soak has found."""

    plan: dict[str, object]
    parts: list[Part]
    report: dict[str, object]
    #: what the web has counted
    web: dict[str, int]
    most_kept_mb: float
    #: by figure: how far it is from its median at most, from the second part on
    spread: dict[str, float]

    @property
    def is_flat(self) -> bool:
        return all(share <= FLAT for share in self.spread.values())


class Web:
    """The web's process, and its counters."""

    def __init__(self, spec: EndlessSpec, core: str) -> None:
        words = [word for name, value in asdict(spec).items() for word in (f"--{name.replace('_', '-')}", str(value))]
        command = ["taskset", "-c", core, sys.executable, "-m", "tests.soak.endless_web", *words]
        self._process = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        ready = json.loads(self._process.stdout.readline())
        self.names: str = ready["names"]
        self.seeds: list[str] = ready["seeds"]
        self.counts: dict[str, int] = {}
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.counts = json.loads(line)

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="soak-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def run(plan: Plan, home: Path, say: Callable[[Sample], None] | None = None) -> Outcome:
    """The whole soak, in a folder of its own. This process asks the soak's name server from then on."""
    cores = [str(core) for core in sorted(os.sched_getaffinity(0))]
    web = Web(plan.web, cores[0])
    try:
        use_in_this_process(web.names, home)
        crawl = subprocess.Popen(
            ["taskset", "-c", ",".join(cores[1:] or cores), *command(plan, web.seeds, home)],
            stdout=(home / "said").open("w"),
            stderr=subprocess.STDOUT,
        )
        samples: list[Sample] = []
        begun = looked = time.monotonic()
        disk = (0.0, 0.0)
        most_kept_mb = 0.0
        while crawl.poll() is None:
            time.sleep(1)
            now = time.monotonic()
            if now - looked >= _DISK_S:
                disk, looked = (size_mb(home / "crawl" / "state"), bound(home / "kept", plan.disk_mb)), now
                most_kept_mb = max(most_kept_mb, disk[1])
            samples.append(look(now - begun, web.counts.get("200", 0), crawl.pid, disk))
            if say is not None and len(samples) % 60 == 0:
                say(samples[-1])
    finally:
        web.close()
    most_kept_mb = max(most_kept_mb, bound(home / "kept", plan.disk_mb))
    said = (home / "said").read_text()
    if crawl.returncode not in (0, 3):
        raise RuntimeError(f"the crawl ended with code {crawl.returncode}:\n{said[-4000:]}")
    report = json.loads((home / "report.json").read_text())
    parts = cut(samples, plan.pages)
    return Outcome(asdict(plan), parts, report, web.counts, most_kept_mb, spread(parts))


def command(plan: Plan, seeds: Sequence[str], home: Path) -> list[str]:
    """`gcs crawl` for this plan."""
    (home / "seeds").write_text("\n".join(seeds))
    words = [
        *(sys.executable, "-m", "gcs", "crawl", "--seeds", str(home / "seeds"), "-o", str(home / "crawl")),
        *("--scope", "any", "--include", rf"^http://h\d+\.{DOMAIN}[:/]", "--exclude", rf"{DOMAIN}:\d+/calendar/\d\d\d"),
        *("--allow-private", "--delay", str(plan.delay_s), "--connections", str(plan.connections)),
        *("--summary", plan.depth, "--store", f"file://{home / 'kept'}", "--set", f"store.warc_bytes={64 << 20}"),
        *("-n", str(plan.gatherers), "--max-pages", str(plan.pages), "--report", str(home / "report.json"), "--json"),
    ]
    return [*words, *(word for setting in plan.settings for word in ("--set", setting))]


def look(at_s: float, pages: int, root: int, disk: tuple[float, float]) -> Sample:
    """The processes of the crawl, now."""
    rss = own = board = cpu_s = 0.0
    files = 0
    for pid in family(root):
        with suppress(OSError, KeyError, ValueError):  # it has ended
            fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            mine = int(fields["VmRSS"].split()[0]) / 1024
            rss, own = rss + mine, own + int(fields["RssAnon"].split()[0]) / 1024
            if "redis" in fields["Name"] or "valkey" in fields["Name"]:
                board += mine
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            cpu_s += sum(int(ticks) for ticks in stat[11:15]) / _TICKS  # its own, and of its children that have ended
            files += sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return Sample(at_s, pages, rss, own, board, files, cpu_s, *disk)


def family(root: int) -> list[int]:
    """A process and all below it."""
    found = [root]
    for pid in found:
        with suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                found += [int(child) for child in (thread / "children").read_text().split()]
    return found


def size_mb(path: Path) -> float:
    """Of all files below a folder, as they lie on the disk."""
    total = 0
    for each in path.rglob("*"):
        with suppress(OSError):
            total += each.stat().st_blocks * 512
    return total / (1 << 20)


def bound(path: Path, most_mb: float) -> float:
    """Remove the oldest finished files until the rest has room; what there was before, in MB."""
    found = []
    for each in path.rglob("*"):
        with suppress(OSError):
            if each.is_file():
                facts = each.stat()
                found.append((facts.st_mtime, facts.st_blocks * 512 / (1 << 20), each))
    was = left = sum(size for _, size, _ in found)
    for _, size, each in sorted(found):
        if left <= most_mb:
            break
        each.unlink()
        left -= size
    return was


def cut(samples: Sequence[Sample], pages: int) -> list[Part]:
    """Parts of equally many pages."""
    parts: list[Part] = []
    last = Sample(0, 0, 0, 0, 0, 0, 0, 0, 0)
    for sample in samples:
        if sample.pages < (len(parts) + 1) * pages / PARTS or len(parts) == PARTS:
            continue
        got, took, worked = sample.pages - last.pages, sample.at_s - last.at_s, sample.cpu_s - last.cpu_s
        figures = (round(sample.rss_mb), round(sample.own_mb), round(sample.board_mb, 1), sample.files)
        rates = (round(got / took, 1), round(got / max(worked, 0.01), 1))
        parts.append(Part(sample.pages, round(took, 1), *rates, *figures, round(sample.state_mb)))
        last = sample
    return parts


def spread(parts: Sequence[Part]) -> dict[str, float]:
    """How far from their median memory and speed are, at most; the first part is the start."""
    found = {}
    for name in ("rss_mb", "pages_per_s"):
        values = [float(getattr(part, name)) for part in parts[1:]]
        middle = statistics.median(values) if values else 0.0
        found[name] = round(max((abs(value / middle - 1) for value in values), default=0.0), 3) if middle else 0.0
    return found


def table(outcome: Outcome) -> str:
    """For a person."""
    names = Part.__struct_fields__
    lines = [
        " | ".join(names),
        *(" | ".join(f"{getattr(part, name):>{len(name)},}" for name in names) for part in outcome.parts),
    ]
    report = outcome.report
    told = {name: report.get(name) for name in ("state", "pages", "failed", "known_urls", "queued", "rebalances")}
    lines += ["", f"{told}", f"web: {outcome.web}", f"finished files: {outcome.most_kept_mb:,.0f} MB at most"]
    for name, share in outcome.spread.items():
        lines.append(f"{name}: at most {share:.1%} from its median: {'flat' if share <= FLAT else 'NOT FLAT'}")
    return "\n".join(lines)


def main() -> int:
    usual = Plan()
    parser = argparse.ArgumentParser(prog="scripts/soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=usual.pages)
    parser.add_argument("--gatherers", type=int, default=1)
    parser.add_argument("--summary", choices=("links", "fast", "full"), default="fast")
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--disk-mb", type=int, default=usual.disk_mb)
    parser.add_argument("--connections", type=int, default=usual.connections)
    parser.add_argument("--hosts", type=int, default=usual.web.hosts)
    parser.add_argument("--web-pages", type=int, default=usual.web.pages, help="pages that there are, about")
    parser.add_argument("--set", action="append", default=[], help="a setting of the crawl, SECTION.KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if os.geteuid():
        sys.exit("a soak takes root: it runs a name server and mounts /etc/resolv.conf for its own processes")
    plan = Plan(
        pages=asked.pages,
        gatherers=asked.gatherers,
        depth=asked.summary,
        delay_s=asked.delay,
        disk_mb=asked.disk_mb,
        connections=asked.connections,
        web=EndlessSpec(hosts=asked.hosts, pages=asked.web_pages),
        settings=tuple(asked.set),
    )

    def say(sample: Sample) -> None:
        print(msgspec.json.encode(sample).decode(), file=sys.stderr, flush=True)

    with folder() as home:
        outcome = run(plan, home, say)
    print(msgspec.json.encode(outcome).decode() if asked.json else table(outcome))
    return 0 if outcome.is_flat else 1


if __name__ == "__main__":
    sys.exit(main())
