"""Where a whiteboard is (the URL of `--space`, taken apart), and its settings, which every crawl loads.

    unix:///path/to/socket
    redis://[user:password@]host[:port][/db]            rediss:// the same over TLS
    redis+sentinel://[user:password@]host[:port],host…/master[/db]        rediss+sentinel://
    redis+cluster://[user:password@]host[:port],host…                     rediss+cluster://

TLS options, after a "?": ca=FILE, cert=FILE, key=FILE, verify=no. Sentinels with a password of their own:
sentinel_user=, sentinel_password=. User names and passwords are percent-encoded. With every scheme: team_key=FILE, the
file of the key that seals the tuples of the team (`team_key.py`).

Invariant: an Address prints without its password.
"""

from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from gcs.errors import UsageError

Kind = Literal["single", "sentinel", "cluster"]

SCHEMES: dict[str, tuple[Kind, bool]] = {
    "unix": ("single", False),
    "redis": ("single", False),
    "rediss": ("single", True),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
OPTIONS = ("ca", "cert", "key", "verify", "sentinel_user", "sentinel_password", "team_key")
SENTINEL_PORT, REDIS_PORT = 26379, 6379


@dataclass(frozen=True, slots=True)
class SpaceSettings:
    """The limits of the whiteboard. All members of a crawl use the same ones."""

    #: bytes of one type that an inbox holds; beyond that, senders keep their blocks
    inbox_bytes: int = 64 << 20
    #: seconds after which a tuple that its taker neither acked nor renewed is given to another
    lease_s: float = 30.0
    #: deliveries without an ack before a tuple becomes a dead letter
    max_deliveries: int = 5
    #: seconds for a server to answer when a command begins: a wrong address is told soon
    open_s: float = 5.0
    #: seconds of an unreachable server before a verb gives up with SpaceError
    patience_s: float = 120.0
    #: append-only file of the embedded server: always, or everysec (faster; what a crash loses is sent again)
    fsync: Literal["always", "everysec"] = "everysec"


@dataclass(frozen=True, slots=True)
class SpaceAddress:
    """A whiteboard's address."""

    kind: Kind = "single"
    hosts: tuple[tuple[str, int], ...] = ()
    socket: str = ""
    tls: bool = False
    user: str = ""
    password: str = field(default="", repr=False)
    db: int = 0
    #: the name by which sentinels know the master
    master: str = ""
    options: dict[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        if self.socket:
            return f"unix://{self.socket}"
        scheme = ("rediss" if self.tls else "redis") + ("" if self.kind == "single" else f"+{self.kind}")
        user = f"{self.user}@" if self.user else ""
        return f"{scheme}://{user}" + ",".join(f"{host}:{port}" for host, port in self.hosts)

    def login(self) -> dict[str, Any]:
        """Keyword arguments of redis-py for TLS and the user."""
        arguments: dict[str, Any] = {"username": self.user or None, "password": self.password or None}
        if self.tls:
            options = self.options
            arguments |= {
                "ssl": True,
                "ssl_ca_certs": options.get("ca"),
                "ssl_certfile": options.get("cert"),
                "ssl_keyfile": options.get("key"),
            }
            if options.get("verify") == "no":
                arguments |= {"ssl_cert_reqs": "none", "ssl_check_hostname": False}
        return arguments


def parse(url: str) -> SpaceAddress:
    """The address in a URL; UsageError says what is wrong with it."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise UsageError(f"--space {shown(url)!r}: the scheme is none of {', '.join(SCHEMES)}")
    kind, tls = SCHEMES[parts.scheme]
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options:
        if name not in OPTIONS:
            raise UsageError(f"--space {shown(url)!r}: unknown option {name!r}; there are {', '.join(OPTIONS)}")
    if parts.scheme == "unix":
        if parts.netloc or not parts.path:
            raise UsageError(f"--space {url!r}: a socket is given as unix:///path/to/socket")
        return SpaceAddress(socket=unquote(parts.path), options=options)
    login, _, hosts = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    path = [unquote(part) for part in parts.path.split("/") if part]
    master = ""
    if kind == "sentinel":
        if not path:
            raise UsageError(f"--space {shown(url)!r}: name the master, as in redis+sentinel://host:26379/mymaster")
        master = path.pop(0)
    if len(path) > 1 or (path and (kind == "cluster" or not path[0].isdigit())):
        raise UsageError(f"--space {shown(url)!r}: {'/'.join(path)!r} is not a database number")
    return SpaceAddress(
        kind=kind,
        hosts=tuple(_host(text, SENTINEL_PORT if kind == "sentinel" else REDIS_PORT, url) for text in hosts.split(",")),
        tls=tls,
        user=unquote(user),
        password=unquote(password),
        db=int(path[0]) if path else 0,
        master=master,
        options=options,
    )


def _host(text: str, default_port: int, url: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):  # no port, or the last colon is inside an IPv6 address
        host, port = text, str(default_port)
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"--space {shown(url)!r}: {text!r} is not host:port")
    return host.strip("[]"), int(port)


def shown(url: str) -> str:
    """The URL without its password, for messages."""
    scheme, _, rest = url.partition("://")
    login, at, hosts = rest.rpartition("@")
    return f"{scheme}://{login.partition(':')[0]}{at}{hosts.partition('?')[0]}"
