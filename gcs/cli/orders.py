"""The order and the queue that the settings name: the built-in ones, and scores of the user's own."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

from gcs.core.ordering import ORDERS, Ordering, Scored
from gcs.core.queues.contract import Queue
from gcs.errors import SettingsError
from gcs.ports.frontier import FrontierSettings

ENTRY_POINTS = "gcs.orders"
HOSTS = "hosts"
#: keys in a block of the queue: small, because a crawl extracts some hundreds at a time
BLOCK_KEYS = 4096


def load_order(name: str) -> Ordering:
    """The order of that name; or by a function `module:function`, or one that an installed package brings.

    The function is given a `gcs.core.ordering.Found` and returns a number; the larger, the sooner.
    """
    if name in ORDERS:
        return ORDERS[name]
    score = _from_module(*name.split(":", 1)) if ":" in name else _from_package(name)
    if not callable(score):
        raise SettingsError(f"order {name} is no function; write one that takes a Found and returns a number")
    return Scored(name, score)


def queue_maker(folder: Path, settings: FrontierSettings) -> Callable[[], Queue] | None:
    """What makes the queue of one order over all hosts; None where each host has its own."""
    if settings.queue == HOSTS:
        return None
    queues = importlib.import_module("gcs.ports.queues")  # it brings numpy
    on_disk = queues.DiskSettings(settings.queue_bytes, BLOCK_KEYS)
    return lambda: queues.open_scratch(settings.queue, folder, on_disk)


def _from_module(module: str, function: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # a file beside the crawl, as with `python -m`
    try:
        found = importlib.import_module(module)
    except Exception as error:  # a stranger's module may raise anything
        raise SettingsError(
            f"order {module}:{function} cannot be loaded ({type(error).__name__}: {error}); "
            f"put {module}.py into this directory or install it"
        ) from error
    if not hasattr(found, function):
        raise SettingsError(f"order {module}:{function}: {found} has no {function}; write it there")
    return getattr(found, function)


def _from_package(name: str) -> object:
    from importlib.metadata import entry_points  # 30 ms

    for entry_point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            return entry_point.load()
        except Exception as error:  # a stranger's package may raise anything
            raise SettingsError(
                f"order {name} cannot be loaded from {entry_point.value} ({type(error).__name__}: {error}); "
                "install its package again, or choose another order"
            ) from error
    known = ", ".join([*ORDERS, *(each.name for each in entry_points(group=ENTRY_POINTS))])
    raise SettingsError(f"there is no order {name!r}; give one of {known}, or module:function")
