"""Makes the pictures of the manual anew: docs/img/terminal.svg and station.png. Needs Chromium and Playwright.

.venv/bin/python scripts/docs.d/screenshots.py
"""

import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess

IMG = Path(__file__).parents[2] / "docs" / "img"
GCS = [sys.executable, "-m", "gcs"]


def terminal(folder: Path) -> None:
    """A crawl and a look at it, as a terminal shows them."""
    console = Console(record=True, width=100, file=io.StringIO())
    with FakeWebProcess(FakeWebSpec.demo(hosts=4, pages=160)) as web:
        flags = [
            "--allow-private",
            "--delay",
            "0.02",
            "--scope",
            "any",
            "--set",
            "politeness.retry_s=0.1",
            "--set",
            "politeness.overload_s=0.1",
            "--max-pages",
            "120",
        ]
        for shown, command in (
            ("gcs crawl https://docs.example.org/ --contact you@example.org -o mysite", ["crawl", *web.seeds, *flags]),
            (
                "gcs export mysite --latest --format csv --fields depth,title | head -4",
                ["export", "mysite", "--latest"],
            ),
        ):
            is_crawl = command[0] == "crawl"
            more = ["-o", "mysite"] if is_crawl else ["--format", "csv", "--fields", "depth,title"]
            done = subprocess.run([*GCS, *command, *more], cwd=folder, capture_output=True, text=True, check=False)
            console.print(Text(f"$ {shown}", style="bold"))
            console.print(
                Text("\n".join((done.stdout if is_crawl else done.stdout[:2000]).splitlines()[: 40 if is_crawl else 4]))
            )
    picture = re.sub(r"\s*@font-face \{.*?\}\n", "\n", console.export_svg(title="gcs"), flags=re.DOTALL)
    (IMG / "terminal.svg").write_text(picture.replace("Fira Code", "monospace"))  # no font comes from elsewhere


def station(folder: Path) -> None:
    """The page of a team that has crawled for some seconds."""
    from playwright.sync_api import sync_playwright

    with FakeWebProcess(FakeWebSpec.demo(hosts=40, pages=6_000)) as web:
        flags = ["--allow-private", "--delay", "0.2", "--scope", "any", "--listen", "127.0.0.1:8643", "--json"]
        team = subprocess.Popen(
            [*GCS, "crawl", *web.seeds, "-o", "team", "-n", "3", "--station", *flags],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert team.stderr
        link = next(found[0] for line in team.stderr if (found := re.search(r"http://\S+", line)))
        time.sleep(25)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
            page.goto(link)
            page.wait_for_timeout(6_000)
            page.screenshot(path=str(IMG / "station.png"))
            browser.close()
        team.terminate()
        team.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="gcs-img-") as scratch:
        for picture in (terminal, station):
            picture(Path(scratch))
    print(json.dumps(sorted(path.name for path in IMG.iterdir())))
