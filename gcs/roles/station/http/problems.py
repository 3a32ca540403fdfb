"""Problems: every refusal and failure of the station as one kind of answer (RFC 9457), without internal details."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from aiohttp import web

from gcs.errors import SpaceError, UsageError
from gcs.events import Events
from gcs.ports.space.crawl_control import TooLateError

events = Events("station")


class NotHereError(UsageError):
    """What is asked for is not here."""


class ProblemDetails(msgspec.Struct, frozen=True):
    """Why a request was refused, or failed."""

    status: int
    title: str
    detail: str


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """An answer that says what is wrong."""
    body = msgspec.json.encode(ProblemDetails(status, HTTPStatus(status).phrase, detail))
    return web.Response(status=status, body=body, content_type="application/problem+json", headers=headers)


@web.middleware
async def explain(request: web.Request, handler) -> web.StreamResponse:  # type: ignore[no-untyped-def]
    """The middleware that turns exceptions into problems."""
    try:
        answer: web.StreamResponse = await handler(request)
        return answer
    except web.HTTPException as error:
        kept = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
        return problem(error.status, error.reason, kept)
    except NotHereError as error:
        return problem(404, str(error))
    except TooLateError as error:
        return problem(409, str(error))
    except UsageError as error:
        return problem(400, str(error))
    except SpaceError as error:
        return problem(503, str(error), {"Retry-After": "5"})
    except Exception as error:
        events.error("failed", path=request.path, error=repr(error))
        return problem(500, "the station failed; its log says more")
