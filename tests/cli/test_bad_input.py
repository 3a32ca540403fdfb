"""Whatever a user, a disk or a server does wrong ends in one clear line and the right exit code; nothing is lost."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer

from .conftest import QUICK

Run = Callable[..., Any]
AIOHTTP = ("--set", "fetch.engine=aiohttp")
OWN = "127.0.0.1:9/"  # nobody listens there


def stored(directory: Path) -> Counter[str]:
    return Counter(record.url for record in read_records(directory) if record.is_page)


# -- usage: exit code 2, and nothing is written -------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no seeds: give URLs, or a file of them with --seeds FILE"),
        (["--seeds", "none.txt"], "none.txt: cannot read the seeds (No such file or directory)"),
        (["--seeds", "."], ".: cannot read the seeds (Is a directory)"),
        (["--seeds", "bytes.txt"], "bytes.txt: the seeds are not UTF-8 text, one URL a line"),
        (["--seeds", "odd.txt"], r"odd.txt:3: '\x00\x1b[31m' is not an http or https URL"),
        (["ftp://example.org/"], "command line: 'ftp://example.org/' is not an http or https URL"),
        (["mailto:me@example.org"], "command line: 'mailto:me@example.org' is not an http or https URL"),
        (["not a url"], "command line: 'not a url' holds a space: give one URL a line"),
        (["not", "a", "url"], "command line: 'not' is a word, not a URL: write https://not/ if there is such a host"),
        (["http://"], "command line: 'http://' is not an http or https URL"),
        ([""], "command line: '' is not an http or https URL"),
        ([OWN, "--deley", "3"], "No such option '--deley'. (Did you mean one of: '--delay',"),
        ([OWN, "--scope", "all"], "'all' is not one of 'prefix', 'host', 'domain', 'any'"),
        ([OWN, "--log", "loud"], "'loud' is not one of 'debug', 'info', 'warning', 'error'"),
        ([OWN, "--delay"], "Option '--delay' requires an argument"),
        ([OWN, "--delay", "long"], "command line: politeness.delay_s is 'long': give a number"),
        ([OWN, "--delay", "-1"], "command line: politeness.delay_s is '-1': it must not be negative"),
        ([OWN, "--delay", "inf"], "command line: politeness.delay_s is 'inf': it must not be negative or without end"),
        ([OWN, "--max-pages", "1.5"], "command line: crawl.max_pages is '1.5': give a whole number"),
        ([OWN, "--connections", "0"], "fetch: connections must be above 0, not 0"),
        ([OWN, "--include", "("], "crawl.include: '(' is not a regular expression"),
        ([OWN, "--proxy", "nonsense"], "'nonsense' is not a proxy"),
        ([OWN, "--store", "foo://x"], "cannot use foo://x as a store"),
        ([OWN, "--name", "a/b"], "'a/b' cannot be part of a file name"),
        ([OWN, "--contact", "a\nb"], r"crawl.contact: 'a\nb' cannot be sent in a header"),
        (
            [OWN, "--set", "politeness.deley=3"],
            "unknown setting 'politeness.deley'; did you mean 'politeness.delay_s'?",
        ),
        ([OWN, "--set", "politeness"], "--set politeness: write SECTION.KEY=VALUE"),
        ([OWN, "--set", "fetch.engine=wget"], "command line: fetch.engine is 'wget': give curl, aiohttp"),
        ([OWN, "--set", "store.warc=maybe"], "command line: store.warc is 'maybe': give true or false"),
        ([OWN, "-c", "none.toml"], "none.toml: cannot be read (No such file or directory); give a TOML file with -c"),
        ([OWN, "-c", "bytes.txt"], "bytes.txt: not TOML: it is no UTF-8 text"),
        ([OWN, "-c", "broken.toml"], "broken.toml: not TOML: Invalid value (at line 2, column 6)"),
        ([OWN, "-c", "loose.toml"], "loose.toml: 'delay_s' stands outside a [section]; known sections: crawl, "),
        ([OWN, "-c", "key.toml"], "key.toml: unknown setting 'politness.delay_s'; did you mean 'politeness.delay_s'?"),
        ([OWN, "-c", "value.toml"], "value.toml: politeness.delay_s is 'long': give a number"),
        ([OWN, "-n", "0"], "-n 0 is for a team that is elsewhere: give its whiteboard with --space URL"),
        ([OWN, "-n", "2", "--store", "foo://x"], "cannot use foo://x as a store"),
        ([OWN, "-n", "2", "--order", "typo:score"], "put typo.py into this directory or install it"),
        ([OWN, "-n", "2", "--include", "("], "crawl.include: '(' is not a regular expression"),
        ([OWN, "--space", "nonsense"], "--space 'nonsense://': the scheme is none of unix, redis, "),
        ([OWN, "--next"], "out: there is no crawl here to go on from; leave --next out"),
        (["https://example.org/"], "public sites must be able to complain: give --contact you@example.org"),
    ],
)
def test_crawl_refuses_what_it_cannot_use(call: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "bytes.txt").write_bytes(b"http://127.0.0.1/\n\xff\xfe\x00")
    (tmp_path / "odd.txt").write_bytes(b"# seeds\nhttp://127.0.0.1/\n\x00\x1b[31m\n")
    (tmp_path / "broken.toml").write_text("[crawl]\nname=\n")
    (tmp_path / "loose.toml").write_text("delay_s = 3\n")
    (tmp_path / "key.toml").write_text("[politness]\ndelay_s = 3\n")
    (tmp_path / "value.toml").write_text("[politeness]\ndelay_s = 'long'\n")
    done = call("crawl", "-o", "out", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("gcs: ")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert not [*(tmp_path / "out").glob("state/*.*"), *(tmp_path / "out").glob("state/*/url")], "nothing is remembered"


def test_an_unknown_command_is_a_usage_error(call: Run) -> None:
    done = call("craw")
    assert done.code == 2
    assert done.err.startswith("gcs: No such command 'craw'")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("place", [".", "none"])
def test_status_of_what_is_no_crawl_is_a_usage_error(call: Run, place: str) -> None:
    done = call("status", place)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"gcs: {place}: there is no crawl here; give the DIR of `gcs crawl -o DIR`\n"


# -- places that cannot be written: exit code 1 -------------------------------------------------------


def test_crawl_into_a_file_says_so(gcs: Run, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    done = gcs("crawl", OWN, "-o", "out")
    assert done.code == 1
    assert done.err == "gcs: out/state/g0/frontier: cannot write here (Not a directory); choose another -o DIR\n"
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_crawl_into_a_directory_of_somebody_else_says_so(gcs: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(0o555)
    done = gcs("crawl", OWN, "-o", "out")
    assert done.code == 1
    assert done.err == "gcs: out/state/g0/frontier: cannot write here (Permission denied); choose another -o DIR\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_crawl_into_a_read_only_directory_says_so(gcs: Run, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = gcs("crawl", OWN, "-o", small_disk / "out")
    assert done.code == 1
    assert "cannot write here (Read-only file system); choose another -o DIR" in done.err
    assert len(done.err.splitlines()) == 1


def test_crawl_resumed_on_a_read_only_disk_says_so(gcs: Run, small_disk: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=5)) as web:
        assert gcs("crawl", web.seeds[0], "-o", small_disk / "out", quick=True).code == 0
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        done = gcs("crawl", "-o", small_disk / "out")
        assert done.code == 1
        assert "cannot write here (Read-only file system)" in done.err
        assert len(done.err.splitlines()) == 1
        assert set(stored(small_disk / "out")) == survey(web.web).pages


def test_crawl_with_a_damaged_frontier_makes_it_anew(gcs: Run, tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=60)) as web:
        assert gcs("crawl", web.seeds[0], "-o", "out", "--max-pages", "30", quick=True).code == 3
        frontier = tmp_path / "out" / "state" / "g0" / "frontier"
        (frontier / "data.mdb").write_bytes(b"not a frontier" * 1000)
        damaged = gcs("crawl", "-o", "out", "--max-pages", "0")
        assert damaged.code == 0 and len(damaged.err.splitlines()) == 1
        assert "out/state/g0/frontier/data.mdb is damaged: it has changed since it was closed" in damaged.err
        assert (frontier / "data.mdb.cut").stat().st_size == 14_000
        assert stored(tmp_path / "out") == Counter(survey(web.web).pages)


def test_gatherer_with_a_full_disk_says_what_to_do(start: Run, small_disk: Path, tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=300, html_bytes=20_000)) as web:
        server = EmbeddedServer(tmp_path / "space")
        url = server.start()
        try:
            start("crawl", web.seeds[0], *("-n", "0", "--space", url, *QUICK))
            gatherer = start(
                "gatherer",
                *("--space", url, "--name", "g", "-o", small_disk / "out", "--log", "error", "--allow", "private"),
            )
            _, said = gatherer.communicate(timeout=60)
        finally:
            server.stop()
    assert gatherer.returncode == 1
    assert said.endswith("free some space and run the same command again: nothing stored is lost\n")
    assert len(said.splitlines()) == 1


def test_crawl_goes_on_after_the_disk_was_full(gcs: Run, small_disk: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=300, html_bytes=20_000)) as web:
        command = ("crawl", web.seeds[0], "-o", small_disk / "out")
        full = gcs(*command, quick=True)
        assert full.code == 1
        assert "free some space and run the same command again: nothing stored is lost" in full.err
        assert len(full.err.splitlines()) == 2  # the first shows the seed
        before = stored(small_disk / "out")
        assert 0 < len(before) < 300
        still_full = gcs(*command, quick=True)
        assert still_full.code == 1
        subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
        assert gcs(*command, quick=True).code == 0
        after = stored(small_disk / "out")
        assert set(after) == survey(web.web).pages
        assert set(after.values()) == {1}
        assert before.keys() <= after.keys()


@pytest.mark.parametrize("place", ["full", "/dev/null/report.json", "."])
def test_crawl_whose_report_cannot_be_written_still_prints_it(gcs: Run, tmp_path: Path, place: str) -> None:
    (tmp_path / "full").symlink_to("/dev/full")
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=5)) as web:
        done = gcs("crawl", web.seeds[0], "-o", "out", "--report", place, "--json", quick=True)
        assert done.code == 1
        assert json.loads(done.out)["pages"] == 5
        assert done.err.startswith(f"gcs: {place}: cannot be written (")
        assert done.err.endswith("give another place with --report FILE\n")
        assert len(stored(tmp_path / "out")) == 5
    assert (tmp_path / "full").is_char_device(), "a device is written to, not replaced"


def test_crawl_leaves_a_directory_in_use_alone(gcs: Run, start: Run, tmp_path: Path, hostile: FakeWebProcess) -> None:
    origin = hostile.web.sites[0].origin
    running = start("crawl", f"{origin}/hostile/hang.html", "-o", "out", "--allow-private", "--delay", "0")
    seeds = tmp_path / "out" / "state" / "seeds.txt"
    while not (tmp_path / "out" / "state" / "session").exists():  # the last file that is written
        assert running.poll() is None
    settings = (tmp_path / "out" / "state" / "settings.json").read_bytes()
    for seed in ("http://127.9.9.9/", f"{origin}/hostile/hang.html"):
        done = gcs("crawl", seed, "-o", "out", "--delay", "0.01", "--max-pages", "7")
        assert done.code == 2
        assert (
            done.err == "gcs: out/state/g0/frontier: another crawl is running here; stop it or choose another -o DIR\n"
        )
    assert (tmp_path / "out" / "state" / "settings.json").read_bytes() == settings
    assert seeds.read_text() == f"{origin}/hostile/hang.html\n"
    running.send_signal(signal.SIGKILL)


def test_fake_web_at_a_port_in_use_says_so() -> None:
    with socket.socket() as other:
        other.bind(("127.1.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "gcs.fakeweb.server", "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"cannot listen on 127.1.0.1:{port} (Address already in use); give another port" in done.stderr
    assert len(done.stderr.splitlines()) == 1


# -- the web is bad: a crawl that brought nothing is exit code 1 ----------------------------------------


def test_crawl_names_the_flag_for_private_addresses(gcs: Run, tmp_path: Path, hostile: FakeWebProcess) -> None:
    hostile.reset()
    done = gcs("crawl", hostile.seeds[0], "-o", "out", "--json")
    assert done.code == 1
    assert json.loads(done.out)["failures"] == {"forbidden-address": 1}
    assert done.err == (
        "gcs: not one page was fetched: 1 forbidden-address; "
        "private, loopback and link-local addresses are crawled only with --allow-private; "
        "to try again: gcs crawl --allow-private -o out\n"
    )
    assert hostile.log.requests == 0
    assert not stored(tmp_path / "out")
    command = done.err.rpartition("gcs crawl")[2].split()
    again = gcs("crawl", *command, "--max-pages", "1", "--json")
    assert (again.code, json.loads(again.out)["pages"]) == (3, 1), "what came to nothing is tried again"


@pytest.mark.parametrize(
    ("arguments", "kind", "advice"),
    [
        (["http://example.org/", "--proxy", "http://127.0.0.1:9"], "proxy", "the proxy does not answer, or refuses"),
        (["http://example.org/", "--proxy", "http://127.0.0.1:9", *AIOHTTP], "proxy", "the proxy does not answer"),
        (["http://name.invalid/"], "dns", "no such host: look at the spelling of the seeds"),
        (["http://127.0.0.1:9/", "--allow-private"], "connect", "nobody answers there: look at host and port"),
    ],
)
def test_crawl_that_reaches_nobody_says_why(gcs: Run, arguments: list[str], kind: str, advice: str) -> None:
    quick = ("--delay", "0", "--set", "politeness.retry_s=0.02")
    done = gcs("crawl", *arguments, "-o", "out", "--contact", "me@example.org", "--json", *quick)
    assert done.code == 1
    report = json.loads(done.out)
    assert (report["state"], report["pages"], report["failures"]) == ("done", 0, {kind: 1})
    assert done.err.startswith(f"gcs: not one page was fetched: 1 {kind}; {advice}")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/hostile/hang.html", "1 timeout"),
        ("/err/garbage.html", "1 protocol"),
        ("/err/404.html", "1 http-404"),
        ("/go/loop/a", "the seeds redirect in a circle, or out of the scope (http://"),
        ("/private/shut.html", "robots.txt denies the seeds"),
    ],
)
def test_crawl_of_a_page_that_never_comes_says_why(gcs: Run, hostile: FakeWebProcess, path: str, reason: str) -> None:
    seed = hostile.web.sites[0].origin + path
    wait_s = 1.0 if "hang" in path else 20
    limits = ("--set", f"fetch.first_byte_timeout_s={wait_s}", "--set", "crawl.sitemaps=false", "--max-seconds", "60")
    done = gcs("crawl", seed, "-o", "out", "--json", *limits, quick=True)
    assert done.code == 1
    assert json.loads(done.out)["state"] == "done"
    assert done.err.startswith(f"gcs: not one page was fetched: {reason}")
    assert len(done.err.splitlines()) == 1


def test_crawl_of_a_seed_that_redirects_elsewhere_says_whereto(gcs: Run) -> None:
    class Moved(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(301 if self.path == "/" else 404)
            self.send_header("Location", "http://moved.test/docs/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Moved) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        seed = f"http://127.0.0.1:{server.server_port}/"
        done = gcs("crawl", seed, "-o", "out", "--allow-private", "--delay", "0")
        server.shutdown()
    assert done.code == 1
    assert f"out of the scope ({seed} leads to http://moved.test/docs/); give the right seed" in done.err


def test_crawl_of_a_hostile_web_stores_what_is_good(gcs: Run, tmp_path: Path, hostile: FakeWebProcess) -> None:
    """Garbage, endless bodies, bombs and loops beside good pages: all of these are stored, and memory stays small."""
    hostile.reset()
    limits = ("--set", "fetch.first_byte_timeout_s=5", "--set", "politeness.tries=2", "--set", "traps.max_depth=12")
    done = gcs("crawl", hostile.seeds[0], "-o", "out", "--json", *limits, quick=True)
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    truth = survey(hostile.web)
    assert truth.pages <= set(stored(tmp_path / "out"))
    reasons = {"cut": "disconnect", "encoding": "unspecified", "too-large": "length"}
    cut = {record.url: record.truncated for record in read_records(tmp_path / "out") if record.truncated}
    assert cut and cut == {url: reasons[why] for url, why in truth.cut_short().items()}
    assert report["failures"]["timeout"] == 1
    assert report["peak_rss_mb"] < 400  # two bodies are read up to their limit of 16 MB; the bomb alone is 256 MB
    assert hostile.log.forbidden == []


def test_crawl_that_failed_can_be_tried_again(gcs: Run, tmp_path: Path) -> None:
    """As its message says; with a better proxy, or none."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=5)) as web:
        assert gcs("crawl", web.seeds[0], "-o", "out", "--proxy", "http://127.0.0.1:9", quick=True).code == 1
        again = gcs("crawl", "-o", "out", "--next", "--proxy", "", "--json")
        assert again.code == 0
        assert json.loads(again.out)["pages"] == 5
        assert set(stored(tmp_path / "out")) == survey(web.web).pages
