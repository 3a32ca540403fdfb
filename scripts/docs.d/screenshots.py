"""Makes the pictures of the manual anew: docs/img/terminal.svg and station.png. Needs Chromium and Playwright.

.venv/bin/python scripts/docs.d/screenshots.py [terminal | station]
"""

import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.text import Text

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess

IMG = Path(__file__).parents[2] / "docs" / "img"
GCS = [sys.executable, "-m", "gcs"]


#: what the terminal shows, and what is run for it beside the flags of the fake web
SHOWN = (
    (
        "gcs crawl https://docs.example.org/ --contact you@example.org -o mysite --sink corpus.md",
        ["crawl", "-o", "mysite", "--sink", "corpus.md"],
    ),
    ("gcs search mysite window -n 2", ["search", "mysite", "window", "-n", "2"]),
    (
        "gcs sql mysite 'SELECT depth, count(*) AS pages, avg(bytes)::int AS bytes FROM pages GROUP BY 1 ORDER BY 1'",
        ["sql", "mysite", "SELECT depth, count(*) AS pages, avg(bytes)::int AS bytes FROM pages GROUP BY 1 ORDER BY 1"],
    ),
)


def terminal(folder: Path) -> None:
    """A crawl and two looks at it, as a terminal shows them."""
    console = Console(record=True, width=112, file=io.StringIO())
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=160)) as web:
        seed = web.seeds[0]
        for shown, command in SHOWN:
            flags = [seed, "--allow-private", "--delay", "0.01"] if command[0] == "crawl" else []
            done = subprocess.run([*GCS, *command, *flags], cwd=folder, capture_output=True, text=True, check=True)
            console.print(Text(f"$ {shown}", style="bold"))
            console.print(Text(done.stdout.replace(seed, "https://docs.example.org/").rstrip()))
    picture = re.sub(r"\s*@font-face \{.*?\}\n", "\n", console.export_svg(title="gcs"), flags=re.DOTALL)
    (IMG / "terminal.svg").write_text(picture.replace("Fira Code", "monospace"))  # no font comes from elsewhere


def station(folder: Path) -> None:
    """The page of a team that has shared the web out, and lends some pages."""
    from playwright.sync_api import sync_playwright

    with FakeWebProcess(FakeWebSpec.demo(hosts=24, pages=6_000)) as web:
        address = "127.0.0.1:8643"
        flags = ["--allow-private", "--delay", "0.1", "--scope", "any", "--listen", address, "--json"]
        team = subprocess.Popen(
            [*GCS, "crawl", web.seeds[0], "-o", "docs", "-n", "3", "--station", *flags],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert team.stderr
        link = next(found[0] for line in team.stderr if (found := re.search(rf"http://{address}\S+", line)))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_context(viewport={"width": 1400, "height": 1000}, device_scale_factor=1.5).new_page()
            page.goto(link)
            page.wait_for_function("/plan ([2-9]|1\\d)/.test(document.body.innerText)", timeout=120_000)
            page.wait_for_timeout(20_000)
            picture = Image.open(io.BytesIO(page.screenshot()))
            picture.quantize(200, dither=Image.Dither.NONE).save(
                IMG / "station.png", optimize=True
            )  # a third of the bytes
            browser.close()
        team.terminate()
        team.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="gcs-img-") as scratch:
        pictures = {"terminal": terminal, "station": station}
        for name in sys.argv[1:] or pictures:
            pictures[name](Path(scratch))
    print(json.dumps(sorted(path.name for path in IMG.iterdir())))
