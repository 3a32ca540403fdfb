"""The short form of the soak, and its measure; `scripts/soak` is the long one."""

import os
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from .endless_web import DOMAIN, EndlessSpec, EndlessWeb, is_dead, page_of, path
from .name_server import NameServer
from .soak import PARTS, Sample, cut, spread

ROOT = Path(__file__).parents[2]


def test_soak_crawls_an_endless_web(tmp_path: Path) -> None:
    """Names, dead hosts, redirects, a limit of the disk and one of the pages: in a process that has its own names."""
    if os.geteuid():
        pytest.skip("a soak takes root")
    outcome = _soak(tmp_path, "--pages", "1500", "--hosts", "900", "--web-pages", "60000", "--disk-mb", "1")
    report = outcome["report"]
    assert report["state"] == "limit"
    assert report["pages"] == report["unique"] == 1_500
    assert report["known_urls"] > 15_000
    assert {"refused", "301", "410"} <= set(outcome["web"])
    assert outcome["most_kept_mb"] > 0.1
    assert outcome["parts"][-1]["files"] > 10


def _soak(tmp_path: Path, *words: str) -> dict:
    command = [sys.executable, "-m", "tests.soak.soak", "--json", *words]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=240, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    assert done.returncode in (0, 1), done.stderr[-3000:]
    return msgspec.json.decode(done.stdout)


def _samples(speed: float, growth_mb: float) -> list[Sample]:
    return [Sample(at, int(at * speed), 100 + at * growth_mb, 0, 0, 9, at / 2, 0, 0) for at in range(1, 101)]


def test_steady_crawl_is_flat() -> None:
    parts = cut(_samples(100, 0), 10_000)
    assert len(parts) == PARTS
    assert {part.pages_per_s for part in parts} == {100.0}
    assert spread(parts) == {"rss_mb": 0.0, "pages_per_s": 0.0}


def test_crawl_that_grows_is_not_flat() -> None:
    assert spread(cut(_samples(100, 1), 10_000))["rss_mb"] > 0.15


def test_page_has_one_path_and_its_links_lead_to_pages() -> None:
    web = EndlessWeb(EndlessSpec(hosts=500, pages=20_000), 80)
    for host, page in ((0, 0), (0, 999), (7, 12), (499, 1)):
        assert page_of(path(page)) == page
        for link in web.links(host, page):
            there, _, target = link.removeprefix("http://h").partition(f".{DOMAIN}:80")
            found = host if link.startswith("/") else int(there)
            number = page_of(target or link)
            assert "calendar" in link or (number is not None and number < web.size(found))


def test_answers_are_the_same_every_time() -> None:
    one, other = (EndlessWeb(EndlessSpec(hosts=50, pages=5_000), 80) for _ in range(2))
    answers = [one.answer(host, path(page)) for host in range(50) for page in range(3)]
    assert answers == [other.answer(host, path(page)) for host in range(50) for page in range(3)]
    assert {status for status, _ in answers} >= {200, 410}


def test_name_server_knows_hosts_that_are_there() -> None:
    counts: Counter[str] = Counter()
    server = NameServer(DOMAIN, lambda host: host < 300_000, counts)
    assert server.reply(_question("h258.soak.test"))[-4:] == socket.inet_aton("127.64.1.2")
    assert server.reply(_question("h300000.soak.test"))[3] & 15 == 3
    assert server.reply(_question("h258.other.test"))[3] & 15 == 3
    server.fails = True
    assert server.reply(_question("h258.soak.test"))[3] & 15 == 2


def _question(name: str) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + labels + b"\0\0\x01\0\x01"


def test_seeds_of_the_web_are_alive() -> None:
    web = EndlessWeb(EndlessSpec(), 80)
    assert len(web.seeds) == 50
    assert not any(is_dead(host) for host in range(50))
