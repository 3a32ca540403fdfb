"""The example settings load, and say what their comments say."""

import re
import shlex
from pathlib import Path

import click
import pytest

from gcs.cli import gcs
from gcs.core.plan.expression import Expression
from gcs.core.plan.triggers import NAMES
from gcs.settings import Settings, load

CONFIGS = Path(__file__).parents[1] / "configs"
every_file = pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.toml")), ids=lambda file: file.stem)


def test_all_examples_are_there() -> None:
    assert {file.stem for file in CONFIGS.glob("*.toml")} == {"site", "team", "politeness", "nightshift"}


@every_file
def test_example_settings_load(file: Path) -> None:
    settings = load(file, {}, {})
    assert settings.crawl.contact
    assert settings.politeness.delay_s >= 1.0
    if settings.team.trigger:
        Expression(settings.team.trigger, NAMES)


@every_file
def test_example_changes_something_and_explains_it(file: Path) -> None:
    assert load(file, {}, {}) != load(None, {}, {})
    lines = file.read_text().splitlines()
    assert lines[0].startswith("# ") and sum("#" in line for line in lines) >= 4


@every_file
def test_commands_in_the_comments_are_commands(file: Path) -> None:
    """And the one that crawls reads this very file."""
    found = re.findall(r"^#.*?\bgcs ([a-z]+\b.*)$", file.read_text(), re.MULTILINE)
    assert any(f"-c configs/{file.name}" in words for words in found)
    for words in found:
        name, *arguments = shlex.split(words)
        command = gcs.get_command(click.Context(gcs), name)
        assert command is not None
        command.make_context(name, arguments, resilient_parsing=False).close()


def test_examples_are_what_they_say() -> None:
    read: dict[str, Settings] = {file.stem: load(file, {}, {}) for file in CONFIGS.glob("*.toml")}
    assert read["site"].crawl.scope == "host" and read["site"].summary.depth == "full"
    assert read["politeness"].politeness.delay_s == max(each.politeness.delay_s for each in read.values())
    assert read["politeness"].politeness.host_connections == 1
    assert read["team"].crawl.scope == "any"
    assert read["nightshift"].helpers.lend and read["nightshift"].fetch.connections < Settings().fetch.connections
