"""What the last session predicts is the default of the next, and no more than that."""

from pathlib import Path

import pytest

from gcs.app import crawl_dir
from gcs.app.crawl_dir import MOST_URLS, PredictedSuperstep, apply_prediction, write_prediction
from gcs.settings import Settings, load


def settings(**team: int) -> Settings:
    return load(None, {}, {f"team.{key}": value for key, value in team.items()})


def test_superstep_that_was_predicted_is_applied(tmp_path: Path) -> None:
    assert apply_prediction(tmp_path, settings(), 4) == settings(), "nothing was predicted"
    write_prediction(tmp_path, PredictedSuperstep(4, 300, 700, 0.01))
    assert apply_prediction(tmp_path, settings(), 4) == settings(superstep_pages=300, block_urls=700)
    assert apply_prediction(tmp_path, settings(), 3) == settings(), "it was for another team"
    assert apply_prediction(tmp_path, settings(block_urls=50), 4) == settings(superstep_pages=300, block_urls=50)
    write_prediction(tmp_path, PredictedSuperstep(4, 9, 10**6, 0.01))
    assert apply_prediction(tmp_path, settings(), 4).team.block_urls == MOST_URLS


def test_superstep_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "superstep.json").write_text("{")
    assert apply_prediction(tmp_path, settings(), 4) == settings()


@pytest.mark.parametrize("damage", ["deleted", "emptied", "changed"])
def test_kept_file_is_read_whatever_becomes_of_it(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "seeds.txt"
    assert crawl_dir.read_kept(file) is None
    crawl_dir.write_kept(file, b"http://a.test/\n", "")
    copy = tmp_path / ".seeds.txt.copy"
    for path in (file, copy):
        whole = path.read_bytes()
        path.write_bytes(b"" if damage == "emptied" else whole.replace(b"a.test", b"b.test"))
        if damage == "deleted":
            path.unlink()
        assert crawl_dir.read_kept(file) == b"http://a.test/\n"
        crawl_dir.write_kept(file, b"http://a.test/\n", "")
        assert path.read_bytes() == whole
