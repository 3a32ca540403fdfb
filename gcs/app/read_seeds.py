"""The seeds of a crawl: from the command line and from files, as canonical URLs. Folders and databases have paths."""

import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from gcs.core.polite.politeness import Politeness
from gcs.core.url.canonical import UrlRules, seed_url
from gcs.core.url.sources import is_below, is_local, is_source, source_url
from gcs.errors import UsageError
from gcs.settings import Settings

#: characters of a bad seed that its error shows
_SHOWN = 100
#: what a path begins with; "docs" alone may be a host
_PATHS = ("/", "./", "../", "~")


def read_seeds(urls: tuple[str, ...], file: str | None, rules: UrlRules) -> list[str]:
    """The canonical seeds, each once. A line that is not a seed raises an error that names the line."""
    found: dict[str, None] = {}
    for place, text in [*(("command line", url) for url in urls), *_lines(file)]:
        url = _source(text) or seed_url(text, rules)
        if url is None:
            kinds = "a folder (./docs), a database (db:FILE) or news (nntp://HOST/GROUP/)"
            raise UsageError(f"{place}: {text[:_SHOWN]!r} is not an http or https URL, and not {kinds}")
        found[url] = None
    return list(found)


def with_sources(settings: Settings, seeds: list[str], output: Path, delay_is_told: bool) -> Settings:
    """The settings that allow to read the seeds that are not on the web; without delay if all are on this machine."""
    here = source_url(output.absolute().as_uri())
    for seed in seeds:
        if is_below(here, seed):
            raise UsageError(f"{output} lies in the folder that is to be crawled: give another directory with -o DIR")
    sources = tuple(dict.fromkeys((*settings.fetch.sources, *filter(is_source, seeds))))
    if sources != settings.fetch.sources:
        settings = replace(settings, fetch=replace(settings.fetch, sources=sources))
    rules = settings.politeness
    if all(map(is_local, seeds)) and not delay_is_told and rules.delay_s == Politeness().delay_s:
        settings = replace(settings, politeness=replace(rules, delay_s=0.0))
    return settings


def _source(text: str) -> str:
    """The URL of a folder, database or news group, if the seed names one by its scheme or as a path; else empty."""
    is_path = text.startswith(_PATHS) and not text.startswith("//")  # which leaves out a scheme, not a host
    if is_path or text in (".", ".."):
        text = Path(text).expanduser().absolute().as_uri()
    if text[:3].lower() == "db:" and not text.startswith("db://localhost/"):
        text = f"db://localhost{quote(str(Path(text[3:].removeprefix('//')).expanduser().absolute()))}"
    url = source_url(text)
    if not url or not is_local(url):
        return url
    path = Path(unquote(urlsplit(url).path))
    if not path.exists():
        raise UsageError(f"{text[:_SHOWN]}: there is no {path}")
    if path.is_dir() or url.startswith("db:"):
        url = url.rstrip("/") + "/"
    return url


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
