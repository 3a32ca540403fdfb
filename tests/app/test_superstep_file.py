"""What the last session foretells is the default of the next, and no more than that."""

from pathlib import Path

from gcs.app.crawl_dir import MOST_URLS, Foretold, heed, write
from gcs.settings import Settings, load


def settings(**team: int) -> Settings:
    return load(None, {}, {f"team.{key}": value for key, value in team.items()})


def test_superstep_that_was_foretold_is_heeded(tmp_path: Path) -> None:
    assert heed(tmp_path, settings(), 4) == settings(), "nothing was foretold"
    write(tmp_path, Foretold(4, 300, 700, 0.01))
    assert heed(tmp_path, settings(), 4) == settings(superstep_pages=300, block_urls=700)
    assert heed(tmp_path, settings(), 3) == settings(), "it was for another team"
    assert heed(tmp_path, settings(block_urls=50), 4) == settings(superstep_pages=300, block_urls=50)
    write(tmp_path, Foretold(4, 9, 10**6, 0.01))
    assert heed(tmp_path, settings(), 4).team.block_urls == MOST_URLS


def test_superstep_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "superstep.json").write_text("{")
    assert heed(tmp_path, settings(), 4) == settings()
