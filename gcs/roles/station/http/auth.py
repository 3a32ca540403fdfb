"""Authentication: host, origin and token of a request are checked before its handler runs.

- Bound to loopback, a request must name a loopback host (or one of `names`): a page of the web whose name was rebound
  to 127.0.0.1 is refused. There, anybody may read; commands need a token all the same, because other users and other
  pages of the browser are on loopback too.
- Bound to any other address, everything but the page's own files and the health checks needs a token.
- A request that changes something must not come from another site (Sec-Fetch-Site, Origin). Tokens travel in a header,
  never in a cookie, so that no other site can use one. The gateway is an exception: a helper's token alone opens it.

A handler names the role that it needs (`needs(Role.VIEW)`, or `public`); the default is the control role.

Invariant: no handler runs for a request that was refused. This module must not know what the handlers do.
"""

import base64
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import ip_address
from typing import Any, TypeVar

from aiohttp import web

from gcs.core.helpers.access import ALLOWS, Role, allowed, holder
from gcs.core.messages.tuples import Access
from gcs.errors import SpaceError
from gcs.roles.station.http.problems import problem

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
H = TypeVar("H", bound=Callable[..., Any])

#: the token of the request, if it has one
KEY = web.RequestKey("key", Access)
#: the name of the caller
CALLER = web.RequestKey("caller", str)
#: the roles of the caller
ROLES = web.RequestKey("roles", frozenset[Role])

#: seconds between two reads of the whiteboard because of unknown tokens
AGAIN_S = 0.2
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY = "Content-Security-Policy"
#: headers of every answer: load nothing from other sites, show in no frame, guess no types
HEADERS = {
    POLICY: "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def needs(role: Role | None) -> Callable[[H], H]:
    """Mark a handler with the role that its caller must have; None for everybody."""

    def mark(handler: H) -> H:
        handler.role = role  # type: ignore[attr-defined]
        return handler

    return mark


public = needs(None)


class Authenticator:
    """Accepts or refuses the requests of one station."""

    def __init__(
        self,
        host: str,
        *,
        keys: Iterable[Access] = (),
        names: Iterable[str] = (),
        posted: Callable[[], Awaitable[Iterable[Access]]] | None = None,
    ) -> None:
        self.on_loopback = is_loopback(host)
        self._posted, self._read_at = posted, -AGAIN_S
        self._names = frozenset(name.lower() for name in names)
        self._own_keys = tuple(keys)
        self._keys = self._own_keys

    def update(self, posted: Iterable[Access]) -> None:
        """Replace the tokens of the whiteboard: those that are missing now are revoked."""
        self._keys = (*self._own_keys, *posted)

    def allows(self, request: web.Request, role: Role) -> bool:
        """Whether the caller of a request has this role now: its token may have been revoked since it came."""
        roles = self._caller(request)[1]
        return roles is not None and role in roles

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The middleware: refuse a request, or run its handler."""
        if self._caller(request)[1] is None:
            await self._reread_tokens()
        if refusal := self._refusal(request):
            return refusal
        return await handler(request)

    async def _reread_tokens(self) -> None:
        """Read the tokens again before one is refused: it may be new. Rarely, so that guessed tokens cost little."""
        if self._posted is None or time.monotonic() < self._read_at + AGAIN_S:
            return
        self._read_at = time.monotonic()
        with contextlib.suppress(SpaceError):
            self.update(await self._posted())

    def _refusal(self, request: web.Request) -> web.Response | None:
        if not self._is_known_host(request):
            return problem(421, "this station is not known by that name; start it with --name to make it so")
        if request.method not in SAFE and not is_own_origin(request) and not _is_of_helpers(request):
            return problem(403, "a request of another site")
        if request.match_info.http_exception is not None:
            return None  # there is no such page, and everybody may know
        role: Role | None = getattr(request.match_info.handler, "role", Role.CONTROL)
        caller, roles = self._caller(request)
        if roles is None:
            return problem(401, "the token is wrong, was revoked or has expired", {"WWW-Authenticate": "Bearer"})
        request[CALLER], request[ROLES] = caller, roles
        if role is None or role in roles:
            return None
        if "Authorization" in request.headers:
            return problem(403, f"this token does not have the role {role}")
        return problem(401, f"this needs a token of the role {role} (gcs token create)", {"WWW-Authenticate": "Bearer"})

    def _caller(self, request: web.Request) -> tuple[str, frozenset[Role] | None]:
        """The name and the roles of the caller; None for the roles if the token is not valid."""
        given = request.headers.getall("Authorization", [])
        if not given:
            return "", ALLOWS[Role.VIEW] if self.on_loopback else frozenset()
        scheme, _, token = given[0].partition(" ")
        if scheme.lower() == "basic" and request.method in SAFE:
            scheme, token = "bearer", _password(token)
        is_bearer = scheme.lower() == "bearer" and len(given) == 1
        key = holder(token.strip(), self._keys, time.time()) if is_bearer else None
        if key is None:
            return "", None
        request[KEY] = key
        return key.label or key.id, allowed(key)

    def _is_known_host(self, request: web.Request) -> bool:
        name = host_of_authority(request.headers.get("Host", ""))
        return not self.on_loopback or is_loopback(name) or name in self._names


def _password(credentials: str) -> str:
    """Of HTTP Basic: what readers of feeds can send. Only to look: a browser sends it for pages of other sites, too."""
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host name or an address is a loopback one."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def host_of_authority(authority: str) -> str:
    """The host of a Host header, without port and brackets, in lower case."""
    name, colon, port = authority.rpartition(":")
    return (name if colon and port.isdigit() else authority).strip("[]").lower()


def is_own_origin(request: web.Request) -> bool:
    """Whether a request was made by the station's own page, or by no page at all."""
    if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("Origin")
    return origin is None or origin.partition("://")[2] == request.headers.get("Host")


def _is_of_helpers(request: web.Request) -> bool:
    """Whether a request is for the gateway: a browser extension has an origin of its own there, and always a token."""
    return getattr(request.match_info.handler, "role", None) is Role.HELPER


async def secure(request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers of every answer, before it is sent."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)  # an archived page has its own
    if request.secure or is_loopback(
        host_of_authority(request.headers.get("Host", ""))
    ):  # elsewhere, browsers complain of it
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["Server"] = "gcs"
