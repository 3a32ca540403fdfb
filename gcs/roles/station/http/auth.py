"""The doorman: which requests come in. Host, origin and token are looked at before any handler is.

- Bound to loopback, a request must name a loopback host (or one of `names`): a page of the web whose name was rebound
  to 127.0.0.1 is turned away. There, whoever asks may look; to act needs a token all the same, since other users and
  other pages of the browser are on loopback too.
- Bound to any other address, everything but the page's own files and the health checks needs a token.
- A request that changes something must not come from another site (Sec-Fetch-Site, Origin). Tokens travel in a header,
  never in a cookie, so that no other site can borrow one. Helpers may: theirs is a door that a token alone opens.

A handler says what it needs (`needs(Role.VIEW)`, or `public`); one that says nothing needs the control role.

Invariant: no handler runs for a request that was not let in. It must not know what the handlers do.
"""

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

#: the token of whoever asks with one
KEY = web.RequestKey("key", Access)
#: who asks, as a handler finds it in its request
CALLER = web.RequestKey("caller", str)
#: what the caller may do
ROLES = web.RequestKey("roles", frozenset[Role])

#: seconds between two looks for a token that is not known
AGAIN_S = 0.2
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: what every answer says: nothing from elsewhere, in no frame, no guessing of types
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
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
    """Lets requests in, or not."""

    def __init__(
        self,
        host: str,
        *,
        keys: Iterable[Access] = (),
        names: Iterable[str] = (),
        posted: Callable[[], Awaitable[Iterable[Access]]] | None = None,
    ) -> None:
        self.on_loopback = is_loopback(host)
        self._posted, self._looked_at = posted, -AGAIN_S
        self._names = frozenset(name.lower() for name in names)
        self._own_keys = tuple(keys)
        self._keys = self._own_keys

    def update(self, posted: Iterable[Access]) -> None:
        """These tokens are on the whiteboard now; others are revoked."""
        self._keys = (*self._own_keys, *posted)

    def allows(self, request: web.Request, role: Role) -> bool:
        """Whether the caller of a request may do this now: a token may have been revoked since it came in."""
        roles = self._caller(request)[1]
        return roles is not None and role in roles

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The middleware."""
        if self._caller(request)[1] is None:
            await self._look_again()
        if refusal := self._refusal(request):
            return refusal
        return await handler(request)

    async def _look_again(self) -> None:
        """Before a token is called wrong: it may have been made just now. Who guesses tokens costs us little by it."""
        if self._posted is None or time.monotonic() < self._looked_at + AGAIN_S:
            return
        self._looked_at = time.monotonic()
        with contextlib.suppress(SpaceError):
            self.update(await self._posted())

    def _refusal(self, request: web.Request) -> web.Response | None:
        if not self._is_known_host(request):
            return problem(421, "this station is not known by that name; start it with --name to make it so")
        if request.method not in SAFE and not is_own_origin(request) and not _is_of_helpers(request):
            return problem(403, "a request of another site")
        if request.match_info.http_exception is not None:
            return None  # no such page: that is said to everyone
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
        """Who asks, and what for; None if the token is no good."""
        given = request.headers.getall("Authorization", [])
        if not given:
            return "", ALLOWS[Role.VIEW] if self.on_loopback else frozenset()
        scheme, _, token = given[0].partition(" ")
        kept = (
            holder(token.strip(), self._keys, time.time()) if scheme.lower() == "bearer" and len(given) == 1 else None
        )
        if kept is None:
            return "", None
        request[KEY] = kept
        return kept.label or kept.id, allowed(kept)

    def _is_known_host(self, request: web.Request) -> bool:
        name = host_of(request.headers.get("Host", ""))
        return not self.on_loopback or is_loopback(name) or name in self._names


def is_loopback(host: str) -> bool:
    """Whether this is a name or an address of this machine, for itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(authority: str) -> str:
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
    """Whether this is the helpers' door: a browser extension knocks there in its own name, and always with a token."""
    return getattr(request.match_info.handler, "role", None) is Role.HELPER


async def secure(request: web.Request, response: web.StreamResponse) -> None:
    """Before an answer is sent: what every answer says."""
    response.headers.update(HEADERS)
    if request.secure or is_loopback(host_of(request.headers.get("Host", ""))):  # elsewhere, browsers complain of it
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["Server"] = "gcs"
