"""`gcs crawl` from outside: what it prints, what sites see of it, what a directory remembers."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs import __version__
from gcs.app.crawl_input import SavedCrawl
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records

Run = Callable[..., Any]


@pytest.fixture
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=30)) as web:
        yield web


def pages(directory: Path) -> list[str]:
    return sorted(record.url for record in read_records(directory) if record.is_page)


# -- what it prints -----------------------------------------------------------------------------------


def test_crawl_as_json_prints_one_object_and_nothing_else(gcs: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    done = gcs("crawl", web.seeds[0], "-o", "out", "--json", quick=True)
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n") == 1
    report = json.loads(done.out)
    assert (report["state"], report["pages"], report["unique"], report["overlap"]) == ("done", 30, 30, 0.0)
    assert report == json.loads((tmp_path / "out" / "report.json").read_text())


def test_log_file_has_a_line_for_each_url(gcs: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    done = gcs("crawl", web.seeds[0], "-o", "out", "--log-file", "log.txt", "--log-json", "--json", quick=True)
    assert (done.code, done.err) == (0, "")
    lines = [json.loads(line) for line in (tmp_path / "log.txt").read_text().splitlines()]
    fetched = {line["url"]: line for line in lines if line["event"] == "url.fetched"}
    assert len(fetched) == 30
    seed = fetched[web.seeds[0]]
    assert (seed["status"], seed["depth"], seed["via"], seed["type"]) == (200, 0, "-", "text/html")
    assert seed["bytes"] > 0 and seed["digest"].startswith("sha1:") and seed["by"] == "g0"
    assert any(line["via"] == web.seeds[0] for line in fetched.values())
    quiet = gcs("crawl", web.seeds[0], "-o", "quiet", "--log-json", quick=True)
    assert "url.fetched" not in quiet.err


def test_crawl_without_a_terminal_shows_no_progress(gcs: Run, web: FakeWebProcess) -> None:
    done = gcs("crawl", web.seeds[0], "-o", "out", quick=True)
    assert (done.code, done.err) == (0, f"seed: {web.seeds[0]}\n")
    assert "\x1b" not in done.out
    assert done.out.startswith("done: 30 pages, ")
    assert done.out.endswith("stored in out/\n")


def test_crawl_puts_its_report_where_it_is_told(gcs: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    assert gcs("crawl", web.seeds[0], "-o", "out", "--report", "new/figures.json", quick=True).code == 0
    assert json.loads((tmp_path / "new" / "figures.json").read_text())["pages"] == 30
    assert not (tmp_path / "out" / "report.json").exists()


def test_crawl_that_a_limit_ends_says_how_to_go_on(gcs: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    done = gcs("crawl", web.seeds[0], "-o", "out", "--max-pages", "10", quick=True)
    assert done.code == 3
    assert done.out.splitlines()[-1].endswith("URLs are still queued; to go on: gcs crawl -o out")
    assert len(pages(tmp_path / "out")) == 10
    again = gcs("crawl", "-o", "out")  # without the limit
    assert again.code == 0
    assert pages(tmp_path / "out") == sorted(survey(web.web).pages)
    assert web.log.repeated() == {}


def test_crawl_whose_reader_has_gone_keeps_its_report(start: Any, tmp_path: Path, web: FakeWebProcess) -> None:
    process = start("crawl", *web.seeds, "-o", "crawl", "--max-pages", "3", "--allow-private", "--delay", "0")
    process.stdout.close()
    errors = process.stderr.read()
    assert (process.wait(60), errors) == (3, f"seed: {web.seeds[0]}\n")
    assert json.loads((tmp_path / "crawl" / "report.json").read_text())["state"] == "limit"
    assert (tmp_path / "crawl" / "sessions" / "0001.json").exists()


def test_crawl_logs_changes_of_state_on_request(gcs: Run, web: FakeWebProcess) -> None:
    gcs("crawl", web.seeds[0], "-o", "out", "--max-pages", "10", quick=True)
    done = gcs("crawl", "-o", "out", "--log", "info", "--log-json", "--json")
    events = [json.loads(line) for line in done.err.splitlines()]
    assert {"gatherer.resumed", "records.summaries-written"} <= {event["event"] for event in events}
    assert json.loads(done.out)["pages"] == 30


def test_crawl_takes_patterns_one_by_one(gcs: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    """A flag for each: a pattern may hold a comma."""
    patterns = ("--include", r"/$", "--include", r"\.[a-z]{1,5}$", "--exclude", "[0-4]\\.html$")
    assert gcs("crawl", web.seeds[0], "-o", "out", *patterns, quick=True).code == 0
    assert SavedCrawl.read(tmp_path / "out").settings["crawl.include"] == [r"/$", r"\.[a-z]{1,5}$"]
    stored = pages(tmp_path / "out")
    assert web.seeds[0] in stored
    assert len(stored) > 2
    assert not [url for url in stored if url.endswith(".html") and url[-6] in "01234"]


# -- what sites see -----------------------------------------------------------------------------------


def test_crawl_tells_sites_who_answers_for_it(gcs: Run, web: FakeWebProcess) -> None:
    assert gcs("crawl", web.seeds[0], "-o", "out", "--contact", "me@example.org", quick=True).code == 0
    assert web.log.header_values("user-agent") == {f"gcs/{__version__} (+me@example.org)"}


def test_crawl_sends_the_user_agent_that_it_is_told(gcs: Run, web: FakeWebProcess) -> None:
    flags = ("--set", "fetch.user_agent=Mine/1.0 (https://example.org/bot)")
    assert gcs("crawl", web.seeds[0], "-o", "out", *flags, quick=True).code == 0
    assert web.log.header_values("user-agent") == {"Mine/1.0 (https://example.org/bot)"}


@pytest.mark.parametrize("seed", ["https://example.org/", "example.org", "8.8.8.8", "http://[2606:4700::1111]/"])
def test_crawl_of_public_sites_needs_a_contact(call: Run, seed: str, tmp_path: Path) -> None:
    done = call("crawl", "127.0.0.1:9", seed, "-o", "out")
    assert done.code == 2
    assert "give --contact you@example.org" in done.err
    assert not (tmp_path / "out").exists()


def test_seeds_come_from_files_too(gcs: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    """Comments, blank lines, a byte order mark, Windows line ends and repetition are all fine."""
    homes = [site.origin for site in web.web.sites]
    (tmp_path / "seeds.txt").write_bytes(
        f"\ufeff# two hosts\r\n\r\n{homes[0]}\r\n{homes[1]}/\r\n{homes[0]}/\r\n".encode()
    )
    done = gcs("crawl", "--seeds", "seeds.txt", "-o", "out", quick=True)
    assert done.code == 0
    assert SavedCrawl.read(tmp_path / "out").seeds == tuple(f"{home}/" for home in homes)
    assert pages(tmp_path / "out") == sorted(survey(web.web, [f"{home}/" for home in homes]).pages)
    piped = gcs("crawl", "--seeds", "-", "-o", "piped", quick=True, stdin=f"{homes[0]}/\n")
    assert piped.code == 0
    assert SavedCrawl.read(tmp_path / "piped").seeds == (f"{homes[0]}/",)


# -- what a directory remembers -----------------------------------------------------------------------


def test_crawl_goes_on_as_it_was_told_before(gcs: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    first = ("--contact", "me@example.org", "--exclude", "/nothing/", "--max-pages", "5")
    assert gcs("crawl", web.seeds[0], "-o", "out", *first, quick=True).code == 3
    web.reset()
    assert gcs("crawl", "-o", "out", "--exclude", "/nowhere/").code == 0
    assert web.log.header_values("user-agent") == {f"gcs/{__version__} (+me@example.org)"}
    held = SavedCrawl.read(tmp_path / "out").settings
    assert held["crawl.exclude"] == ["/nowhere/"]
    assert held["fetch.allow_private"] is True
    assert "crawl.max_pages" not in held


def test_memory_that_is_damaged_is_an_error(call: Run, tmp_path: Path) -> None:
    (tmp_path / "out" / "state").mkdir(parents=True)
    (tmp_path / "out" / "state" / "settings.json").write_text("{")
    done = call("crawl", "127.0.0.1:9", "-o", "out")
    assert done.code == 1
    assert done.err == "gcs: out/state: its seeds or settings are damaged; start a new directory\n"


def test_next_asks_again_and_counts_anew(gcs: Run, tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=40, validators=True, changed_share=0.2)) as web:
        assert gcs("crawl", web.seeds[0], "-o", "out", quick=True).code == 0
        web.set_session(2)
        web.reset()
        done = gcs("crawl", "--next", "-o", "out", "--json")
        assert (done.code, done.err) == (0, "")
        report = json.loads(done.out)
        statuses = web.log.statuses
        assert report["pages"] == report["unique"] == statuses[200] > 0
        assert report["revisits"] == statuses[304] > 0
        assert report["pages"] + report["revisits"] == 40
        assert (report["overlap"], report["queued"], report["explored_fraction"]) == (0.0, 0, 1.0)
        again = json.loads(gcs("crawl", "-o", "out", "--json").out)
        assert (again["pages"], again["revisits"]) == (report["pages"], report["revisits"]), "it is done once"
        web.reset()
        nothing_new = gcs("crawl", "--next", "-o", "out", "--json")
        assert nothing_new.code == 0
        assert (json.loads(nothing_new.out)["pages"], json.loads(nothing_new.out)["revisits"]) == (0, 40)
        assert set(web.log.statuses) == {304}
