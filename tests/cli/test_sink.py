"""`gcs crawl --sink` and `gcs sink`: every page arrives, also through kills and from teams."""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess

FLAGS = ("--allow-private", "--delay", "0", "--scope", "any", "--json")


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=160, html_bytes=3000)) as server:
        yield server


def gcs(*arguments: object, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "gcs", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("gatherers", [1, 2])
def test_sinks_have_every_page_when_the_crawl_ends(web: FakeWebProcess, tmp_path: Path, gatherers: int) -> None:
    gcs(
        *("crawl", *web.seeds, "-o", "c", "-n", gatherers, "--sink", "pages.jsonl", "--sink", "corpus.md", *FLAGS),
        cwd=tmp_path,
    )
    found = lines(tmp_path / "pages.jsonl")
    assert {row["url"] for row in found} == survey(web.web).pages
    assert len({row["id"] for row in found}) == len(survey(web.web).pages)
    assert len(list((tmp_path / "corpus.md").rglob("*.md"))) == len(survey(web.web).pages)


def test_stored_crawl_goes_to_a_sink_once(web: FakeWebProcess, tmp_path: Path) -> None:
    gcs("crawl", *web.seeds, "-o", "c", *FLAGS, cwd=tmp_path)
    first = json.loads(gcs("sink", "c", "--to", "pages.csv", "--json", cwd=tmp_path).stdout)
    assert first["pages"] == 160
    again = json.loads(gcs("sink", "c", "--to", "pages.csv", "--json", cwd=tmp_path).stdout)
    assert again["pages"] == 0
    assert json.loads(gcs("sink", "c", "--to", "other.jsonl", "--json", cwd=tmp_path).stdout)["pages"] == 160


def test_sink_of_ones_own_module(web: FakeWebProcess, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    def __init__(self, target):\n"
        "        self.target = target\n"
        "    def write(self, pages):\n"
        "        with open(self.target, 'a') as file:\n"
        "            file.writelines(f'{page.url}\\n' for page in pages)\n"
    )
    gcs("crawl", *web.seeds, "-o", "c", "--sink", "mine:Mine=urls.txt", *FLAGS, cwd=tmp_path)
    assert set((tmp_path / "urls.txt").read_text().split()) == survey(web.web).pages


def test_mistake_is_told_before_anything_is_crawled(web: FakeWebProcess, tmp_path: Path) -> None:
    done = gcs("crawl", *web.seeds, "-o", "c", "--sink", "pages.xml", *FLAGS, cwd=tmp_path, code=2)
    assert "pages.xml" in done.stderr and not (tmp_path / "c/warc").exists()


def test_sink_that_fails_costs_no_page_and_gets_the_rest_later(web: FakeWebProcess, tmp_path: Path) -> None:
    broken = "class Mine:\n    def write(self, pages):\n        raise ConnectionError('away')\n"
    (tmp_path / "mine.py").write_text(broken)
    done = gcs("crawl", *web.seeds, "-o", "c", "--sink", "mine:Mine", *FLAGS, cwd=tmp_path, code=1)
    assert "away" in done.stderr and "nothing is lost" in done.stderr
    assert json.loads(done.stdout)["pages"] == 160
    mended = "def mine(pages):\n    open('urls.txt', 'a').writelines(f'{page.url}\\n' for page in pages)\n"
    (tmp_path / "mine.py").write_text(
        mended.replace("def mine", "class Mine:\n  def write").replace("(pages)", "(self, pages)", 1)
    )
    gcs("sink", "c", "--to", "mine:Mine", cwd=tmp_path)
    assert set((tmp_path / "urls.txt").read_text().split()) == survey(web.web).pages


def test_kills_lose_no_page_and_repeat_known_ids(web: FakeWebProcess, tmp_path: Path) -> None:
    """kill -9 of the crawl, and of its sink with it, at random moments."""
    chance = random.Random()
    command = [sys.executable, "-m", "gcs", "crawl", *web.seeds, "-o", "c", "--sink", "pages.jsonl", *FLAGS]
    kills = 0
    while True:
        crawl = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
        try:
            code = crawl.wait(chance.uniform(0.4, 1.2) if kills < 5 else None)
        except subprocess.TimeoutExpired:
            for child in _children(crawl.pid):
                subprocess.run(["kill", "-9", str(child)], check=False)
            crawl.kill()
            crawl.wait()
            kills += 1
            continue
        assert code == 0
        break
    found = Counter(row["id"] for row in lines(tmp_path / "pages.jsonl"))
    assert {row["url"] for row in lines(tmp_path / "pages.jsonl")} == survey(web.web).pages
    assert len(found) == 160


def _children(pid: int) -> list[int]:
    return [int(child) for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()]
