"""*Open archived* in a real browser: with --requisites a page looks as it did, and it can do nothing."""

import asyncio
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gcs.testing import serve
from tests.app.test_requisites import SIZE, crawl, png, shop
from tests.browsing import browsing

Start = Callable[..., Any]
#: what a hostile page would have of the network, or of the station
HOSTILE = """<title>hostile</title><img srcset="URL1"><link rel=stylesheet href=URL2>
<iframe srcdoc="<img src=URL3>"></iframe><style>b { background: u\\72l(URL4) }</style><b>text</b>
<object data=URL5></object><embed src=URL6><video src=URL7></video><meta http-equiv=refresh content="0; url=URL8">
<img srcset="/icon.svg"><link rel=stylesheet href=/station.css><iframe srcdoc="<img src=/icon.svg>"></iframe>
<script>document.title = "run"</script><form action=/api/stop method=post><button>go</button></form>
<svg onload="document.title = 1"><script>document.title = 2</script></svg>
"""


def picture(browser: Any, url: str, answered: list[str], **options: Any) -> Any:
    """What is seen at a URL, and its title; `answered`: the URLs that were loaded for it."""
    context = browser.new_context(viewport=SIZE, **options)
    context.on("response", lambda response: answered.append(response.url))
    page = context.new_page()
    page.goto(url, wait_until="networkidle")
    shot = pytest.importorskip("PIL.Image").open(io.BytesIO(page.screenshot())).convert("RGB")
    return shot, page.title(), page.evaluate("origin")


async def _archive(directory: Path, requisites: bool, network: str) -> tuple[str, Any]:
    async with shop() as (site, _):
        status, headers, body = site.answers["/"]
        more = b"<img src=/late.png crossorigin><noscript><img src='/late.png'></noscript>"
        site.answers |= {
            "/": (status, headers, body + more),
            "/late.png": png(9, 90, 200),
            "/two": (200, {"Content-Type": "text/html"}, HOSTILE.replace("URL", network).encode()),
        }
        await crawl(directory, site, crawl__requisites=requisites)

        def live() -> Any:
            with browsing() as browser:  # no script runs in an archived page
                return picture(browser, f"{site.origin}/", [], java_script_enabled=False)[0]

        return site.origin, await asyncio.to_thread(live)


@pytest.mark.parametrize("requisites", [True, False])
def test_archived_page_looks_as_it_did_and_can_do_nothing(start: Start, tmp_path: Path, requisites: bool) -> None:
    """After the site has gone: pixel by pixel. Without the setting, it does not look so."""
    with serve({f"/{at}": b"something" for at in range(1, 9)}) as network:
        _test_archived_page(start, tmp_path, requisites, network)


def _test_archived_page(start: Start, tmp_path: Path, requisites: bool, network: str) -> None:
    origin, live = asyncio.run(_archive(tmp_path / "crawl", requisites, network))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GCS_")}
    process = start("station", tmp_path / "crawl", "--listen", "127.0.0.1:0", env=environment)
    link = next(filter(None, (re.match(r"station: (http://\S+)", line) for line in process.stderr)))[1]
    station, answered = link.partition("#")[0], list[str]()
    with browsing() as browser:
        page = browser.new_context().new_page()
        page.goto(link)

        def ticket(url: str) -> str:
            page.goto(f"{station}#/crawl/crawl/page?url={quote(url, safe='')}")
            page.wait_for_selector(f"#page .found-url:has-text('{url}')")
            with page.context.expect_page() as opened:
                page.click("#open-archived")
            opened.value.wait_for_url(re.compile("/ticket/"))
            return str(opened.value.url)

        shown, _, its_origin = picture(browser, ticket(f"{origin}/"), answered)
        differs = pytest.importorskip("PIL.ImageChops").difference(live, shown).getbbox() is not None
        assert differs is not requisites and its_origin == "null"
        path = ticket(f"{origin}/two")
        assert picture(browser, path, answered)[1:] == ("hostile", "null")
        name = path.split("/")[4]
        for url in (f"{origin}/", f"{origin}/nothing", ""):  # a page that none needs; what is not there
            needed = page.request.get(f"{station}needs/{name}/0?{quote(url, safe='')}")
            assert needed.status == 404
    # of what the markup hides from us, the policy refuses all
    assert [url for url in answered if not re.match(rf"{station}(ticket|needs)/|about:|data:", url)] == []
