"""The superstep that the last session foretells for the next one, in DIR/state/superstep.json (papers.md M7).

Written by `gcs plan`, where the graph of the last session is at hand; read by `gcs crawl`, for as many gatherers as it
was made for. A setting of the user's goes before it.
"""

import dataclasses
from pathlib import Path

import msgspec

from gcs.cli.memory import write_whole
from gcs.settings import Settings

#: URLs in a block: fewer cost more than they save, more would hold up whoever takes them in
LEAST_URLS, MOST_URLS = 100, 5_000


class Foretold(msgspec.Struct, frozen=True):
    """How far each of so many gatherers may go without a word."""

    gatherers: int
    #: R: pages
    pages: int
    #: β: URLs for one other
    urls: int
    #: part of the pages that would have been fetched earlier, had everybody been told at once
    error: float


def write(directory: Path, foretold: Foretold) -> None:
    """Keep it for the next session."""
    write_whole(_file(directory), msgspec.json.encode(foretold), "choose another place")


def heed(directory: Path, settings: Settings, gatherers: int) -> Settings:
    """The settings with what was foretold for so many gatherers, where the user has not said otherwise."""
    try:
        foretold = msgspec.json.decode(_file(directory).read_bytes(), type=Foretold)
    except (OSError, msgspec.MsgspecError):
        return settings
    if foretold.gatherers != gatherers:
        return settings
    team = settings.team
    pages = team.superstep_pages or foretold.pages
    urls = team.block_urls or min(max(foretold.urls, LEAST_URLS), MOST_URLS)
    return dataclasses.replace(settings, team=dataclasses.replace(team, superstep_pages=pages, block_urls=urls))


def _file(directory: Path) -> Path:
    return directory / "state" / "superstep.json"
