"""The short form of the chaos test; `scripts/chaos` is the long one. Leases are real time: it takes half a minute."""

from dataclasses import replace
from pathlib import Path

import pytest

from .chaos import DAMAGE, DECK, JOIN, KILL, LEAVE, STOP, Chaos, Script
from .faults import LATENCY, MEMORY, REDIS, UPGRADE

SHORT = Script(pages=1_000, gatherers=3, most=5, every_s=0.8, seconds=16.0)


@pytest.mark.parametrize("seed", [20261116])
def test_chaos_loses_no_page_and_stores_none_twice(tmp_path: Path, seed: int) -> None:
    said: list[str] = []
    verdict = Chaos(tmp_path, replace(SHORT, seed=seed), said.append).run()
    print("\n".join(said))
    assert verdict.troubles == []
    assert verdict.pages == SHORT.pages
    assert set(verdict.happened) == {*DECK, REDIS}
    assert verdict.happened[REDIS] == 2
    assert min(verdict.happened[kind] for kind in (KILL, STOP, LEAVE, JOIN)) >= 1


def test_chaos_with_damaged_files(tmp_path: Path) -> None:
    script = Script(seed=3, pages=300, gatherers=3, most=4, every_s=0.4, seconds=6.0, faults={}, damage=True)
    said: list[str] = []
    verdict = Chaos(tmp_path, script, said.append).run()
    print("\n".join(said))
    assert verdict.troubles == []
    assert verdict.happened[DAMAGE] >= 1


def test_chaos_on_hashed_keyspace(tmp_path: Path) -> None:
    """Gatherers come, go and die where a hash says who owns what; smaller, and without troubles of Redis."""
    script = Script(
        seed=8, pages=300, gatherers=3, most=4, every_s=0.3, seconds=5.0, faults={}, warc=False, keyspace="site-hash"
    )
    said: list[str] = []
    verdict = Chaos(tmp_path, script, said.append).run()
    print("\n".join(said))
    assert verdict.troubles == []
    assert verdict.pages == script.pages
    assert set(verdict.happened) == set(DECK)


@pytest.mark.parametrize("fault", [LATENCY, MEMORY, UPGRADE])
def test_chaos_with_a_fault_of_the_whiteboard(tmp_path: Path, fault: str) -> None:
    """While gatherers come, go and die: a slow line, no memory, or a later version of GCS that takes over."""
    script = replace(SHORT, seed=7, pages=500, seconds=10.0, faults={2: fault, 8: fault}, warc=False)
    said: list[str] = []
    verdict = Chaos(tmp_path, script, said.append).run()
    print("\n".join(said))
    assert verdict.troubles == []
    assert verdict.pages == script.pages
    assert verdict.happened[fault] >= 1
