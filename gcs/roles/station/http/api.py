"""The API: one table of endpoints. Routes, checks of what comes in, and the OpenAPI description are all made of it.

Invariant: what an endpoint takes and gives are values of `view.schemas`, so that the description cannot drift.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from gcs.core.helpers.access import Role
from gcs.core.messages.tuples import CrawlState
from gcs.core.report.treemap import Tile
from gcs.ports.space import crawl_control
from gcs.ports.space.port import Space
from gcs.roles.station.http.auth import CALLER, ROLES, needs
from gcs.roles.station.http.problems import problem
from gcs.roles.station.view import schemas
from gcs.roles.station.view.poller import Poller

#: what an order that carries nothing takes
Take = type[msgspec.Struct] | None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One call: GET reads (its parameters are the fields of `takes`), POST orders (`takes` is its JSON body)."""

    method: str
    path: str
    name: str
    summary: str
    gives: type[msgspec.Struct]
    #: gets the caller's request, and what it takes
    handle: Callable[[web.Request, Any], Awaitable[msgspec.Struct]]
    takes: Take = None

    @property
    def role(self) -> Role:
        """What its caller needs."""
        return Role.VIEW if self.method == "GET" else Role.CONTROL

    @property
    def status(self) -> int:
        """Of the answer: an order is obeyed later."""
        return 200 if self.method == "GET" else 202

    def route(self) -> web.RouteDef:
        """For the application."""

        @needs(self.role)
        async def handler(request: web.Request) -> web.Response:
            if self.method == "POST" and self.takes and request.content_type != "application/json":
                return problem(415, "send application/json")
            try:
                given = await self._read(request)
            except msgspec.DecodeError as error:
                return problem(400, str(error))
            answer = await self.handle(request, given)
            return web.Response(status=self.status, body=msgspec.json.encode(answer), content_type="application/json")

        return web.route(self.method, self.path, handler)

    async def _read(self, request: web.Request) -> msgspec.Struct | None:
        """What came with the request; DecodeError (ValidationError) where it is not what we take."""
        if self.takes is None:
            return None
        if self.method == "POST":
            return msgspec.json.decode(await request.read(), type=self.takes)
        query: dict[str, str] = {}
        for name, value in request.query.items():
            if name in query:
                raise msgspec.ValidationError(f"`{name}` is given twice")
            query[name] = value
        return msgspec.convert(query, self.takes, strict=False)


class Api:
    """The endpoints of one station."""

    def __init__(self, lookout: Poller, space: Space) -> None:
        self._lookout, self._space = lookout, space

    def endpoints(self) -> list[Endpoint]:
        """The table."""
        see = self._lookout
        return [
            Endpoint("GET", "/api/me", "me", "What the caller may do", schemas.Me, self._me),
            Endpoint(
                "GET", "/api/status", "status", "How the crawl stands", schemas.Status, _shows(lambda: see.status)
            ),
            Endpoint(
                "GET", "/api/history", "history", "The figures over time", schemas.History, _shows(lambda: see.history)
            ),
            Endpoint(
                "GET", "/api/tree", "tree", "A part of the URL tree, and who owns it", Tile, self._tree,
                schemas.TreeQuery,
            ),
            Endpoint(
                "GET", "/api/links", "links", "Who sends links to whom", schemas.ExchangedLinks,
                _shows(lambda: see.links),
            ),
            Endpoint(
                "GET", "/api/rebalances", "rebalances", "The plans of the crawl, and what they moved",
                schemas.Rebalances, _shows(lambda: see.rebalances),
            ),
            Endpoint(
                "GET", "/api/errors", "errors", "Failures by kind and by host", schemas.Errors,
                _shows(lambda: see.errors),
            ),
            Endpoint(
                "GET", "/api/pages", "pages", "Pages stored lately, with their summaries", schemas.RecentPages,
                _shows(lambda: see.pages),
            ),
            Endpoint(
                "POST", "/api/pause", "pause", "Start nothing more until resumed", schemas.Accepted,
                self._order(CrawlState.PAUSED),
            ),
            Endpoint(
                "POST", "/api/resume", "resume", "Go on", schemas.Accepted, self._order(CrawlState.RUNNING),
            ),
            Endpoint(
                "POST", "/api/stop", "stop", "End; the state is kept", schemas.Accepted,
                self._order(CrawlState.STOPPING),
            ),
            Endpoint(
                "POST", "/api/rebalance", "rebalance", "Ask the leader to share the work anew", schemas.Accepted,
                self._rebalance,
            ),
            Endpoint("POST", "/api/seeds", "seeds", "Add seeds", schemas.AddedSeeds, self._seeds, schemas.NewSeeds),
        ]  # fmt: skip

    async def _me(self, request: web.Request, _: None) -> schemas.Me:
        roles: frozenset[Role] = request[ROLES]
        return schemas.Me(request[CALLER], sorted(roles))

    async def _tree(self, _: web.Request, query: schemas.TreeQuery) -> Tile:
        return self._lookout.tree(query.path, query.levels, query.most)

    def _order(self, state: CrawlState) -> Callable[[web.Request, None], Awaitable[schemas.Accepted]]:
        async def give(request: web.Request, _: None) -> schemas.Accepted:
            await crawl_control.order(self._space, state, _by(request))
            return schemas.Accepted(str(state))

        return give

    async def _rebalance(self, request: web.Request, _: None) -> schemas.Accepted:
        await crawl_control.call_rebalance(self._space, _by(request))
        return schemas.Accepted("rebalance")

    async def _seeds(self, _: web.Request, given: schemas.NewSeeds) -> schemas.AddedSeeds:
        return schemas.AddedSeeds(await crawl_control.add_seeds(self._space, given.urls))


def _shows(value: Callable[[], msgspec.Struct]) -> Callable[[web.Request, None], Awaitable[Any]]:
    async def show(_: web.Request, __: None) -> msgspec.Struct:
        return value()

    return show


def _by(request: web.Request) -> str:
    """Who gives an order, for the whiteboard."""
    return f"{request[CALLER]} (station)"
