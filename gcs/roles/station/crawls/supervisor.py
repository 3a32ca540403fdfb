"""The supervisor of a folder's crawls, as the station sees it: begins them, queues them, schedules them.

Who may do what: a caller of the role control commands every crawl. One of the role crawl begins crawls within the
limits of the station (`CrawlLimits`), and commands those.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from gcs.roles.station.crawls.audit import AuditEntry
from gcs.roles.station.view.schemas import MOST_CHARACTERS, MOST_SEEDS

Line = Annotated[str, Meta(max_length=MOST_CHARACTERS)]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and whether they may command every crawl."""

    name: str
    commands_all: bool


class NewCrawl(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A crawl to begin: the settings that matter, and the rest as TOML. What is left out is as it is by default."""

    seeds: Annotated[list[Line], Meta(min_length=1, max_length=MOST_SEEDS)]
    #: of its directory, too; "" for the host of the first seed
    name: Annotated[str, Meta(max_length=64, pattern="^([A-Za-z0-9][A-Za-z0-9._-]*)?$")] = ""
    scope: Literal["prefix", "host", "domain", "any"] = "host"
    contact: Line = ""
    #: 0 for no limit
    max_pages: Annotated[int, Meta(ge=0, le=1 << 40)] = 0
    max_seconds: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    max_depth: Annotated[int, Meta(ge=0, le=100_000)] | None = None
    delay_s: Annotated[float, Meta(ge=0, le=86_400)] | None = None
    exclude: Annotated[list[Line], Meta(max_length=100)] = []
    #: whether what pages need to look like themselves is fetched, too
    requisites: bool = False
    #: of the machines, against that of the other crawls
    share: Annotated[float, Meta(ge=0.01, le=100)] = 1.0
    #: further settings
    toml: Annotated[str, Meta(max_length=100_000)] = ""


class CheckedCrawl(msgspec.Struct, frozen=True):
    """What would be begun: the seeds as they are understood, and the settings that are not as by default."""

    name: str
    seeds: list[str]
    settings: dict[str, str]


class Started(msgspec.Struct, frozen=True):
    """It runs, or is in the queue at this place."""

    id: str
    place: int


class StartWanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Let a crawl go on; or begin its next session, which asks again for every page."""

    next: bool = False
    #: of the machines; 0 for what it was
    share: Annotated[float, Meta(ge=0, le=100)] = 0.0


class ScheduleWanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the next session of a crawl begins, again and again: "0 3 * * *" (five fields of cron); "" for never."""

    cron: Annotated[str, Meta(max_length=100)]


class Schedule(msgspec.Struct, frozen=True):
    """When the next session of a crawl begins."""

    cron: str
    #: 0 for never
    next_at: float


class AuditQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of the audit log."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 200


class Audit(msgspec.Struct, frozen=True):
    """Who did what, the newest first."""

    entries: list[AuditEntry]


class Supervisor(Protocol):
    """Begins, queues and schedules the crawls of a folder. UsageError if something cannot be, or may not."""

    async def check(self, wanted: NewCrawl, by: Caller) -> CheckedCrawl: ...

    async def begin(self, wanted: NewCrawl, by: Caller) -> Started: ...

    async def start(self, crawl: str, wanted: StartWanted, by: Caller) -> Started: ...

    async def schedule(self, crawl: str, wanted: ScheduleWanted) -> Schedule: ...

    def scheduled(self, crawl: str) -> Schedule: ...

    def audit(self, limit: int) -> list[AuditEntry]: ...
