"""A crawl that is begun over HTTP: what is asked for becomes settings, seeds and the files of a new directory.

Invariant: who may call the station can begin crawls of the web, and no more: no setting that runs code, reads files of
this machine or writes elsewhere is taken, and no seed that is a path.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gcs.app.crawl_dir import write_whole
from gcs.app.crawl_input import CrawlRequest, compose_crawl
from gcs.core.ordering import ORDERS
from gcs.core.url.canonical import host_of_url, seed_url, why_no_seed
from gcs.core.url.sources import is_source
from gcs.errors import SettingsError, UsageError
from gcs.roles.station.crawls.supervisor import CheckedCrawl, NewCrawl
from gcs.settings import Settings, differences, load

#: files of a directory that the station has made
SEEDS, SETTINGS = "seeds.txt", "station.toml"
#: settings that only somebody at the machine may choose; a section as a whole ends with a dot
KEPT_BACK = ("crawl.plugins", "store.url", "fetch.sources", "fetch.ca_file", "fetch.signature_agent", "space.")
#: and those that only an operator may choose
OPERATORS = (
    *("fetch.allow_private", "fetch.proxy", "fetch.connections", "politeness.robots", "politeness.nofollow"),
    *("politeness.host_connections", "politeness.delay_s"),
)
_ADVICE = "choose another folder"


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """What a caller of the role crawl may have; those of the role control are not limited."""

    #: crawls that run or wait at a time
    crawls: int = 2
    pages: int = 100_000
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class ComposedCrawl:
    """A crawl that can be begun."""

    directory: Path
    seeds: list[str]
    flags: Mapping[str, object]
    settings: Settings

    @property
    def checked(self) -> CheckedCrawl:
        chosen = {key: msgspec.json.encode(value).decode() for key, value in differences(self.settings).items()}
        return CheckedCrawl(self.directory.name, self.seeds, chosen)

    def write(self) -> None:
        """Make the directory; `gcs crawl` begins with its files."""
        lines, section = list[str](), ""
        for key, value in sorted(self.flags.items()):
            part, _, name = key.partition(".")
            if part != section:
                lines.append(f"[{part}]")
                section = part
            lines.append(f"{name} = {msgspec.json.encode(value).decode()}")  # TOML's values, too
        write_whole(self.directory / SETTINGS, "".join(f"{line}\n" for line in lines).encode(), _ADVICE)
        write_whole(self.directory / SEEDS, "".join(f"{seed}\n" for seed in self.seeds).encode(), _ADVICE)


def compose(folder: Path, wanted: NewCrawl, limits: CrawlLimits | None) -> ComposedCrawl:
    """Check what is wanted; `limits` of the caller, if there are any. UsageError, SettingsError say what is wrong."""
    flags = _flags(wanted)
    for key, value in flags.items():
        _check(key, value, limits)
    if limits is not None:
        most = min(wanted.max_pages or limits.pages, limits.pages)
        flags["crawl.max_pages"] = min(int(str(flags.get("crawl.max_pages") or most)), most)
        if wanted.share > limits.share:
            raise UsageError(f"share: this token may have at most {limits.share:g}")
    rules = load(None, os.environ, flags).urls
    seeds = []
    for line in filter(None, map(str.strip, wanted.seeds)):
        seed = seed_url(line, rules)
        if seed is None or is_source(seed):
            raise UsageError(f"seeds: {line[:100]!r} {why_no_seed(line[:100]) or 'is not on the web'}")
        seeds.append(seed)
    if not seeds:
        raise UsageError("seeds: give at least one URL")
    directory = folder / (wanted.name or _name_for(folder, seeds[0]))
    if wanted.name and directory.exists():
        raise UsageError(f"name: there is a {wanted.name!r} already; choose another name")
    flags["crawl.name"] = directory.name
    run = compose_crawl(directory, CrawlRequest(tuple(seeds)), flags)
    return ComposedCrawl(directory, run.seeds, flags, run.settings)


def _flags(wanted: NewCrawl) -> dict[str, object]:
    """The settings by dotted key: the form's, over those of the TOML."""
    flags: dict[str, object] = {}
    try:
        tree: dict[str, Any] = tomllib.loads(wanted.toml)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"toml: {error}") from None
    for section, values in tree.items():
        if not isinstance(values, dict):
            raise SettingsError(f"toml: '{section}' stands outside a [section]")
        flags |= {f"{section}.{key}": value for key, value in values.items()}
    form: dict[str, object] = {
        "crawl.scope": wanted.scope if wanted.scope != "host" else None,
        "crawl.contact": wanted.contact or None,
        "crawl.max_pages": wanted.max_pages or None,
        "crawl.max_seconds": wanted.max_seconds or None,
        "traps.max_depth": wanted.max_depth,
        "politeness.delay_s": wanted.delay_s,
        "crawl.exclude": tuple(wanted.exclude) or None,
        "crawl.requisites": wanted.requisites or None,
        "crawl.share": wanted.share if wanted.share != 1.0 else None,
    }
    return flags | {key: value for key, value in form.items() if value is not None}


def _check(key: str, value: object, limits: CrawlLimits | None) -> None:
    if key.startswith(KEPT_BACK) or (key == "crawl.order" and value not in ORDERS):
        raise UsageError(f"{key}: is for those at the machine: begin the crawl there, with gcs crawl")
    is_polite = key == "politeness.delay_s" and isinstance(value, int | float) and value >= 1.0
    if limits is not None and key in OPERATORS and not is_polite:
        raise UsageError(f"{key}: needs a token of the role control")


def _name_for(folder: Path, seed: str) -> str:
    """The host of a seed, with a number if there is such a crawl already."""
    name = "".join(mark if (mark.isalnum() and mark.isascii()) or mark in ".-" else "-" for mark in host_of_url(seed))
    name = name.strip(".-")[:56] or "crawl"
    number = 1
    while (folder / (found := f"{name}-{number}" if number > 1 else name)).exists():
        number += 1
    return found
