"""The extension in a real Chromium: its page takes URLs from a real gateway, and crawls a web of several origins."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gcs.core.helpers.access import helper_name
from gcs.core.helpers.loan import Shift
from gcs.core.url.canonical import host_of_url
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.fetch.chromium import NAMES
from gcs.roles.gatherer.helpers import lending
from gcs.settings import load
from tests.roles.gatherer.helpers.test_spot_check import KEY, QUICK, TOKEN, Crawl, Put, facts

pytest.importorskip("playwright", reason="Playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
if not CHROMIUM:
    pytest.skip("no Chromium on PATH (apt-get install chromium)", allow_module_level=True)

EXTENSION = Path(__file__).parents[3] / "helpers" / "browser" / "extension"
#: a folder for screenshots that a person wants to look at
SHOTS = os.environ.get("SCREENSHOTS")
#: shifts with the days on which they begin (Sunday is 0, as in JavaScript), and moments of a week that goes round
SHIFTS = [
    ("22:00", "06:00", [1, 2, 3, 4, 5]),
    ("09:30", "17:00", [0, 6]),
    ("00:00", "00:00", [3]),
    ("12:00", "12:00", [0]),
]
MOMENTS = [datetime(2026, 10, 30, 5, 59) + timedelta(minutes=197 * step) for step in range(60)]
ON_DUTY = """async (asked) => {
    const { isOnDuty } = await import("./schedule.js");
    return asked.map(([from, to, days, now]) => isOnDuty({ shift: true, from, to, days }, new Date(now)));
}"""
#: settings that come late, as on a busy machine: what is typed before was lost
LATE = """(() => {
    const settings = globalThis.chrome?.storage?.local, get = settings?.get.bind(settings);
    if (get) settings.get = (...words) => new Promise((then) => setTimeout(() => then(get(...words)), 1000));
})()"""
#: an undeclared charset is the gatherer's to tell: a guess could look like a lie
TEXTS = [("<p>é".encode(), "text/html", "<p>é"), (b"<p>\xe9", "text/html; charset=latin1", "<p>é")]
TEXTS += [(b"<meta charset=latin1><p>\xe9", "text/html", "<meta charset=latin1><p>é"), (b"<p>\xe9", "text/html", None)]
DECODE = """async (asked) => {
    const { decode } = await import("./reader.js");
    return asked.map(([bytes, type]) => decode(new Uint8Array(bytes), type));
}"""


def granted(folder: Path) -> Path:
    """The extension as it is when its user has said yes to network access: no test can press that button."""
    shutil.copytree(EXTENSION, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["host_permissions"] = manifest.pop("optional_host_permissions")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def is_on(from_: str, to: str, days: list[int], now: datetime) -> bool:
    """What `gcs helper --shift` says of the same hours."""
    begin, end = (60 * int(time[:2]) + int(time[3:]) for time in (from_, to))
    return Shift(begin, end, frozenset((day - 1) % 7 for day in days)).ends_at(now) is not None


class InBrowser(Crawl):
    """A crawl whose stranger is a browser."""

    async def _help(self, put: Put) -> None:
        from playwright.async_api import async_playwright

        folder = granted(self.directory / "extension")
        flags = [
            *("--headless=new", f"--disable-extensions-except={folder}", f"--load-extension={folder}", "--no-sandbox"),
            *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync", "--disable-component-update"),
            *("--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.*"),
        ]
        self.errors: list[str] = []
        async with async_playwright() as playwright:
            context = await playwright.chromium.launch_persistent_context(
                str(self.directory / "profile"),
                executable_path=CHROMIUM,
                headless=False,
                args=flags,
                ignore_default_args=["--disable-extensions"],
                viewport={"width": 1200, "height": 900},
            )
            worker = (
                context.service_workers[0] if context.service_workers else await context.wait_for_event("serviceworker")
            )
            await context.add_init_script(LATE)
            page = await context.new_page()
            page.on("pageerror", lambda error: self.errors.append(str(error)))
            await page.goto(f"chrome-extension://{worker.url.split('/')[2]}/page.html")
            await page.fill("[name=gateway]", self.url)
            await page.fill("[name=token]", TOKEN)
            await page.check("[name=allowPrivate]")
            await self._shoot(page, "resting")
            await self._off_duty(page)
            await self._until(page, "#state", lambda text: text == "helping")
            await self._until(page, "#pages", lambda text: int(text) > 5)
            self.seen = [await page.inner_text("#who"), await page.inner_text("#recent")]
            await self._shoot(page, "helping")
            await self._until(page, "#state", lambda text: text == "stopped")
            self.farewell = await page.inner_text("#notice.good")
            await page.emulate_media(color_scheme="dark")
            await self._shoot(page, "over-dark")
            await page.set_viewport_size({"width": 400, "height": 900})
            await self._shoot(page, "narrow")
            await context.close()

    async def _off_duty(self, page: Any) -> None:
        """Started outside its hours it waits and fetches nothing; with its hours lifted it begins."""
        asked = [[from_, to, days, moment.isoformat()] for (from_, to, days), moment in product(SHIFTS, MOMENTS)]
        self.on_duty = await page.evaluate(ON_DUTY, asked)
        self.decoded = await page.evaluate(DECODE, [[list(content), kind] for content, kind, _ in TEXTS])
        later = [(datetime.now() + timedelta(hours=hours)).strftime("%H:%M") for hours in (2, 3)]
        await page.check("[name=shift]")
        await page.fill("[name=from]", later[0])
        await page.fill("[name=to]", later[1])
        await page.click("#toggle")
        await self._until(page, "#state", lambda text: text == f"off duty until {later[0]}")
        assert await page.inner_text("#pages") == "0"
        await page.uncheck("[name=shift]")

    async def _until(self, page: Any, selector: str, condition: Callable[[str], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition(await page.inner_text(selector)):
                await asyncio.sleep(0.05)

    async def _shoot(self, page: Any, name: str) -> None:
        if SHOTS:
            await page.screenshot(path=f"{SHOTS}/extension-{name}.png", full_page=True)


async def test_extension_crawls_pages_across_origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stores what the gatherer alone would have stored, and is believed."""
    monkeypatch.setattr(lending, "LOOK_S", 0.02)
    settings = load(None, {}, QUICK | {"fetch.connections": 1, "helpers.lease_s": 10.0})
    spec = FakeWebSpec(hosts=4, pages=60, slow=False, traps=False, errors=False, latency_s=0.1)
    with FakeWebProcess(spec) as fakeweb:
        alone = await Crawl(tmp_path / "alone", fakeweb, settings).run(None)
        fakeweb.reset()
        crawl = InBrowser(tmp_path / "helped", fakeweb, settings)
        async with asyncio.timeout(120):
            records = await crawl.run(lambda *_: asyncio.sleep(0))
        assert set(records) >= survey(fakeweb.web).pages
    brought = [record for record in records.values() if record.helper == helper_name(KEY)]
    assert len({host_of_url(record.url) for record in brought}) >= 2
    assert sum(bool(record.text) for record in brought) > len(brought) / 2
    assert not await crawl.cut_off()
    assert not crawl.errors
    assert helper_name(KEY) in crawl.seen[0] and "links" in crawl.seen[1]
    assert "over" in crawl.farewell
    assert crawl.decoded == [text for _, _, text in TEXTS]
    assert crawl.on_duty == [is_on(*shift, moment) for shift, moment in product(SHIFTS, MOMENTS)]
    for url, fact in facts(records).items():  # what it read is what we read
        names = ["status", "title", "final_url", "noindex"]
        if fact["language"]:  # where a page does not say, the gatherer asks its text; the extension does not
            names.append("language")
        ours = facts(alone)[url]
        assert [fact[name] for name in names] == [ours[name] for name in names], url
        assert set(fact["outlinks"]) == set(ours["outlinks"]), url
