"""How much is loaded before a crawl begins."""

import subprocess
import sys


def test_a_crawl_alone_loads_nothing_that_it_does_not_need() -> None:
    heavy = ("numpy", "redis", "aiohttp", "pyarrow", "trafilatura", "playwright", "rq", "sqlite3", "matplotlib", "rich")
    heavy += ("email", "gcs.roles.gatherer.team.whiteboard")
    program = f"import sys, gcs.cli.crawl; print(*(set({heavy!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
