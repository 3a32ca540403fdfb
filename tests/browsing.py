"""A real browser for tests of pages: Debian's Chromium by Playwright; and axe-core, which judges accessibility."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parents[1] / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
#: widths at which a page must be good: a phone and a desk
WIDTHS = (400, 1400)


def chromium() -> str:
    """Where the browser is; a test that needs it is skipped where it is not."""
    pytest.importorskip("playwright", reason="Playwright is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        pytest.skip("no Chromium on PATH (apt-get install chromium)")
    return found


@contextmanager
def browsing() -> Iterator[Any]:
    """A browser."""
    executable = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: Any, url: str, complaints: list[str], **options: Any) -> Any:
    """A page in a context of its own; whatever it complains of on its console is added to `complaints`."""
    context = browser.new_context(reduced_motion="reduce", **options)
    page = context.new_page()
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(url)
    return page


def judge(page: Any) -> list[str]:
    """What axe finds serious or critical, as it says it."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed (npm install --prefix .venv/axe axe-core)")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{each['id']} ({each['impact']}): {each['help']}: {[node['html'][:120] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
