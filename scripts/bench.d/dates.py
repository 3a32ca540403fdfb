"""What the dates of a site are worth: how much of what has changed a session finds that asks for a part of the pages.

One site with a sitemap. Between two sessions some of its pages change, always others. A session asks for a tenth of the
pages. Its sitemap has no dates, true dates, the date of today for every page, or dates at random. `found` is the share
of the changed pages that sessions 2 to 6 asked for after the sitemap; `belief` how far the site's dates are believed
at the end (claims of change, claims of rest).

    scripts/bench dates [--pages 2000] [--json]
"""

import argparse
import asyncio
import json
import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web

from gcs.app import assembly
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.roles.gatherer.record.dated_pages import TrustBook
from gcs.settings import load

#: how the sitemap dates the pages; what changes between two sessions, and what a session may ask for
KINDS, CHANGED, ASKED, SESSIONS = ("none", "true", "today", "random"), 0.05, 0.1, 6


class DatedSite:
    """A site whose pages change when they are told to."""

    def __init__(self, pages: int, kind: str) -> None:
        self.kind, self.chance = kind, random.Random(1)
        self.versions = [0] * pages
        self.changed_at = [datetime(2001, 1, 1, tzinfo=UTC)] * pages
        self.asked: set[int] = set()
        self.origin = ""

    def change(self) -> set[int]:
        """Change some pages; returns them."""
        changed = set(self.chance.sample(range(len(self.versions)), round(CHANGED * len(self.versions))))
        for number in changed:
            self.versions[number] += 1
            self.changed_at[number] = datetime.now(UTC)
        self.asked.clear()
        return changed

    async def answer(self, request: web.Request) -> web.Response:
        if request.path == "/robots.txt":
            return web.Response(text=f"Sitemap: {self.origin}/sitemap.xml")
        if request.path == "/sitemap.xml":
            return web.Response(text=self._sitemap(), content_type="text/xml")
        if request.path == "/":
            return web.Response(text="<p>home", content_type="text/html")
        number = int(request.path.strip("/"))
        self.asked.add(number)
        return web.Response(text=f"<p>page {number}, version {self.versions[number]}", content_type="text/html")

    def _sitemap(self) -> str:
        entries = (f"<url><loc>{self.origin}/{n}</loc>{self._date(n)}</url>" for n in range(len(self.versions)))
        return f"<urlset>{''.join(entries)}</urlset>"

    def _date(self, number: int) -> str:
        today = datetime.now(UTC)
        match self.kind:
            case "none":
                return ""
            case "true":
                at = self.changed_at[number]
            case "today":
                at = today
            case _:
                at = today - timedelta(days=1_000) * self.chance.choice((0, 1))
        return f"<lastmod>{at:%Y-%m-%dT%H:%M:%SZ}</lastmod>"


async def cell(kind: str, pages: int) -> dict[str, object]:
    site = DatedSite(pages, kind)
    app = web.Application()
    app.router.add_get("/{path:.*}", site.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
    found = of = 0
    with tempfile.TemporaryDirectory(prefix="gcs-bench-dates-") as home:
        for session in range(1, SESSIONS + 1):
            changed = site.change() if session > 1 else set()
            flags = {
                "fetch.allow_private": True,
                "politeness.delay_s": 0.0,
                "frontier.fsync": False,
                "store.warc": False,
            }
            flags |= {"politeness.host_connections": 2, "summary.depth": "links"}
            flags["crawl.max_pages"] = round(ASKED * pages) if session > 1 else 0
            gatherer = assembly.gatherer(Path(home), "g0", load(None, {}, flags), [f"{site.origin}/"])
            await gatherer.run([f"{site.origin}/"], session)
            found, of = found + len(changed & site.asked), of + len(changed)
            await asyncio.sleep(1.1)  # dates are exact to the second
        frontier = Frontier(Path(home) / "state" / "g0" / "frontier", FrontierSettings())
        trust = TrustBook(frontier.note, frontier.set_note).of("127.0.0.1")
        frontier.close()
    await runner.cleanup()
    beliefs = [round(each.belief, 2) for each in (trust.listed_change, trust.listed_rest)]
    return {"dates": kind, "found": round(found / of, 2), "belief": beliefs}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=2_000, help="pages of the site [%(default)s]")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = []
    for kind in KINDS:
        rows.append(asyncio.run(cell(kind, asked.pages)))
        if not asked.json:
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if asked.json:
        print(json.dumps({"dates": rows}))


if __name__ == "__main__":
    main()
