"""The example settings load, and say what their comments say."""

from pathlib import Path

import pytest

from gcs.settings import load

CONFIGS = Path(__file__).parents[1] / "configs"


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.toml")), ids=lambda file: file.stem)
def test_example_settings_load(file: Path) -> None:
    settings = load(file, {}, {})
    assert settings.crawl.contact
    assert settings.politeness.delay_s >= 1.0
