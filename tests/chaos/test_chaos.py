"""The short form of the chaos test; `scripts/chaos` is the long one. Leases are real time: it takes half a minute."""

from dataclasses import replace
from pathlib import Path

import pytest

from .chaos import DECK, JOIN, KILL, KINDS, LEAVE, REDIS, STOP, Chaos, Script

SHORT = Script(pages=1_000, gatherers=3, most=5, every_s=0.8, seconds=16.0)


@pytest.mark.parametrize("seed", [20261116])
def test_chaos_loses_no_page_and_stores_none_twice(tmp_path: Path, seed: int) -> None:
    said: list[str] = []
    verdict = Chaos(tmp_path, replace(SHORT, seed=seed), said.append).run()
    print("\n".join(said))
    assert verdict.troubles == []
    assert verdict.pages == SHORT.pages
    assert set(verdict.happened) == set(KINDS)
    assert verdict.happened[REDIS] == 2
    assert min(verdict.happened[kind] for kind in (KILL, STOP, LEAVE, JOIN)) >= 1


def test_chaos_on_hashed_keyspace(tmp_path: Path) -> None:
    """Gatherers come, go and die where a hash says who owns what; smaller, and without troubles of Redis."""
    script = Script(
        seed=8, pages=300, gatherers=3, most=4, every_s=0.3, seconds=5.0, redis_at=(), warc=False, keyspace="site-hash"
    )
    said: list[str] = []
    verdict = Chaos(tmp_path, script, said.append).run()
    print("\n".join(said))
    assert verdict.troubles == []
    assert verdict.pages == script.pages
    assert set(verdict.happened) == set(DECK)
