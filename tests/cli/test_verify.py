"""`gcs verify`: finds what is damaged or missing, repairs what can be derived, and says so in plain lines."""

import json
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records

from .conftest import QUICK
from .damage import Damage, begun, gcs, web

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def site() -> Iterator[FakeWebProcess]:
    with web() as site:
        yield site


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory, site: FakeWebProcess) -> Path:
    return begun(tmp_path_factory.mktemp("verify") / "out", site, 1)


@pytest.fixture
def out(tmp_path: Path, origin: Path) -> Path:
    return shutil.copytree(origin, tmp_path / "out")


def stored(directory: Path) -> Counter[str]:
    return Counter(record.url for record in read_records(directory) if record.is_page)


def test_verify_of_a_sound_crawl_changes_nothing(out: Path) -> None:
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    done = gcs("verify", out, "--repair")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{out}: 30 records of 1 gatherers, ") and done.stdout.endswith(" files: sound\n")
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("gatherers", [1, 2])
def test_verify_of_a_finished_crawl_finds_nothing(tmp_path: Path, site: FakeWebProcess, gatherers: int) -> None:
    out = begun(tmp_path / "out", site, gatherers)
    assert gcs("crawl", "-o", out, "--max-pages", "0", "--json").returncode == 0
    found = json.loads(gcs("verify", out, "--json").stdout)
    assert (found["records"], found["gatherers"], found["problems"]) == (60, gatherers, [])


@pytest.mark.parametrize("kind", ["flipped", "cut", "emptied", "deleted"])
@pytest.mark.parametrize("pattern", ["summaries/*1.parquet", "state/g0/frontier/data.mdb", "state/settings.json"])
def test_verify_repairs_what_can_be_derived(out: Path, site: FakeWebProcess, pattern: str, kind: str) -> None:
    [path] = out.glob(pattern)
    Damage(path.relative_to(out), kind, 1).do(out)
    found = gcs("verify", out)
    assert found.returncode == 1
    assert found.stdout.startswith(f"damaged: {path.relative_to(out)}: ")
    assert gcs("verify", out, "--repair").returncode == 0
    assert gcs("verify", out).returncode == 0
    assert gcs("crawl", "-o", out, "--max-pages", "0", "--json").returncode == 0
    assert stored(out) == Counter(survey(site.web).pages)
    assert gcs("verify", out).returncode == 0


def test_verify_repairs_a_log_file(out: Path, site: FakeWebProcess) -> None:
    log = max((out / "state/g0/log").glob("*.log"))
    log.write_bytes(log.read_bytes()[:-3])
    assert f"damaged: {log.relative_to(out)}: is damaged at 1 places" in gcs("verify", out).stdout
    assert gcs("verify", out, "--repair").returncode == 0
    assert log.with_name(log.name + ".cut").exists()
    assert gcs("crawl", "-o", out, "--max-pages", "0", "--json").returncode == 0
    assert stored(out) == Counter(survey(site.web).pages)


@pytest.mark.parametrize("kind", ["flipped", "cut", "deleted"])
def test_verify_says_which_warc_file_cannot_be_repaired(out: Path, kind: str) -> None:
    path = min((out / "warc").iterdir())
    Damage(path.relative_to(out), kind, 3).do(out)
    for flags in ([], ["--repair"]):
        done = gcs("verify", out, "--json", *flags)
        assert done.returncode == 1
        [problem] = json.loads(done.stdout)["problems"]
        assert (problem["file"], problem["repaired"]) == (str(path.relative_to(out)), False)
        assert "backup" in problem["advice"]


def test_verify_refuses_a_crawl_that_runs(start: Run, call: Run, tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=200, latency_s=0.1)) as web:
        crawl = start("crawl", web.seeds[0], "-o", "out", *QUICK)
        while not (tmp_path / "out" / "state" / "session").exists():
            assert crawl.poll() is None
        done = call("verify", "out")
        assert (done.code, done.err) == (
            2,
            "gcs: out: a crawl is running here (g0); stop it first (Ctrl-C, or gcs stop)\n",
        )
        crawl.send_signal(signal.SIGKILL)


def test_verify_of_what_is_no_crawl_is_a_usage_error(call: Run) -> None:
    done = call("verify", "none")
    assert (done.code, done.err) == (2, "gcs: none: there is no crawl here; give the DIR of `gcs crawl -o DIR`\n")
