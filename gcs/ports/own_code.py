"""Loads a user's own code by its name: an order, a plug-in or a sink.

A name is `module:object`, with the module in this directory or installed, or that of an entry point which an installed
package offers.
"""

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gcs.errors import SettingsError


def load_named(kind: str, group: str, name: str, built_in: Iterable[str] = ()) -> Any:
    """What the name stands for. `kind` is what the user calls it, `group` that of its entry points."""
    return _from_module(kind, *name.split(":", 1)) if ":" in name else _from_package(kind, group, name, built_in)


def _from_module(kind: str, module: str, attribute: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # a file beside the crawl, as with `python -m`
    try:
        found = importlib.import_module(module)
    except Exception as error:  # a stranger's module may raise anything
        raise SettingsError(
            f"{kind} {module}:{attribute} cannot be loaded ({type(error).__name__}: {error}); "
            f"put {module}.py into this directory or install it"
        ) from error
    if not hasattr(found, attribute):
        raise SettingsError(f"{kind} {module}:{attribute}: {found} has no {attribute}; write it there")
    return getattr(found, attribute)


def _from_package(kind: str, group: str, name: str, built_in: Iterable[str]) -> object:
    from importlib.metadata import entry_points  # 30 ms

    for entry_point in entry_points(group=group, name=name):
        try:
            return entry_point.load()
        except Exception as error:  # a stranger's package may raise anything
            raise SettingsError(
                f"{kind} {name} cannot be loaded from {entry_point.value} ({type(error).__name__}: {error}); "
                f"install its package again, or choose another {kind}"
            ) from error
    known = ", ".join([*built_in, *(each.name for each in entry_points(group=group))])
    some = f"one of {known}, or " if known else ""
    raise SettingsError(f"there is no {kind} {name!r}; give {some}module:{'function' if kind == 'order' else 'object'}")
