"""The address guard: which addresses a crawler may connect to (against SSRF and DNS rebinding).

Engines ask at connect time, about the very address they are going to connect to, so that a name which
resolves differently a moment later gains nothing. The answer is the reason to refuse, or None.

Only what the IANA special-purpose registries call globally reachable unicast passes. The tables stand here and are
not taken from `ipaddress.is_global`, whose answers differ between patch releases of Python (and which lets
multicast through). Must not resolve names.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_V4 = tuple(
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud metadata"),  # Azure's, though the address itself is a public one
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "protocol assignment"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)

#: names for the ranges outside of global unicast that people meet; the rest is "reserved"
_V6 = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::1/128", "loopback"),
        ("::/128", "unspecified"),
        ("::ffff:0:0/96", "IPv4-mapped"),
        ("64:ff9b:1::/48", "local NAT64"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
        # inside global unicast:
        ("2001::/23", "protocol assignment"),  # Teredo, ORCHID, benchmarking…
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


@lru_cache(maxsize=4096)
def forbidden(address: str) -> str | None:
    """Why this address (as a socket names it) is refused: "10.1.2.3 is a private address". None: it may be used."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return f"{address} is not an address"
    kind = _kind_v4(ip) if isinstance(ip, IPv4Address) else _kind_v6(ip)
    return f"{address} is not a public address ({kind})" if kind else None


def forbidden_host(authority: str) -> str | None:
    """Why the authority of a URL is refused, where a proxy will do the connecting. None: it may be used.

    Only what the URL itself says can be judged here: an address, or a name that always means this machine.
    """
    host = authority.rpartition("@")[2]
    if host[:1] == "[":
        return forbidden(host[1:].partition("]")[0])
    host = host.partition(":")[0].rstrip(".").lower()
    last = host.rpartition(".")[2]
    if last == "localhost":
        return f"{host} is not a public host (loopback)"
    # a host whose last label is a number is an IPv4 address, in whatever notation
    return forbidden(host) if last.isdigit() or last.startswith("0x") else None


def _kind_v4(ip: IPv4Address) -> str | None:
    return next((kind for network, kind in _V4 if ip in network), None)


def _kind_v6(ip: IPv6Address) -> str | None:
    if ip in _NAT64:  # how an IPv6-only machine sees all of the IPv4 web: the address inside decides
        return _kind_v4(IPv4Address(int(ip) & 0xFFFFFFFF))
    kind = next((kind for network, kind in _V6 if ip in network), None)
    return kind or (None if ip in _GLOBAL_UNICAST else "reserved")
