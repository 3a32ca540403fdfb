"""The application: middlewares around routes. Every route says what its caller needs (see `doorman`)."""

from collections.abc import Iterable

import msgspec
from aiohttp import web

import gcs.roles.station.assets as assets
from gcs.core.access import Role
from gcs.ports.space.port import Space
from gcs.roles.station.api import Api
from gcs.roles.station.description import describe
from gcs.roles.station.doorman import Doorman, needs, public, secure
from gcs.roles.station.lookout import LOOK_S, Lookout
from gcs.roles.station.metrics import CONTENT_TYPE, exposition
from gcs.roles.station.problems import explain, problem
from gcs.roles.station.stream import Stream

#: bytes of a request's body, unless its handler reads the stream by itself
MOST_BYTES = 8 << 20
#: looks after which the whiteboard counts as out of reach
LATE_LOOKS = 15


def make_app(
    doorman: Doorman, lookout: Lookout, space: Space, routes: Iterable[web.AbstractRouteDef] = ()
) -> web.Application:
    """The station's application; `routes` are those of other parts, such as the gateway of helpers."""
    app = web.Application(middlewares=[explain, doorman.guard], client_max_size=MOST_BYTES)
    app.on_response_prepare.append(secure)
    stream = Stream(lookout, doorman)

    async def end(_app: web.Application) -> None:
        stream.end()

    app.on_shutdown.append(end)
    endpoints = Api(lookout, space).endpoints()
    description = msgspec.json.encode(describe(endpoints, anybody_looks=doorman.on_loopback))

    @public
    async def alive(_request: web.Request) -> web.Response:
        return web.Response(text="alive\n")

    @public
    async def ready(_request: web.Request) -> web.Response:
        if lookout.age_s() > LATE_LOOKS * LOOK_S:
            return problem(503, "the whiteboard cannot be reached", {"Retry-After": "5"})
        return web.Response(text="ready\n")

    @public
    async def openapi(_request: web.Request) -> web.Response:
        return web.Response(body=description, content_type="application/json")

    @needs(Role.VIEW)
    async def metrics(_request: web.Request) -> web.Response:
        text = exposition(lookout.status, lookout.age_s())
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})

    app.router.add_get("/healthz", alive)
    app.router.add_get("/readyz", ready)
    app.router.add_get("/openapi.json", openapi)
    app.router.add_get("/metrics", metrics)
    app.add_routes([endpoint.route() for endpoint in endpoints])
    app.add_routes([stream.route(), *assets.routes(), *routes])
    return app
