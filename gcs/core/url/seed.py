"""One seed, as a person writes it: made a canonical URL.

A seed without a scheme is taken for https, or for http where its host is not public (loopback, private).
"""

import ipaddress
import re

from gcs.core.url.join import UrlRules, canonical, host

#: a scheme at the beginning; "localhost:8080" is none
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d+(?:[/?#]|$))")
#: names that RFC 6761 and custom keep off the public internet
_OWN_NAMES = (".localhost", ".test", ".internal")


def seed_url(text: str, rules: UrlRules) -> str | None:
    """The canonical URL of a seed; None if it is no http or https URL."""
    return canonical(_with_scheme(text.strip()), rules)


def is_own(url: str) -> bool:
    """Whether the host of a canonical URL is not public: loopback, private, or a name kept off the internet."""
    name = host(url).strip("[]")
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        return name == "localhost" or name.endswith(_OWN_NAMES)


def _with_scheme(text: str) -> str:
    if not text or _SCHEME.match(text):
        return text
    rest = text.lstrip("/")
    url = canonical(f"http://{rest}")
    return f"http://{rest}" if url and is_own(url) else f"https://{rest}"
