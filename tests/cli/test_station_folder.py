"""`gcs station FOLDER` in a real browser: each page on a finished and on a running crawl, and a crawl from the form."""

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

import gcs as library
from gcs.testing import OPTIONS, serve
from tests.browsing import WIDTHS, browsing, judge, open_page

Start = Callable[..., "subprocess.Popen[str]"]
EVIL = "<img src=x onerror=alert(1)>"
HOME = (
    f'<html lang="en"><title>{EVIL.replace("<", "&lt;")}</title><script>document.title = "run"</script>'
    '<p>The text of the home page says enough.<a href="/a">the way to a</a><a href="/gone">gone</a>'
)
PAGES = {"/": HOME, "/a": "<title>A</title><p>The first words of a.", "/b": "<title>B</title>"}
#: views of a crawl, and what shows that they are there
VIEWS = {
    "overview": "#figures .value",
    "pages": "#found tbody tr",
    "hosts": "#hosts tbody tr",
    "host?host=127.0.0.1": "#host .facts",
    "settings": "#settings .facts",
    "log": "#log li",
    "downloads": "#downloads button",
}


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    """A web whose home page links to five hundred slow ones under /many/."""
    many = {f"/many/{at}": f'<title>{at}</title><a href="/many/{at + 1}">next</a>' for at in range(500)}
    with serve({**PAGES, **many}) as url:
        yield url


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a crawl of two sessions: in the second one, a page has changed."""
    folder = tmp_path_factory.mktemp("crawls")
    pages = dict(PAGES)
    with serve(pages) as url:
        for begins in (False, True):
            for _ in library.crawl(url, output=folder / "done", next=begins, **OPTIONS):
                pass
            pages["/a"] = "<title>A</title><p>The second words of a."
        (folder / "seed").write_text(url)
    return folder


class Desk:
    """A station of the folder, and ways to call it."""

    def __init__(self, start: Start, folder: Path | str, *options: object, **variables: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GCS_")}
        self.process = start("station", folder, "--listen", "127.0.0.1:0", *options, env=environment | variables)
        assert self.process.stderr
        said = next(filter(None, (re.match(r"station: (http://\S+)", line) for line in self.process.stderr)))
        self.link = said[1]
        self.url, _, self.token = self.link.partition("#token=")

    def call(self, path: str, body: object = None, token: str | None = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        request = urllib.request.Request(f"{self.url}api/{path}", data, headers)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def state(self, crawl: str) -> str:
        return next((row["state"] for row in self.call("crawls")[1]["crawls"] if row["id"] == crawl), "")

    def new(self, name: str, web: str, token: str | None = None, **more: object) -> tuple[int, Any]:
        wanted = {"seeds": [f"{web}many/0"], "name": name, "toml": "[fetch]\nallow_private = true", "delay_s": 1.0}
        return self.call("new", wanted | more, token)


def wait(condition: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("it never came true")


def test_each_page_is_good_on_a_desk_and_on_a_phone(start: Start, folder: Path, web: str, tmp_path: Path) -> None:
    """Of a finished crawl and of one that runs: it is there, as wide as the screen, and axe finds nothing serious."""
    desk = Desk(start, folder, "--at-once", 1)
    assert desk.new("live", web)[0] == 202
    wait(lambda: desk.state("live") == "running")
    assert desk.new("later", web)[1]["place"] == 1
    complaints: list[str] = []
    page_of = {"done": (folder / "seed").read_text(), "live": f"{web}many/0"}
    with browsing() as browser:
        page = open_page(browser, desk.link, complaints, viewport={"width": 1400, "height": 900})
        page.wait_for_selector("#crawl-list li:has-text('queued, 1.')")
        places = {"#/crawls": "#crawl-list li", "#/new": "#new-crawl", "#/audit": "#audit tbody tr"}
        for crawl, url in page_of.items():
            places |= {f"#/crawl/{crawl}/{view}": shows for view, shows in VIEWS.items()}
            places[f"#/crawl/{crawl}/page?url={quote(url, safe='')}"] = "#page .facts"
        for place, shows in places.items():
            page.goto(f"{desk.url}{place}")
            page.wait_for_selector(shows)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (place, width)
            assert judge(page) == [], place
        page.goto(f"{desk.url}#/crawl/live/overview")
        page.click("#pause")
        page.wait_for_selector("#state[data-state=paused]")
        page.click("#pause")
        page.wait_for_selector("#state[data-state=running]")
        page.click("#stop")
        page.click("#stop-send")
        page.wait_for_selector("#go-on:not([hidden])")
        wait(lambda: desk.state("later") == "running")  # there is room now
        desk.call("crawls/later/stop", {})
    assert not complaints
    did = [(entry["who"], entry["did"], entry["crawl"]) for entry in desk.call("audit")[1]["entries"]]
    assert ("operator", "pause", "live") in did and ("operator", "stop", "later") in did
    desk.process.terminate()
    assert desk.process.wait(30) == 0


def test_what_was_gathered_can_be_found_read_and_compared(start: Start, folder: Path) -> None:
    url = (folder / "seed").read_text()
    desk, complaints = Desk(start, folder), list[str]()
    with browsing() as browser:
        page = open_page(browser, f"{desk.link}", complaints, viewport={"width": 1400, "height": 900})
        page.wait_for_selector("#crawl-list li")
        page.goto(f"{desk.url}#/crawl/done/pages")
        page.wait_for_selector(f"#found tr:has-text('{EVIL}')")  # as text
        assert page.locator("#found img").count() == 0
        page.select_option("select[aria-label=What]", "failure")
        page.wait_for_selector("#found tbody tr:only-child .status:has-text('http-404')")
        page.reload()  # the filter is in the address
        page.wait_for_selector("#found tbody tr:only-child .status:has-text('http-404')")

        page.goto(f"{desk.url}#/crawl/done/page?url={quote(url + 'a', safe='')}")
        page.wait_for_selector(".prose:has-text('The second words of a')")
        page.click("#tab-links-in")
        page.wait_for_selector(f"#part .found-url:has-text('{url}')")
        page.click("#tab-versions")
        page.click("button:has-text('What changed')")
        page.wait_for_selector("#diff ins:has-text('second')")
        assert "first" in page.inner_text("#diff del")
        page.click("#tab-headers")
        page.wait_for_selector("#part dt:has-text('Content-Type')")

        page.goto(f"{desk.url}#/crawl/done/page?url={quote(url, safe='')}")
        page.wait_for_selector("#page h2")
        page.click("#tab-links")
        page.wait_for_selector(f"#part li:has-text('{url}a')")
        with page.context.expect_page() as opened:
            page.click("#open-archived")
        archived = opened.value
        archived.wait_for_url(re.compile("/ticket/"))
        archived.wait_for_selector("text=says enough")
        assert archived.title() == EVIL and archived.evaluate("origin") == "null"  # no script of it has run
        archived.close()
        with page.expect_download() as download:
            page.click("button:has-text('WARC record')")
        assert download.value.suggested_filename.endswith(".warc.gz")
        page.goto(f"{desk.url}#/crawl/done/downloads")
        for name in ("WACZ", "Pages as CSV"):
            with page.expect_download() as download:
                page.click(f"button[aria-label='Download {name}']")
            assert Path(download.value.path()).stat().st_size > 100
    assert [each for each in complaints if "sandbox" not in each] == []


def test_crawl_is_begun_from_the_form_and_runs_its_next_session(start: Start, folder: Path, web: str) -> None:
    desk, complaints = Desk(start, folder), list[str]()
    with browsing() as browser:
        page = open_page(browser, f"{desk.url}#token={desk.token}", complaints)
        page.click("#views a:has-text('New crawl')")
        page.fill("#new-seeds", "not a url")
        page.click("button:has-text('Check')")
        page.wait_for_selector("#new-error:has-text('not a url')")
        page.fill("#new-seeds", f"{web}a")
        page.fill("#new-name", "form")
        page.fill("#new-delay_s", "0")
        page.click("#new-crawl summary")
        page.fill("#new-toml", "[fetch]\nallow_private = true\n")
        page.click("button:has-text('Check')")
        page.wait_for_selector("#new-checked:has-text('fetch.allow_private')")
        page.click("#new-crawl button[type=submit]")
        page.wait_for_selector("#state[data-state=done]")
        page.click("#next")
        page.wait_for_selector("#subtitle:has-text('session 2')")
        page.wait_for_selector("#state[data-state=done]")
    assert [each for each in complaints if "400" not in each] == []
    assert (folder / "form" / "sessions" / "0002.json").exists()


def test_token_that_begins_crawls_commands_only_its_own(start: Start, folder: Path, web: str) -> None:
    ann, bob = "gcs_a-token-of-ann-that-is-long", "gcs_a-token-of-the-viewers-that-is-long"
    desk = Desk(start, folder, "--user-crawls", 1, GCS_STATION_CRAWL_TOKEN=ann, GCS_STATION_VIEW_TOKEN=bob)
    assert desk.new("viewers", web, bob)[0] == 403
    assert desk.new("anns", web, ann)[0] == 400  # a setting of operators
    assert desk.new("anns", web, ann, toml="")[0] == 202
    wait(lambda: desk.state("anns") in ("running", "done", "stopped"))
    again = desk.new("second", web, ann, toml="")
    assert again[0] in (202, 409), again
    assert desk.call("crawls/done/start", {}, ann)[0] == 403
    assert desk.call("crawls/done/start", {}, bob)[0] == 403
    assert desk.call("audit", token=ann)[0] == 403
    refused = [entry for entry in desk.call("audit")[1]["entries"] if entry["status"] == 403]
    assert refused and refused[0]["did"] == "start" and refused[0]["crawl"] == "done"
    for path in ("crawls/..%2F..%2Fetc/status", "crawls/.station/status", "crawls/nothing/urls"):
        assert desk.call(path)[0] == 404


def test_api_of_a_folder_holds_to_its_description(start: Start, folder: Path) -> None:
    """For good and for bad requests about a crawl that is there: no 5xx, no unknown answer."""
    desk = Desk(start, folder)
    schema = schemathesis.openapi.from_url(f"{desk.url}openapi.json")
    headers = {"Authorization": f"Bearer {desk.token}"}
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith("/events"):  # it does not end
            continue

        @hypothesis.settings(max_examples=4, deadline=None, database=None, derandomize=True)
        @hypothesis.given(case=operation.as_strategy() | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
        def fuzz(case: Any) -> None:
            if "crawl" in case.path_parameters:
                case.path_parameters["crawl"] = "done"
            response = case.call(base_url=desk.url.rstrip("/"), headers=headers)
            assert response.status_code < 500, (case, response.text)
            # whether a text is a URL, TOML or a time, and whether there is an index, no schema can say
            is_open = case.method == "POST" or "search" in case.operation.path
            case.validate_response(response, excluded_checks=[positive_data_acceptance] if is_open else [])

        fuzz()
