"""Crawls with --requisites: what pages need is archived, from any host, and a replay looks like the page."""

import asyncio
import io
import struct
import zlib
from collections.abc import Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gcs.app import assembly
from gcs.core.page.values import PageRecord
from gcs.ports.records.reading import read_records
from gcs.roles.gatherer import Gatherer, GathererState
from gcs.settings import load
from tests.browsing import browsing
from tests.ports.records.replay import collect, serving
from tests.roles.gatherer.strange_site import Answer, StrangeSite, html, strange_site

QUICK = {"fetch.allow_private": True, "politeness.delay_s": 0.0, "frontier.fsync": False, "crawl.requisites": True}
SIZE = {"width": 800, "height": 500}
CSS, SCRIPT = {"Content-Type": "text/css"}, {"Content-Type": "text/javascript"}


def png(red: int, green: int, blue: int, side: int = 40) -> Answer:
    """A square of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + bytes((red, green, blue)) * side) * side)
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return 200, {"Content-Type": "image/png"}, body


def confirmed(answer: Answer) -> Any:
    """The same, with a validator."""
    status, headers, body = answer

    def answered(asked: Mapping[str, str]) -> Answer:
        return (304, {}, b"") if asked.get("if-none-match") == '"1"' else (status, {**headers, "ETag": '"1"'}, body)

    return answered


@asynccontextmanager
async def shop():
    """A site whose pages need much, and the host of its style sheets and images."""
    async with strange_site({}, host="127.0.0.2") as cdn, strange_site({}) as site:
        cdn.answers |= {
            "/main.css": confirmed((200, CSS, b"@import 'more.css'; body { margin: 0; background: url(/back.png) }")),
            "/more.css": (200, CSS, b"h1 { color: rgb(200, 0, 0); font-size: 60px } #js { padding: 30px }"),
            "/back.png": png(220, 240, 255),
            "/moved.png": (302, {"Location": "/logo.png"}, b""),
            "/logo.png": png(0, 120, 60, 90),
            "/frame.html": html("/elsewhere", head="<style>body { background: url(/in-frame.png) }</style>"),
            "/in-frame.png": png(255, 200, 0),
        }
        head = f"<link rel=stylesheet href='{cdn.origin}/main.css'><script src=/write.js defer></script>"
        body = f"<h1>Shop</h1><div id=js></div><img src='{cdn.origin}/moved.png'><img src=/gone.png alt=''>"
        frame = (
            f"<iframe src='{cdn.origin}/frame.html'></iframe><a href='/two'>two</a><a href='{cdn.origin}/page'>x</a>"
        )
        site.answers |= {
            "/": (200, {"Content-Type": "text/html"}, f"<!doctype html><head>{head}</head>{body}{frame}".encode()),
            "/write.js": (200, SCRIPT, b"document.getElementById('js').textContent = 'Written by a script.'"),
            "/two": html(head=f"<link rel=stylesheet href='{cdn.origin}/main.css'><link rel=icon href=/icon.png>"),
            "/icon.png": png(1, 2, 3),
        }
        yield site, cdn


async def crawl(directory: Path, site: StrangeSite, session: int = 1, **told: Any) -> Gatherer:
    settings = load(None, {}, QUICK | {key.replace("__", "."): value for key, value in told.items()})
    gatherer = assembly.gatherer(directory, "g0", settings, [f"{site.origin}/"])
    expected = GathererState.LIMIT if "crawl__max_pages" in told else GathererState.DONE
    async with asyncio.timeout(60):
        assert await gatherer.run([f"{site.origin}/"], session) is expected
    return gatherer


def stored(directory: Path, session: int = 1) -> dict[str, PageRecord]:
    """By path; each URL has one record."""
    records = [record for record in read_records(directory) if record.session == session]
    found = {record.url.split("/", 3)[3]: record for record in records}
    assert len(found) == len(records)
    return found


async def test_what_pages_need_is_fetched_from_any_host_and_is_no_page(tmp_path: Path) -> None:
    async with shop() as (site, cdn):
        report = (await crawl(tmp_path, site)).final_share.counters
        records = stored(tmp_path)
    needed = {"main.css", "more.css", "back.png", "moved.png", "logo.png", "frame.html", "in-frame.png"}
    needed |= {"write.js", "icon.png", "gone.png"}
    assert records.keys() == needed | {"", "two"}
    assert "/page" not in cdn.hits and "/elsewhere" not in cdn.hits  # links are not followed there
    assert {path for path, record in records.items() if record.is_page} == {"", "two"}
    assert {path: records[path].requisite for path in needed} == {
        **dict.fromkeys(needed, 1),
        "more.css": 2,
        "back.png": 2,
        "in-frame.png": 2,
    }
    assert records["more.css"].parent == f"{cdn.origin}/main.css" and records["more.css"].depth == 0
    assert records["gone.png"].failure == "http-404" and records["main.css"].warc_file
    assert (report.pages, report.requisites, report.redirects, report.failed) == (2, 8, 1, 1)


async def test_without_the_setting_nothing_else_is_fetched(tmp_path: Path) -> None:
    async with shop() as (site, cdn):
        await crawl(tmp_path, site, crawl__requisites=False)
        assert not cdn.hits and stored(tmp_path).keys() == {"", "two"}


async def test_the_limit_counts_pages_and_leaves_none_without_what_it_needs(tmp_path: Path) -> None:
    async with shop() as (site, cdn):
        gatherer = await crawl(tmp_path, site, crawl__max_pages=1)
        assert stored(tmp_path).keys() >= {"", "main.css", "more.css", "back.png", "logo.png", "write.js"}
        assert gatherer.final_share.counters.pages == 1 and "/two" not in site.hits
        await crawl(tmp_path, site)
        assert stored(tmp_path).keys() >= {"two", "icon.png"}
        assert cdn.hits["/main.css"] == 1


async def test_robots_txt_and_exclude_hold_for_what_pages_need(tmp_path: Path) -> None:
    async with shop() as (site, cdn):
        cdn.answers["/robots.txt"] = (200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /main.css")
        await crawl(tmp_path, site, crawl__exclude=["logo"], crawl__include=["/two"])
        assert cdn.hits["/robots.txt"] and not cdn.hits["/main.css"] and not cdn.hits["/logo.png"]
        assert cdn.hits["/frame.html"] == 1  # --include says which pages are wanted


async def test_the_next_session_asks_for_them_with_validators(tmp_path: Path) -> None:
    async with shop() as (site, cdn):
        await crawl(tmp_path, site)
        report = (await crawl(tmp_path, site, session=2)).final_share.counters
        assert cdn.asked["/main.css"]["if-none-match"] == '"1"'
        again = stored(tmp_path, 2)
    assert again["main.css"].status == 304 and again["main.css"].requisite == 1 and not again["main.css"].is_page
    assert again["back.png"].requisite == 2
    assert (report.same, report.new, report.changed, report.revisits) == (2, 0, 0, 0)


def look(browser: Any, url: str) -> bytes:
    """What is seen of the page, also where it is shown in a frame of pywb, below a banner."""
    page = browser.new_page(viewport=SIZE)
    page.goto(url, wait_until="networkidle")
    clip = {"x": 0, "y": 0, **SIZE}
    if "mp_" in url:
        page.wait_for_selector("iframe#replay_iframe")
        box = page.locator("iframe#replay_iframe").bounding_box()
        page.set_viewport_size({side: 2 * SIZE[side] - round(box[side]) for side in SIZE})
        page.wait_for_load_state("networkidle")
        clip = page.locator("iframe#replay_iframe").bounding_box()
    page.frames["mp_" in url].wait_for_selector("text=Shop")
    shot: bytes = page.screenshot(clip=clip)
    return shot


async def _archive(directory: Path, told: dict[str, Any]) -> tuple[str, bytes]:
    async with shop() as (site, _):
        await crawl(directory, site, **told)

        def live() -> bytes:
            with browsing() as browser:
                return look(browser, f"{site.origin}/")

        return site.origin, await asyncio.to_thread(live)


@pytest.mark.parametrize("requisites", [True, False])
def test_a_replay_looks_like_the_page(tmp_path: Path, requisites: bool) -> None:
    """By pywb in Chromium, after the site has gone: pixel by pixel. Without the setting, it does not."""
    image = pytest.importorskip("PIL.Image")
    told = {"crawl__requisites": requisites}
    origin, live = asyncio.run(_archive(tmp_path / "crawl", told))
    collect(tmp_path / "pywb", "shop", tmp_path / "crawl")
    with serving(tmp_path / "pywb") as port, browsing() as browser:
        replayed = look(browser, f"http://127.0.0.1:{port}/shop/2099mp_/{origin}/")
    one, other = (image.open(io.BytesIO(shot)).convert("RGB") for shot in (live, replayed))
    size = (SIZE["width"], min(one.height, other.height))  # the banner may end within a pixel
    assert size[1] >= SIZE["height"] - 1
    differs = pytest.importorskip("PIL.ImageChops").difference(*(shot.crop((0, 0, *size)) for shot in (one, other)))
    assert (differs.getbbox() is None) is requisites
