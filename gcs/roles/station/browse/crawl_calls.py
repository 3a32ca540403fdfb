"""The calls about a crawl as a whole: the settings in force, and the log."""

import dataclasses
import re
from pathlib import Path

import msgspec

from gcs.errors import SettingsError
from gcs.ports.catalogue import Catalogue
from gcs.roles.station.browse import found
from gcs.roles.station.browse.page_calls import reader_of
from gcs.roles.station.crawls.open_crawl import OpenCrawl
from gcs.roles.station.http.endpoint import CrawlCall, Endpoint
from gcs.roles.station.http.problems import NotHereError
from gcs.settings import Settings, documentation, of_charter

#: seeds that are shown; bytes of a process's log that are read, and characters of a line
MOST_SEEDS, LOG_BYTES, LINE_CHARACTERS = 200, 64 << 10, 1_000
#: the log of a crawl that a station has started, in its directory
LOG_FILE = "crawl.log"
#: a user and password in a URL, which nobody is shown
_SECRET = re.compile(r"//[^/@\s]{1,500}@")


def crawl_endpoints() -> list[Endpoint]:
    return [
        Endpoint("GET", "settings", "The settings in force, and the seeds", found.SettingsInForce, _settings),
        Endpoint("GET", "log", "What was stored lately, and what the crawl says", found.Log, _log, found.LogQuery),
    ]


async def _settings(call: CrawlCall, _: None) -> found.SettingsInForce:
    settings, charter = settings_of(call.crawl), call.crawl.poller.board.charter
    if settings is None:
        raise NotHereError("the settings of this crawl are not here: a store has only what was gathered")
    shown = []
    for key, default, text in documentation():
        section, _dot, name = key.partition(".")
        value = getattr(getattr(settings, section), name)
        shown.append(found.SettingInForce(key, _told(value), _told(default), value != default, text))
    seeds = charter.seeds if charter else []
    return found.SettingsInForce(shown, list(seeds[:MOST_SEEDS]), len(seeds))


def settings_of(crawl: OpenCrawl) -> Settings | None:
    """The settings in force, as far as this version understands them; None if nobody here knows."""
    charter = crawl.poller.board.charter
    if charter is None or not charter.settings:
        return None
    try:
        return of_charter(charter.settings)
    except SettingsError:  # of another version: the defaults
        return Settings()


def _told(value: object) -> str:
    plain = dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value
    text = value if isinstance(value, str) else msgspec.json.encode(plain).decode()
    return _SECRET.sub("//…@", text)


async def _log(call: CrawlCall, query: found.LogQuery) -> found.Log:
    reader = reader_of(call)

    def read(catalogue: Catalogue, _complete: bool) -> found.Log:
        _, rows = catalogue.find({}, "", "newest", 0, query.limit)
        return found.Log(rows, _process_log(reader.directory, query.limit))

    return await reader.ask(read)


def _process_log(directory: Path | None, most: int) -> list[str]:
    """The last lines of the crawl's process, if the station has started it."""
    if directory is None:
        return []
    try:
        with (directory / LOG_FILE).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - LOG_BYTES, 0))
            lines = file.read(LOG_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    whole = lines[1:] if size > LOG_BYTES else lines
    return [_SECRET.sub("//…@", line[:LINE_CHARACTERS]) for line in whole[-most:]]
