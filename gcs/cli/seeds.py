"""The seeds of a crawl: from the command line and from files, as canonical URLs.

A seed without a scheme is taken for https, or for http where it is a machine of our own (loopback, private).
"""

import ipaddress
import re
import sys
from pathlib import Path

from gcs.core.urls import Rules, canonical, host
from gcs.errors import UsageError

#: a scheme at the beginning; "localhost:8080" is none
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d+(?:[/?#]|$))")
#: names that RFC 6761 and custom keep off the public internet
_OWN_NAMES = (".localhost", ".test", ".internal")
#: characters of a bad seed that its error shows
_SHOWN = 100


def read_seeds(urls: tuple[str, ...], file: str | None, rules: Rules) -> list[str]:
    """The canonical seeds, each once; a line that is no http(s) URL is an error that names it."""
    found: dict[str, None] = {}
    for place, text in [*(("command line", url) for url in urls), *_lines(file)]:
        url = canonical(_with_scheme(text.strip()), rules)
        if url is None:
            raise UsageError(f"{place}: {text[:_SHOWN]!r} is not an http or https URL")
        found[url] = None
    return list(found)


def is_own(url: str) -> bool:
    """Whether a canonical URL is on a machine of our own, as far as its host says."""
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


def _lines(file: str | None) -> list[tuple[str, str]]:
    if file is None:
        return []
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file}: cannot read the seeds ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: the seeds are not UTF-8 text, one URL a line") from None
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(f"{file}:{number}", line) for number, line in lines if line and not line.startswith("#")]
