"""An order that a package brings, installed as pip leaves it and named in the settings."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records

Run = Callable[..., Any]
SCORE = """
from gcs.core.ordering import Found

def last(found: Found) -> float:
    return sum(found.url.encode())  # of no sense, and unlike every other order
"""


def test_crawl_goes_by_the_order_of_an_installed_package(gcs: Run, tmp_path: Path, environment: dict[str, str]) -> None:
    site = tmp_path / "site"
    info = site / "odd_order-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "odd_order.py").write_text(SCORE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-order\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gcs.orders]\nodd = odd_order:last\nlost = odd_order:gone\n")
    paths = [str(site), *filter(None, [environment.get("PYTHONPATH")])]
    installed = environment | {"PYTHONPATH": os.pathsep.join(paths)}

    with FakeWebProcess(FakeWebSpec.plain(hosts=3, pages=40)) as web:
        one_by_one = ("--queue", "quickheap", "--connections", "1", "--summary", "links", "--json")
        crawl = ("crawl", web.seeds[0], "-o", "out", *one_by_one, "--order")
        unknown = gcs(*crawl, "odds", quick=True, env=installed)
        assert unknown.code == 2 and "bfs, backlink, opic, odd, lost" in unknown.err
        lost = gcs(*crawl, "lost", quick=True, env=installed)
        assert lost.code == 2 and "lost cannot be loaded from odd_order:gone (AttributeError" in lost.err
        odd = gcs(*crawl, "odd", quick=True, env=installed)
        assert odd.code == 0, odd.err
        assert json.loads(odd.out)["pages"] == 40
    known, done = {web.seeds[0]}, set[str]()
    for record in read_records(tmp_path / "out"):
        assert sum(record.url.encode()) == max(sum(url.encode()) for url in known - done)
        known.update(record.outlinks)
        done.add(record.url)


def test_team_whose_order_fails_ends_and_says_why(gcs: Run, tmp_path: Path, environment: dict[str, str]) -> None:
    """It would fail again in every gatherer that is started again."""
    (tmp_path / "broken.py").write_text("def score(found):\n    return 1 / found.depth\n")
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=8)) as web:
        words = ("crawl", *web.seeds, "-o", "out", "-n", "2", "--order", "broken:score")
        done = gcs(*words, quick=True, env=environment | {"PYTHONPATH": str(tmp_path)})
    assert done.code == 2
    assert "order broken:score failed on http://" in done.err and "ZeroDivisionError" in done.err
