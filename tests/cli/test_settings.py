"""`gcs settings` prints every setting as a file to start from."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from gcs.settings import Settings, documentation, load, types


def test_settings_printed_as_toml_load_back(call: Callable[..., Any], tmp_path: Path) -> None:
    printed = call("settings")
    assert (printed.code, printed.err) == (0, "")
    file = tmp_path / "all.toml"
    file.write_text(printed.out)
    assert load(file, {}, {}) == Settings()
    # every key stands there, those without a value as comments; and every one may be set where it stands
    tree = tomllib.loads(printed.out)
    named = {f"{section}.{key}" for section, keys in tree.items() for key in keys}
    without = {key for key, default, _ in documentation() if default is None}
    assert named | without == set(types())
    for key in without:
        assert f"# {key.partition('.')[2]} = " in printed.out


def test_settings_printed_as_json_name_default_and_text(call: Callable[..., Any]) -> None:
    rows = msgspec.json.decode(call("settings", "--json").out)
    assert rows["politeness.delay_s"] == {"default": 1.0, "about": "seconds between two requests to one host"}
    assert set(rows) == set(types())
