"""The application: middlewares around routes. Every route says what its caller needs (see `doorman`)."""

from collections.abc import Iterable

from aiohttp import web

from gcs.roles.station.doorman import Doorman, public, secure
from gcs.roles.station.lookout import LOOK_S, Lookout
from gcs.roles.station.problems import explain, problem

#: bytes of a request's body, unless its handler reads the stream by itself
MOST_BYTES = 1 << 20
#: looks after which the whiteboard counts as out of reach
LATE_LOOKS = 15


def make_app(doorman: Doorman, lookout: Lookout, routes: Iterable[web.AbstractRouteDef] = ()) -> web.Application:
    """The station's application; `routes` are those of other parts, such as the gateway of helpers."""
    app = web.Application(middlewares=[explain, doorman.guard], client_max_size=MOST_BYTES)
    app.on_response_prepare.append(secure)

    @public
    async def alive(_request: web.Request) -> web.Response:
        return web.Response(text="alive\n")

    @public
    async def ready(_request: web.Request) -> web.Response:
        if lookout.age_s() > LATE_LOOKS * LOOK_S:
            return problem(503, "the whiteboard cannot be reached", {"Retry-After": "5"})
        return web.Response(text="ready\n")

    app.router.add_get("/healthz", alive)
    app.router.add_get("/readyz", ready)
    app.add_routes(routes)
    return app
