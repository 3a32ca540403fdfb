"""Options of `gcs study run`, how a team works: spelled once, in `sim.setup`, which gives names, types and help."""

import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from gcs import settings
from gcs.core.ordering import ORDERS
from gcs.core.partition import PARTITIONERS
from gcs.core.queues.making import QUEUES
from gcs.errors import UsageError
from gcs.sim.setup import Setup

#: names that can be said where the type says only that it is a word
_CHOICES: Mapping[str, Sequence[str]] = {
    "partitioner": tuple(PARTITIONERS),
    "order": tuple(ORDERS),
    "queue": ("scan", *QUEUES),
}


def setup_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each field; `read_setup` makes a Setup of them."""
    types = typing.get_type_hints(Setup)
    for name, default, text in reversed(list(settings.notes(Setup))):
        choices = _CHOICES.get(name) or typing.get_args(types[name])
        kinds = {int: click.IntRange(1 if default else 0), float: click.FloatRange(0)}
        kind = click.Choice(choices) if choices else kinds[types[name]]
        help_text = f"For run: {text}.  [{default}]"
        command = click.option(_flag(name), name, type=kind, default=None, metavar=None, help=help_text)(command)
    return command


def read_setup(options: Mapping[str, object], study: str) -> Setup:
    """What the user has put together."""
    said: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if said and study != "run":
        raise UsageError(f"{_flag(next(iter(said)))} is for gcs study run: {study} puts its teams together itself")
    return Setup(**said)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
