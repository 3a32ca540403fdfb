"""The seeds of a crawl: from the command line and from files, as canonical URLs."""

import sys
from pathlib import Path

from gcs.core.seeds import seed_url
from gcs.core.urls import Rules
from gcs.errors import UsageError

#: characters of a bad seed that its error shows
_SHOWN = 100


def read_seeds(urls: tuple[str, ...], file: str | None, rules: Rules) -> list[str]:
    """The canonical seeds, each once; a line that is no http(s) URL is an error that names it."""
    found: dict[str, None] = {}
    for place, text in [*(("command line", url) for url in urls), *_lines(file)]:
        url = seed_url(text, rules)
        if url is None:
            raise UsageError(f"{place}: {text[:_SHOWN]!r} is not an http or https URL")
        found[url] = None
    return list(found)


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
