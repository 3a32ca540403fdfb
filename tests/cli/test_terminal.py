"""`gcs` at a terminal (a pseudo-terminal here): the progress line, Ctrl-C, the question for a contact."""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gcs.core.page.values import PageRecord
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store
from gcs.ports.system.control_socket import ControlOrder, ask

#: the pieces of a terminal's language that rich speaks here
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WAIT_S = 60


class Terminal:
    """A command that believes it is at a terminal."""

    def __init__(self, pid: int, handle: int) -> None:
        self._pid = pid
        self._handle = handle
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._handle, text.encode())

    def read_until(self, wanted: Callable[[str], object]) -> None:
        """Read on until what was shown, without its escapes, satisfies `wanted`, or the command has ended."""
        limit = time.monotonic() + WAIT_S
        while not wanted(self.text) and self._read():
            assert time.monotonic() < limit, self.text

    def end(self, nudge: str = "") -> int:
        """Read to the end; the exit code. `nudge` is typed, and typed again where nothing comes of it for a second."""
        self.type(nudge)
        limit = time.monotonic() + WAIT_S
        while True:
            assert time.monotonic() < limit, self.text
            if not select.select([self._handle], [], [], 1.0)[0]:
                self.type(nudge)
            elif not self._read():
                break
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    @property
    def text(self) -> str:
        return ESCAPE.sub("", self.shown)

    def _read(self) -> bool:
        try:
            data = os.read(self._handle, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self.shown += data.decode()
        return bool(data)


@contextmanager
def terminal(directory: Path, environment: dict[str, str], *arguments: str, width: int = 100) -> Iterator[Terminal]:
    pid, handle = pty.fork()
    if pid == 0:
        os.chdir(directory)
        sizes = ("COLUMNS", "LINES")  # of pytest's own terminal, with pytest-xdist
        environment = {name: value for name, value in environment.items() if name not in sizes}
        environment |= {"TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
        os.execve(sys.executable, [sys.executable, "-m", "gcs", *arguments], environment)
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    try:
        yield Terminal(pid, handle)
    finally:
        os.close(handle)


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=120, latency_s=0.02)) as web:
        yield web


CRAWL = ("-o", "out", "--allow-private", "--scope", "any", "--delay", "0.02")
LINE = re.compile(r"(\d+) pages  [\d.,]+/s [━╸ ]+ (\d+) % explored  [\d,]+ queued")


def test_progress_shows_pages_rate_and_queue_and_goes_away(
    web: FakeWebProcess, tmp_path: Path, environment: dict[str, str]
) -> None:
    with terminal(tmp_path, environment, "crawl", web.seeds[0], *CRAWL) as screen:
        assert screen.end() == 0
    seen = [(int(pages), int(percent)) for pages, percent in LINE.findall(screen.text)]
    assert len(seen) >= 3
    assert seen == sorted(seen, key=lambda line: line[0])
    assert 0 < seen[-1][0] <= 120
    assert "s left" in screen.text
    assert re.search(
        r"limited by [12] hosts? at 50 pages/s( each)? \(--delay 0.02\)|waiting for answers \(", screen.text
    )
    assert screen.shown.count("\x1b[?25l") == screen.shown.count("\x1b[?25h") == 1, "the cursor is given back"
    last = screen.text.splitlines()
    assert last[-1] == "stored in out/"
    assert last[-2].startswith("100 % explored, finished")
    assert last[-4].startswith("done: 120 pages, ")
    for line in ESCAPE.sub("", screen.shown).replace("\r", "\n").splitlines():
        assert len(line) <= 100, "nothing wraps"


def lines_of(shown: str, width: int) -> list[str]:
    """The lines of the screen and of what has left it, as a terminal of that width would have them."""
    lines, at, column = [""], 0, 0
    for command, char in re.findall(r"\x1b\[([0-9;?]*[A-Za-z])|(.)", shown, re.DOTALL):
        if command == "K":
            lines[at] = lines[at][:column]
        elif command == "1A":
            at -= 1
        elif char == "\r":
            column = 0
        elif char == "\n" or (char and column == width):
            at, column = at + 1, 0
            lines += [""] * (at == len(lines))
        if char and char not in "\r\n":
            lines[at] = lines[at][:column].ljust(column) + char + lines[at][column + 1 :]
            column += 1
    return lines


@pytest.mark.parametrize("flags", [(), ("-n", "2")])
def test_lines_never_run_into_one_another(
    web: FakeWebProcess, tmp_path: Path, environment: dict[str, str], flags: tuple[str, ...]
) -> None:
    """Log lines of this process and of children above the live lines, which fit the narrow terminal."""
    with terminal(tmp_path, environment, "crawl", web.seeds[0], *CRAWL, *flags, "--log", "info", width=300) as screen:
        assert screen.end() == 0
    logged = [line for line in lines_of(screen.shown, 300) if "url.fetched" in line]
    assert len(logged) == 120
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d INFO    url.fetched status=.* note=\S+", line.strip()) for line in logged)
    assert not any("queued" in line and "INFO" in line for line in lines_of(screen.shown, 300))


def test_a_narrow_terminal_wraps_nothing(web: FakeWebProcess, tmp_path: Path, environment: dict[str, str]) -> None:
    with terminal(tmp_path, environment, "crawl", web.seeds[0], *CRAWL, width=34) as screen:
        assert screen.end() == 0
    live = [line for line in screen.shown.replace("\r", "\n").split("\n") if "\x1b[2m" in line or "\x1b[1m" in line]
    assert len(live) > 5
    assert all(len(ESCAPE.sub("", line)) < 34 for line in live)
    assert any("explored" in line for line in live) and any("…" in line for line in live)


def test_a_pause_is_shown(web: FakeWebProcess, tmp_path: Path, environment: dict[str, str]) -> None:
    with terminal(tmp_path, environment, "crawl", web.seeds[0], *CRAWL) as screen:
        screen.read_until(lambda text: any(int(pages) > 5 for pages, _ in LINE.findall(text)))
        assert ask(tmp_path / "out", ControlOrder("pause"))
        screen.read_until(lambda text: "queued  paused" in text)
        assert ask(tmp_path / "out", ControlOrder("resume"))
        assert screen.end() == 0


def test_ctrl_c_at_a_terminal_says_how_to_go_on(
    web: FakeWebProcess, tmp_path: Path, environment: dict[str, str]
) -> None:
    with terminal(tmp_path, environment, "crawl", web.seeds[0], *CRAWL) as screen:
        screen.read_until(lambda text: any(int(pages) > 5 for pages, _ in LINE.findall(text)))
        screen.type("\x03")
        assert screen.end() == 130
    assert "ending: waiting for pages in flight (Ctrl-C again to end at once)" in screen.text
    assert screen.text.splitlines()[-1] == "interrupted, nothing lost; to go on: gcs crawl -o out"


def test_second_ctrl_c_gives_the_cursor_back(
    hostile: FakeWebProcess, tmp_path: Path, environment: dict[str, str]
) -> None:
    hostile.reset()
    seed = f"{hostile.web.sites[0].origin}/hostile/hang.html"
    with terminal(tmp_path, environment, "crawl", seed, *CRAWL) as screen:
        while seed not in hostile.log.hits:
            time.sleep(0.02)
        screen.type("\x03")
        screen.read_until(lambda text: "ending:" in text)
        screen.type("\x03")
        assert screen.end() == 130
    assert screen.shown.count("\x1b[?25l") == screen.shown.count("\x1b[?25h") == 1


def test_crawl_of_public_sites_asks_for_a_contact(tmp_path: Path, environment: dict[str, str]) -> None:
    """Behind a dead proxy, so that no public site is asked."""
    flags = ("--proxy", "http://127.0.0.1:9", "--set", "politeness.retry_s=0.01", "--delay", "0", "-o", "out")
    with terminal(tmp_path, environment, "crawl", "example.org", *flags) as screen:
        screen.read_until(lambda text: "Who may sites complain to?" in text)
        screen.type("\nme@example.org\n")  # an empty answer is none: it asks again
        assert screen.end() == 1
    assert screen.text.count("Who may sites complain to?") == 2
    assert "me@example.org" in (tmp_path / "out" / "state" / "settings.json").read_text()
    with terminal(tmp_path, environment, "crawl", "-o", "out") as screen:
        assert screen.end() == 1
    assert "Who may sites" not in screen.text, "it is asked once in the life of a crawl"


def test_ctrl_c_at_the_question_ends_quietly(tmp_path: Path, environment: dict[str, str]) -> None:
    with terminal(tmp_path, environment, "crawl", "example.org", "-o", "out") as screen:
        screen.read_until(lambda text: "Who may sites complain to?" in text)
        assert screen.end(nudge="\x03") == 130
    assert "Traceback" not in screen.text
    assert not (tmp_path / "out").exists()


def test_a_study_prints_when_its_bar_is_gone(tmp_path: Path, environment: dict[str, str]) -> None:
    words = ("study", "cho-communication", "--graph", "synthetic:100", "-o", "out", "--cache", "cache")
    with terminal(tmp_path, environment, *words) as screen:
        assert screen.end() == 0
    bar, _, after = screen.shown.partition("\x1b[?25h")
    assert "cho-communication" in bar and "━" in bar and "━" not in after
    assert "URLs told per page" in after and "written: out/" in after


def test_pages_that_are_found_do_not_command_the_terminal(
    gcs: Callable[..., object], tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "site").mkdir()
    page = "<title>harbour &#27;]0;mine&#7;</title><p>of the harbour &#27;[2J and its ships</p>"
    (tmp_path / "site" / "a.html").write_text(page)
    gcs("crawl", "./site", "-o", "out")
    with terminal(tmp_path, environment, "search", "out", "harbour") as screen:
        assert screen.end() == 0
    assert "mine" in screen.shown and "ships" in screen.shown
    assert not any(command in screen.shown for command in ("\x1b]", "\x07", "\x1b[2J"))


def test_export_and_search_command_no_terminal(tmp_path: Path, environment: dict[str, str]) -> None:
    """A page's words are shown without what moves the cursor, or turns a line round."""
    with Store.open(tmp_path / "crawl", StoreSettings(warc=False), "g1") as store:
        common = {"parent": "", "depth": 0, "status": 200, "fetched_at": 1.76e9, "gatherer": "g1"}
        title, text = "evil \x1b[2J\x9b1m\u202etxt.exe", "evil \x1b]0;title\x07 words"
        store.add_page(PageRecord(url="http://example.com/", title=title, text=text, **common), None)
        store.sync()
    for words in (("export", "crawl"), ("export", "crawl", "--format", "csv", "--raw"), ("search", "crawl", "evil")):
        with terminal(tmp_path, environment, *words) as shown:
            assert shown.end() == 0
        assert "evil" in shown.shown and "txt.exe" in shown.shown
        assert not re.search("\x1b\\[2J|\x1b\\]|\x9b|\x07|\u202e", shown.shown), words
