"""Any file of a crawl directory may be damaged: the crawl goes on with nothing lost, or says in one line what to do.

Every file once, in a way that a seed chooses; `python -m tests.cli.damage` damages every file in every way.
"""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcs.fakeweb.server import FakeWebProcess

from .damage import KINDS, Damage, begun, files, troubles, web

SEED = 20261118
#: files of a team that one alone does not have
OF_A_TEAM = ("state/space/", "state/g1/")


@pytest.fixture(scope="module")
def site() -> Iterator[FakeWebProcess]:
    with web() as site:
        yield site


@pytest.mark.parametrize("gatherers", [1, 2])
def test_crawl_with_a_damaged_file_loses_nothing_in_silence(
    tmp_path: Path, site: FakeWebProcess, gatherers: int
) -> None:
    origin, rng = begun(tmp_path / "origin", site, gatherers), random.Random(SEED)
    wrong: dict[Damage, list[str]] = {}
    for file in files(origin):
        damage = Damage(file, rng.choice(KINDS), SEED)
        if gatherers == 1 or str(file).startswith(OF_A_TEAM):
            copy = shutil.copytree(origin, tmp_path / "copy")
            wrong[damage] = list(troubles(copy, damage, site))
            shutil.rmtree(copy)
    assert len(wrong) >= 6
    assert {damage: said for damage, said in wrong.items() if said} == {}
