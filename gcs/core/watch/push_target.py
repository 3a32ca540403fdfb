"""Where the matches of a profile go: a receiver, by the form of its address.

    https://example.org/hook                       a webhook: a POST for each match, signed
    smtp://host:25/?to=a@example.org&every=3600    e-mail: a digest, at most one in so many seconds (smtps:// for TLS)
    redis://host:6379/0?stream=matches             an entry of a Redis stream for each match

The feed and the events of the station need no address: they show every profile.

Invariant: `shown` and `key` hold no secret.
"""

from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import xxhash

from gcs.errors import UsageError

WEBHOOK, MAIL, STREAM = "webhook", "mail", "stream"
#: a webhook that may be at a public address only: somebody else than the owner of the machine has named it
PUBLIC_WEBHOOK = "public-webhook"
_KINDS = {
    **dict.fromkeys(("http", "https"), WEBHOOK),
    **dict.fromkeys(("smtp", "smtps"), MAIL),
    **dict.fromkeys(("redis", "rediss", "unix"), STREAM),
}
#: seconds between two digests, unless the address says ?every=SECONDS
DIGEST_S = 3_600.0
_MOST = 2_000


class PushTarget(NamedTuple):
    """Where the matches of a profile are pushed to."""

    kind: str
    #: as it was given; may hold a password
    address: str

    @classmethod
    def parse(cls, address: str) -> "PushTarget":
        try:
            parts = urlsplit(address)
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise UsageError("--push: this is no URL") from None
        kind = _KINDS.get(parts.scheme.lower())
        if kind is None or not (host or parts.scheme == "unix") or len(address) > _MOST or not address.isprintable():
            raise UsageError("--push: write https://… (a webhook), smtp://HOST/?to=…, or redis://HOST/0?stream=…")
        target = cls(kind, address)
        if kind == MAIL and not target.option("to"):
            raise UsageError("--push smtp://…: say to whom: smtp://HOST:25/?to=NAME@EXAMPLE.ORG")
        if kind == MAIL and not target.option("every", "0").replace(".", "", 1).isdecimal():
            raise UsageError("--push smtp://…: every=SECONDS is a number")
        return target

    @classmethod
    def public_webhook(cls, address: str) -> "PushTarget":
        """From an address that is not the owner's."""
        target = cls.parse(address)
        parts = urlsplit(address)
        if target.kind != WEBHOOK or parts.username is not None or parts.password is not None:
            raise UsageError(
                "a receiver is a webhook here: https://…, without a user; others by gcs profile add --push"
            )
        return cls(PUBLIC_WEBHOOK, address)

    def option(self, name: str, default: str = "") -> str:
        return dict(parse_qsl(urlsplit(self.address).query)).get(name, default)

    @property
    def every_s(self) -> float:
        """Seconds from one push to the next at least."""
        return float(self.option("every") or DIGEST_S) if self.kind == MAIL else 0.0

    @property
    def host(self) -> str:
        """Who answers for it: receivers at one host share its slots."""
        parts = urlsplit(self.address)
        return f"{parts.hostname}:{parts.port}"

    @property
    def shown(self) -> str:
        """For people and logs: without user, password, path and query, which may hold secrets."""
        parts = urlsplit(self.address)
        port = f":{parts.port}" if parts.port else ""
        to = f" to {self.option('to')}" if self.kind == MAIL else ""
        hidden = "/…" if self.kind in (WEBHOOK, PUBLIC_WEBHOOK) and (parts.path.strip("/") or parts.query) else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}{hidden}{to}"

    @property
    def key(self) -> str:
        return xxhash.xxh3_64_hexdigest(self.address.encode())
