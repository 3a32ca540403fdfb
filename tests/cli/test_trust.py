"""Trust between the processes of a team, as users meet it: consent of gatherers, and the team key."""

import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from gcs.core.messages.codec import encode
from gcs.core.messages.tuples import (
    Charter,
    Control,
    CrawlState,
    LeaderLease,
    Link,
    Member,
    PlanPosted,
    Seeds,
    SummaryTS,
    UrlBlock,
)
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer

from .conftest import QUICK

Run = Callable[..., Any]
KEY, OTHER = "the key of this team, 32 bytes or more", "the key of another team, as long as that"


@pytest.fixture
def board(tmp_path: Path) -> Iterator[str]:
    server = EmbeddedServer(tmp_path / "board")
    yield server.start()
    server.stop()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--order", "evil:score"), "import code (order=evil:score)"),
        (("--store", "file:///tmp/elsewhere"), "send its pages elsewhere (store=file:///tmp/elsewhere)"),
        (("--set", "fetch.sources=file://localhost/etc/"), "read files, databases or news (sources=file://localhost"),
        (("--allow-private",), "fetch from its own network (private)"),
    ],
)
def test_gatherer_refuses_what_its_owner_has_not_allowed(
    start: Run, gcs: Run, tmp_path: Path, board: str, flags: tuple[str, ...], words: str
) -> None:
    mark = tmp_path / "imported"
    (tmp_path / "evil.py").write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\nscore = lambda found: 1\n")
    crawl = start("crawl", "http://127.0.0.1:9/", "-n", "0", "--space", board, "-o", "desk", *flags)
    done = gcs("gatherer", "--space", board, "--name", "g", "-o", "g")
    assert done.code == 2
    assert words in done.err and "--allow " in done.err and len(done.err.splitlines()) == 1
    assert not mark.exists() and not (tmp_path / "g" / "state" / "g").exists()
    crawl.terminate()


def test_gatherer_that_stays_waits_for_a_better_charter(start: Run, tmp_path: Path, board: str) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=12)) as web:
        waiting = start("gatherer", "--space", board, "--name", "g", "-o", "g", "--stay", "--allow", "private")
        crawl = start("crawl", web.seeds[0], "-n", "0", "--space", board, "-o", "a", *QUICK, "--order", "evil:score")
        line = next(line for line in waiting.stderr if "charter-refused" in line)
        assert "--allow order=evil:score" in line
        crawl.terminate()
        crawl.wait(30)
        better = start("crawl", web.seeds[0], "-n", "0", "--space", board, "-o", "a", *QUICK, "--order", "backlink")
        assert better.wait(60) == 0
        assert waiting.poll() is None
        assert Counter(record.url for record in read_records(tmp_path / "g")) == Counter(survey(web.web).pages)


def test_team_with_a_key_and_an_order_of_its_own_needs_nothing_else(
    start: Run, tmp_path: Path, environment: dict[str, str]
) -> None:
    """`gcs crawl -n` hands its consent and its key on; neither stands on a command line or in the crawl's files."""
    (tmp_path / "mine.py").write_text("def score(found):\n    return -found.depth\n")
    keyed = environment | {"GCS_SPACE_KEY": KEY}
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=80, latency_s=0.02)) as web:
        words = ("-o", "out", "-n", "2", "--order", "mine:score", "--connections", "2", "--json", "--log", "info")
        crawl = start("crawl", *web.seeds, *words, *QUICK, env=keyed)
        lines = set[str]()
        while crawl.poll() is None:
            shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
            lines.update(line for line in shown.splitlines() if "gcs" in line)
            time.sleep(0.05)
        out, err = crawl.communicate(timeout=60)
        assert crawl.returncode == 0, err
        assert Counter(record.url for record in read_records(tmp_path / "out")) == Counter(survey(web.web).pages)
    assert lines and not [line for line in lines if KEY in line]
    assert KEY not in out + err
    found = subprocess.run(["grep", "-rlaF", KEY, tmp_path / "out"], capture_output=True, text=True, check=False)
    assert found.stdout == ""


def test_processes_with_other_keys_are_told_so_when_they_join(
    start: Run, gcs: Run, tmp_path: Path, board: str, environment: dict[str, str]
) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    file.chmod(0o600)
    keyed, other = environment | {"GCS_SPACE_KEY_FILE": str(file)}, environment | {"GCS_SPACE_KEY": OTHER}
    team = start("crawl", "http://127.0.0.1:9/", "-n", "0", "--space", board, "-o", "desk", env=keyed)
    waiting = start("helper", "--space", board, env=keyed)  # it finds the charter: now it is there
    assert "on-duty" in next(line for line in waiting.stderr if "on-duty" in line)
    waiting.terminate()
    for words in (("gatherer", "--name", "g", "-o", "g"), ("seed-server", "-o", "s"), ("helper",), ("stop",)):
        done = gcs(*words, "--space", board)
        assert done.code == 1 and "charter of the crawl" in done.err.splitlines()[-1] + done.err, done.err
        assert "this process has none: set GCS_SPACE_KEY" in done.err
        done = gcs(*words, "--space", board, env=other)
        assert done.code == 1 and "another team key" in done.err, done.err
    mixed = gcs("crawl", "http://127.0.0.1:9/", "-n", "1", "--space", board, "-o", "b")
    assert mixed.code == 2 and "whose charter is sealed with a team key" in mixed.err
    assert "not shown: a control tuple is sealed" in gcs("status", "--space", board, "--crawl", "crawl").err
    assert gcs("stop", "--space", f"{board}?team_key={file}").code == 0
    assert team.wait(30) == 3


def test_key_that_is_too_short_is_refused_and_not_shown(gcs: Run, environment: dict[str, str]) -> None:
    done = gcs("status", "--space", "redis://127.0.0.1:1", env=environment | {"GCS_SPACE_KEY": "hunter2"})
    assert "hunter2" not in done.err


@pytest.mark.parametrize("gatherers", ["1", "2"])
def test_no_file_of_a_crawl_is_written_through_a_link(gcs: Run, tmp_path: Path, gatherers: str) -> None:
    """Each file that a crawl has written is replaced by a link to a precious one, and the crawl goes on."""
    victim = tmp_path / "victim"
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=30)) as web:
        crawl = ("crawl", web.seeds[0], "-o", "out", "-n", gatherers, "--set", "store.log_records=5", *QUICK)
        assert gcs(*crawl, "--max-pages", "10").code == 3
        whole = tmp_path / "whole"
        (tmp_path / "out").rename(whole)
        places = {path.relative_to(whole) for path in whole.rglob("*") if path.is_file() or path.is_socket()}
        places |= {path.with_name(f".{path.name}.part") for path in places if path.suffix == ".json"}
        assert {Path("report.json"), Path(".report.json.part"), Path("state/g0/frontier/data.mdb")} <= places
        if gatherers == "2":  # what only a team has
            places = {place for place in places if place.parts[:2] in (("state", "space"), ("state", "alive"))}
        for place in sorted(places):
            shutil.copytree(whole, tmp_path / "out", symlinks=True)
            victim.write_text("precious")
            (tmp_path / "out" / place).unlink(missing_ok=True)
            (tmp_path / "out" / place).symlink_to(victim)
            done = gcs(*crawl, "--max-pages", "12", "--log", "error")
            assert victim.read_text() == "precious", place
            assert "Traceback" not in done.err, (place, done.err)
            shutil.rmtree(tmp_path / "out")


def test_crawl_goes_on_under_forged_tuples(
    start: Run, gcs: Run, tmp_path: Path, board: str, environment: dict[str, str]
) -> None:
    """Somebody without the key writes to every stream of the crawl, all the time: nothing changes but the counts."""
    keyed = environment | {"GCS_SPACE_KEY": KEY}
    intruder = redis.Redis(unix_socket_path=board.removeprefix("unix://"))
    evil = Link("http://127.0.0.1:9/evil")
    consumed = [UrlBlock(1, [evil]), SummaryTS("g0", "r", 1, evil.url, "me", status=200), Seeds([evil.url])]
    posted = [
        Control(CrawlState.STOPPING, "me"),
        Charter(b"{}", [evil.url]),
        LeaderLease("me", 99),
        PlanPosted(99, 99, b"evil"),
        Member("me", "r"),
    ]
    with FakeWebProcess(FakeWebSpec.plain(hosts=6, pages=200, latency_s=0.02)) as web:
        words = ("-n", "2", "--space", board, "-o", "out", "--connections", "4", "--log", "warning", "--json")
        crawl = start("crawl", *web.seeds, *words, *QUICK, env=keyed)
        forged, shown = 0, ""
        give_up_at = time.monotonic() + 120
        while crawl.poll() is None:
            assert time.monotonic() < give_up_at
            for key in intruder.scan_iter("{gcs:crawl*", _type="stream"):
                name, kind = key.decode(), key.decode().rpartition(":")[2]
                items: list[Any] = [item for item in (*consumed, *posted) if item.name == kind]
                for item in items:
                    sender = {"s": "g1", "n": 1} if item in consumed else {"k": item.key}
                    intruder.xadd(name, {"p": encode(item), **sender})
                    forged += 1
            if "has refused" not in shown:
                shown = gcs("status", "--space", board, env=keyed).out
        _, said = crawl.communicate(timeout=30)
        assert crawl.returncode == 0, said
        assert Counter(record.url for record in read_records(tmp_path / "out")) == Counter(survey(web.web).pages)
    assert forged > 10
    assert "tuples that are not of this team" in shown
    assert "space.refused" in said and "gatherer-restarted" not in said and "Traceback" not in said
    intruder.close()
