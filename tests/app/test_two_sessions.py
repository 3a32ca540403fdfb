"""A crawl of two sessions, as other tools see it: pywb, warcio, FastWARC, warcio.js and py-wacz agree, and every page
replays as it was, byte for byte.
"""

import asyncio
import gzip
import hashlib
import http.client
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from warcio.archiveiterator import ArchiveIterator

from gcs.app import assembly
from gcs.core.page.values import PageRecord
from gcs.ports.records import reading
from gcs.ports.records.wacz import write_wacz
from gcs.roles.gatherer import GathererState
from gcs.settings import load
from tests import judges
from tests.browsing import chromium
from tests.ports.records.replay import collect, pywb_program, serving
from tests.roles.gatherer.strange_site import html, strange_site

QUICK = {"fetch.allow_private": True, "politeness.delay_s": 0.0, "summary.depth": "links", "frontier.fsync": False}


def confirmed(page: Any) -> Any:
    """A page with a validator that answers 304 to who has it."""
    status, headers, body = page

    def answer(asked: dict[str, str]) -> Any:
        known = asked.get("if-none-match") == '"1"'
        return (304, {"ETag": '"1"', "X-Session": "2"}, b"") if known else (status, headers | {"ETag": '"1"'}, body)

    return answer


class Told:
    """What the site said, by session: path → body."""

    def __init__(self, directory: Path, origin: str) -> None:
        self.directory, self.origin = directory, origin
        self.pages: list[dict[str, bytes]] = []


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return asyncio.run(_crawl(tmp_path_factory.mktemp("crawl")))


def records(crawl: Told, session: int) -> list[PageRecord]:
    return [record for record in reading.read_records(crawl.directory) if record.session == session]


async def _crawl(directory: Path) -> Told:
    same, plain, before, after = html("/plain", "/changed", "/zipped"), html(), html("/old"), html("/new")
    packed = html(head="<meta name=packed>", Content_Encoding="gzip")
    answers = {"/": confirmed(same), "/plain": plain, "/changed": before, "/old": html(head="old"), "/new": html()}
    answers["/zipped"] = (*packed[:2], gzip.compress(packed[2], mtime=0))
    async with strange_site(answers) as site:
        told = Told(directory, site.origin)
        for session in (1, 2):
            settings = load(None, {}, QUICK)
            gatherer = assembly.gatherer(directory, "g0", settings, [f"{site.origin}/"])
            assert await gatherer.run([f"{site.origin}/"], session) is GathererState.DONE
            told.pages.append({"/": same[2], "/plain": plain[2], "/changed": (before, after)[session - 1][2]})
            told.pages[-1]["/zipped"] = packed[2]
            site.answers["/changed"] = after
            await asyncio.sleep(1.1)  # indexes count whole seconds: two captures within one cannot be told apart
    return told


def test_second_session_holds_a_304_an_unchanged_and_a_changed_page(crawl: Told) -> None:
    found = {r.url.removeprefix(crawl.origin): r for r in records(crawl, 2)}
    assert (found["/"].status, found["/"].change) == (304, "same")
    assert (found["/plain"].status, found["/plain"].change) == (200, "same")
    assert found["/changed"].change == "changed"


@pytest.mark.filterwarnings("ignore:Use the new Reader:DeprecationWarning")
def test_warcio_and_fastwarc_find_every_record_sound(crawl: Told) -> None:
    from fastwarc.warc import ArchiveIterator as FastIterator  # warns of its own parts when it is loaded

    by_warcio, by_fastwarc = [], []
    for _, file in reading.warc_files(crawl.directory):
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content_stream().read()
            by_warcio.append((record.rec_type, record.rec_headers["WARC-Record-ID"]))
        file.seek(0)
        for record in FastIterator(file, parse_http=False):
            assert record.verify_block_digest()
            by_fastwarc.append((record.headers["WARC-Type"], record.record_id))
    assert by_warcio == by_fastwarc
    assert [kind for kind, _ in by_warcio].count("revisit") == 4  # a 304, and three payloads that are here already


class Capture(NamedTuple):
    """What a tool reads in a record of an answer; a revisit names the record that has its payload."""

    kind: str
    url: str
    date: str
    #: 0 where a revisit has no head of its own: the server has only confirmed the copy
    status: int
    original_url: str
    original_date: str
    #: SHA-256 of the payload, without codings
    payload: str


def by_warcio(path: Path) -> list[Capture]:
    with path.open("rb") as file:
        return [
            Capture(
                record.rec_type,
                record.rec_headers["WARC-Target-URI"],
                record.rec_headers["WARC-Date"],
                int(record.http_headers.get_statuscode()) if record.http_headers else 0,
                record.rec_headers.get_header("WARC-Refers-To-Target-URI", ""),
                record.rec_headers.get_header("WARC-Refers-To-Date", ""),
                hashlib.sha256(record.content_stream().read()).hexdigest(),
            )
            for record in ArchiveIterator(file)
            if record.rec_type in ("response", "revisit")
        ]


def by_fastwarc(path: Path) -> list[Capture]:
    from fastwarc.warc import ArchiveIterator as FastIterator  # warns of its own parts when it is loaded
    from fastwarc.warc import WarcRecordType

    kinds = WarcRecordType.response | WarcRecordType.revisit
    with path.open("rb") as file:
        found = []
        for record in FastIterator(file, record_types=kinds, parse_http=True):
            body, said = record.reader.read(), record.headers
            head = record.http_headers
            if head is not None and head.get("Content-Encoding") == "gzip" and body:
                body = gzip.decompress(body)
            found.append(
                Capture(
                    said["WARC-Type"],
                    said["WARC-Target-URI"],
                    said["WARC-Date"],
                    (head.status_code or 0) if head is not None else 0,
                    said.get("WARC-Refers-To-Target-URI", ""),
                    said.get("WARC-Refers-To-Date", ""),
                    hashlib.sha256(body).hexdigest(),
                )
            )
    return found


#: the same by warcio.js
BY_WARCIO_JS = """
import { createReadStream } from "fs";
import { createHash } from "crypto";
import { WARCParser } from "warcio";
const found = [];
for await (const record of new WARCParser(createReadStream(question))) {
  if (record.warcType !== "response" && record.warcType !== "revisit") continue;
  const header = (name) => record.warcHeader(name) || "";
  const payload = createHash("sha256").update(await record.readFully(true)).digest("hex");
  found.push([record.warcType, record.warcTargetURI, record.warcDate, record.httpHeaders?.statusCode ?? 0,
    header("WARC-Refers-To-Target-URI"), header("WARC-Refers-To-Date"), payload]);
}
console.log(JSON.stringify(found));
"""


def by_warcio_js(path: Path) -> list[Capture]:
    return [Capture(*each) for each in judges.ask("warcio", BY_WARCIO_JS, str(path))]


@pytest.mark.filterwarnings("ignore:Use the new Reader:DeprecationWarning")
@pytest.mark.parametrize("read", [by_warcio, by_fastwarc, by_warcio_js])
def test_each_tool_finds_every_page_of_each_session_byte_for_byte(crawl: Told, read: Any) -> None:
    captures = [capture for path in sorted((crawl.directory / "warc").iterdir()) for capture in read(path)]
    held = {(capture.url, capture.date): capture for capture in captures if capture.kind == "response"}
    for session in (1, 2):
        asked = {r.url: r.fetched_at for r in records(crawl, session)}
        for path, body in crawl.pages[session - 1].items():
            url = crawl.origin + path
            at = datetime.fromtimestamp(asked[url], UTC)
            [capture] = [c for c in captures if c.url == url and datetime.fromisoformat(c.date) == at]
            if capture.kind == "revisit":
                capture = held[capture.original_url, capture.original_date]
            assert (capture.status, capture.payload) == (200, hashlib.sha256(body).hexdigest()), (session, path)
    everything = [capture for path in sorted((crawl.directory / "warc").iterdir()) for capture in by_warcio(path)]
    assert [capture[:6] for capture in captures] == [capture[:6] for capture in everything]


@pytest.fixture(scope="module")
def wayback(crawl: Told, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a pywb with two collections: one by our index, one by its own."""
    root = tmp_path_factory.mktemp("pywb")
    collect(root, "ours", crawl.directory)
    own = collect(root, "theirs", crawl.directory)
    command = [pywb_program("cdx-indexer"), "-j", *(own / "archive").iterdir()]
    found = subprocess.run(command, check=True, capture_output=True).stdout.splitlines(keepends=True)
    (own / "indexes" / "index.cdxj").write_bytes(b"".join(sorted(found)))
    with serving(root) as port:
        yield port


@pytest.mark.parametrize("collection", ["ours", "theirs"])
@pytest.mark.parametrize("session", [1, 2])
def test_pywb_replays_each_session_as_it_was(crawl: Told, wayback: int, collection: str, session: int) -> None:
    asked = {r.url.removeprefix(crawl.origin): r.fetched_at for r in records(crawl, session)}
    for path, body in crawl.pages[session - 1].items():
        at = datetime.fromtimestamp(asked[path], UTC).strftime("%Y%m%d%H%M%S")
        connection = http.client.HTTPConnection("127.0.0.1", wayback, timeout=30)
        connection.request("GET", f"/{collection}/{at}id_/{crawl.origin}{path}")
        answer = connection.getresponse()
        assert (path, answer.status, answer.read()) == (path, 200, body)
        connection.close()


# -- as one file


@pytest.fixture(scope="module")
def wacz(crawl: Told) -> Path:
    path = crawl.directory / "crawl.wacz"
    with path.open("wb") as file:
        assert write_wacz(str(crawl.directory), file, "gcs/test", "two sessions") == 10  # a 304 is no page of its own
    return path


def test_wacz_holds_what_its_package_says(crawl: Told, wacz: Path) -> None:
    with zipfile.ZipFile(wacz) as file:
        package = json.loads(file.read("datapackage.json"))
        digest = json.loads(file.read("datapackage-digest.json"))
        assert digest["hash"] == f"sha256:{hashlib.sha256(file.read('datapackage.json')).hexdigest()}"
        for resource in package["resources"]:
            data = file.read(resource["path"])
            assert (resource["bytes"], resource["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
        listed = {resource["path"] for resource in package["resources"]}
        assert listed | {"datapackage.json", "datapackage-digest.json"} == set(file.namelist())
        archived = {Path(path).name for path in listed if path.startswith("archive/")}
        assert archived == {path.name for path in (crawl.directory / "warc").iterdir()}
        assert {file.getinfo(f"archive/{name}").compress_type for name in archived} == {zipfile.ZIP_STORED}
        blocks = file.read("indexes/index.idx").splitlines()[1:]
        index = file.read("indexes/index.cdx.gz")
        for block in blocks:
            where = json.loads(block.split(b" ", 2)[2])
            lines = gzip.decompress(index[where["offset"] :][: where["length"]])
            assert lines.startswith(b" ".join(block.split(b" ", 2)[:2]))
        assert package["mainPageURL"] == f"{crawl.origin}/"


def test_wacz_of_a_growing_crawl_holds_whole_records(crawl: Told, tmp_path: Path) -> None:
    shutil.copytree(crawl.directory, tmp_path / "crawl")
    [warc] = (tmp_path / "crawl" / "warc").iterdir()
    warc.write_bytes(warc.read_bytes()[:-3])
    with (tmp_path / "x.wacz").open("wb") as file:
        write_wacz(str(tmp_path / "crawl"), file, "gcs/test", "growing")
    with zipfile.ZipFile(tmp_path / "x.wacz") as file:
        archived = file.read(f"archive/{warc.name}")
    assert warc.read_bytes().startswith(archived) and len(archived) < warc.stat().st_size
    assert gzip.decompress(archived)


def test_py_wacz_finds_it_valid(wacz: Path) -> None:
    program = Path(__file__).parents[2] / ".venv" / "wacz" / "bin" / "wacz"
    if not program.exists():
        pytest.skip(f"py-wacz is not installed at {program} (scripts/test does that)")
    done = subprocess.run([program, "validate", "-f", wacz], capture_output=True, text=True)
    assert "is valid" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("session", [1, 2])
async def test_replayweb_page_shows_each_session_in_chromium(crawl: Told, wacz: Path, session: int) -> None:
    executable = chromium()
    viewer = Path(__file__).parents[2] / ".venv" / "replaywebpage" / "package"
    if not viewer.exists():
        pytest.skip(f"ReplayWeb.page is not installed at {viewer} (scripts/test does that)")
    from aiohttp import web
    from playwright.async_api import async_playwright

    asked = {r.url.removeprefix(crawl.origin): r.fetched_at for r in records(crawl, session)}
    app = web.Application()

    async def page(request: web.Request) -> web.Response:
        path = request.query["path"]
        at = datetime.fromtimestamp(asked[path], UTC).strftime("%Y%m%d%H%M%S")
        shown = f'<replay-web-page source="/crawl.wacz" ts="{at}" url="{crawl.origin}{path}" embed="replayonly">'
        return web.Response(text=f'<script src="/viewer/ui.js"></script>{shown}', content_type="text/html")

    async def worker(_: web.Request) -> web.FileResponse:
        return web.FileResponse(viewer / "sw.js", headers={"Content-Type": "text/javascript"})

    async def archive(_: web.Request) -> web.FileResponse:
        return web.FileResponse(wacz)

    app.router.add_get("/", page)
    app.router.add_get("/replay/sw.js", worker)
    app.router.add_get("/crawl.wacz", archive)
    app.router.add_static("/viewer", viewer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for path, body in crawl.pages[session - 1].items():
            tab = await browser.new_page()
            shown = ""
            for look in range(900):
                if look % 300 == 0:  # again, where the viewer's service worker was not ready
                    await tab.goto(f"http://127.0.0.1:{port}/?path={path}")
                frames = [frame for frame in tab.frames if f"mp_/{crawl.origin}{path}" in frame.url]
                if frames and (shown := await frames[-1].evaluate("document.body ? document.body.innerText : ''")):
                    break
                await asyncio.sleep(0.1)
            words = re.sub(r"<[^>]*>", "", body.decode().partition("<body>")[2])
            assert shown.split() == words.split(), (path, [frame.url for frame in tab.frames])
            await tab.close()
        await browser.close()
    await runner.cleanup()
