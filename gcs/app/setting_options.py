"""Options of the command line that several commands share: settings, numbers, logging.

The options of settings are spelled once, in the dataclass of the setting: name, type and help derive from it.
"""

import functools
import math
import os
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import click

from gcs import events, settings
from gcs.errors import SettingsError
from gcs.settings import Settings

#: flag → dotted key of the setting it sets; everything else by --set
FLAGS = {
    "--name": "crawl.name",
    "--contact": "crawl.contact",
    "--max-pages": "crawl.max_pages",
    "--max-seconds": "crawl.max_seconds",
    "--scope": "crawl.scope",
    "--order": "crawl.order",
    "--queue": "frontier.queue",
    "--include": "crawl.include",
    "--exclude": "crawl.exclude",
    "--coordination": "team.coordination",
    "--mode": "team.mode",
    "--delay": "politeness.delay_s",
    "--summary": "summary.depth",
    "--allow-private": "fetch.allow_private",
    "--proxy": "fetch.proxy",
    "--connections": "fetch.connections",
    "--warc": "store.warc",
    "--store": "store.url",
}


class Number(click.FloatRange):
    """A click.FloatRange of finite numbers: `nan` and `inf` pass every range of click's, and limit nothing."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))  # type: ignore[arg-type]  # it takes what was written, too
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class SettingOption(click.Option):
    """A flag that sets one setting. Its help is looked up only when somebody reads it."""

    def __init__(self, names: Sequence[str], key: str) -> None:
        kind: Any = settings.types()[key]
        flag = names[0]
        self.key = key
        choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else None
        super().__init__(
            [f"{flag}/--no-{flag[2:]}" if kind is bool else flag, _variable(key)],
            default=None,
            type=click.Choice(choices) if choices else None,
            multiple=typing.get_origin(kind) is tuple,  # once for each value: a pattern may hold a comma
            metavar=None if choices or kind is bool else {int: "N", float: "S"}.get(kind, "TEXT"),
        )

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        for key, default, text in settings.documentation():
            if record and key == self.key:
                return record[0], f"{text}  [{_shown(default)}]"
        return record


def setting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command -c, --set and the flags; `read` makes Settings of them."""
    for flag, key in reversed(FLAGS.items()):
        command = click.option(flag, cls=SettingOption, key=key)(command)
    command = click.option(
        "--set", "assignments", multiple=True, metavar="SECTION.KEY=VALUE", help="Any setting (see gcs settings)."
    )(command)
    return click.option("-c", "--config", type=click.Path(path_type=Path), metavar="FILE", help="Settings in TOML.")(
        command
    )


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --log and --log-json, and set logging up before the command runs."""

    @functools.wraps(command)
    def run(log_level: str, log_json: bool, **options: Any) -> Any:
        events.set_up(log_level, log_json)
        return command(**options)

    run = click.option("--log-json", is_flag=True, help="Log one JSON object a line.")(run)
    return click.option(
        "--log", "log_level", type=click.Choice(events.LEVELS), default="info", show_default=True,
        help="What is logged.",
    )(run)  # fmt: skip


def read(
    options: dict[str, Any],
    extra: Mapping[str, object] = settings.NOTHING,
    before: Mapping[str, object] = settings.NOTHING,
) -> Settings:
    """The settings of this run: takes its own options out of `options`. Flags override `extra`.

    `before` are the settings of an earlier run of the same crawl: every other source overrides them.
    """
    flags = dict(extra)
    for assignment in options.pop("assignments"):
        key, equals, value = assignment.partition("=")
        if not equals:
            raise SettingsError(f"--set {assignment}: write SECTION.KEY=VALUE")
        flags[key.strip()] = value
    for key in FLAGS.values():
        value = options.pop(_variable(key))
        if value not in (None, ()):
            flags[key] = value
    return settings.load(options.pop("config"), os.environ, flags, before)


def _variable(key: str) -> str:
    return key.replace(".", "__")


def _shown(default: object) -> str:
    return (
        str(default).lower() if isinstance(default, bool) else str(default) if default not in ("", (), None) else "none"
    )
