"""The calls by which crawls are begun, go on, and are scheduled; and the audit log."""

from aiohttp import web

from gcs.core.helpers.access import Role
from gcs.roles.station.crawls.supervisor import (
    Audit,
    AuditQuery,
    Caller,
    CheckedCrawl,
    NewCrawl,
    Schedule,
    ScheduleWanted,
    Started,
    StartWanted,
    Supervisor,
)
from gcs.roles.station.http.auth import CALLER, ROLES
from gcs.roles.station.http.endpoint import CrawlCall, Endpoint


class SupervisorCalls:
    """The calls about a folder's crawls."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    def endpoints(self) -> list[Endpoint]:
        own = (False, Role.CRAWL)
        return [
            Endpoint("POST", "check", "What a new crawl would be", CheckedCrawl, self._check, NewCrawl, *own, True),
            Endpoint("POST", "new", "Begin a crawl, as soon as there is room", Started, self._new, NewCrawl, *own),
            Endpoint("POST", "start", "Go on; or begin the next session", Started, self._start, StartWanted),
            Endpoint("POST", "schedule", "Begin sessions by the clock", Schedule, self._schedule, ScheduleWanted),
            Endpoint("GET", "schedule", "When the next session begins", Schedule, self._scheduled),
            Endpoint("GET", "audit", "Who did what", Audit, self._audit, AuditQuery, False, Role.CONTROL),
        ]

    async def _check(self, request: web.Request, wanted: NewCrawl) -> CheckedCrawl:
        return await self._supervisor.check(wanted, caller_of(request))

    async def _new(self, request: web.Request, wanted: NewCrawl) -> Started:
        return await self._supervisor.begin(wanted, caller_of(request))

    async def _start(self, call: CrawlCall, wanted: StartWanted) -> Started:
        return await self._supervisor.start(call.crawl.id, wanted, caller_of(call.request))

    async def _schedule(self, call: CrawlCall, wanted: ScheduleWanted) -> Schedule:
        return await self._supervisor.schedule(call.crawl.id, wanted)

    async def _scheduled(self, call: CrawlCall, _: None) -> Schedule:
        return self._supervisor.scheduled(call.crawl.id)

    async def _audit(self, _: web.Request, query: AuditQuery) -> Audit:
        return Audit(self._supervisor.audit(query.limit))


def caller_of(request: web.Request) -> Caller:
    return Caller(request[CALLER], Role.CONTROL in request[ROLES])
