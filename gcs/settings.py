"""The settings tree: frozen dataclasses, one per part, each spelled beside its code and put together here.

Precedence: TOML file < environment (GCS_SECTION_KEY) < flags. An unknown key is an error that names the
nearest known one. Documentation of a key is the `#:` comment above its field: `--help` and `gcs settings` print it.
"""

import dataclasses
import difflib
import inspect
import math
import re
import typing
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from gcs.core.helpers.pools import HelperSettings
from gcs.core.helpers.trust import TrustSettings
from gcs.core.plan.seed_domains import SeedServerSettings
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.polite.politeness import Politeness
from gcs.core.url.admission import Guard
from gcs.core.url.canonical import UrlRules
from gcs.errors import SettingsError
from gcs.ports.errands import HelperTerms
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.sources import MAIL_VARIABLE, VARIABLE
from gcs.ports.frontier import FrontierSettings
from gcs.ports.records.layout import NAME, StoreSettings
from gcs.ports.space.address import SpaceSettings
from gcs.ports.summarise import SummarySettings
from gcs.version import __version__

ENVIRONMENT_PREFIX = "GCS_"
#: variables of that prefix which are not settings
NOT_SETTINGS = frozenset({
    "GCS_SPACE", "GCS_SPACE_KEY", "GCS_SPACE_KEY_FILE", "GCS_ALLOW", "GCS_GATEWAY", "GCS_RQ", "GCS_TOKEN",
    "GCS_STATION_LISTEN", "GCS_SINK", "GCS_SINKS", "GCS_SIGNATURE_KEY_FILE",
    "GCS_STATION_VIEW_TOKEN", "GCS_STATION_CRAWL_TOKEN", "GCS_STATION_CONTROL_TOKEN", "GCS_STATION_HELPER_TOKEN",
})  # fmt: skip
#: how variables begin that name a database or a mailbox on a server
SERVERS = (VARIABLE, MAIL_VARIABLE)
#: characters that the comment of a User-Agent may have
_CONTACT = re.compile(r"[\x20-\x27\x2a-\x7e]*")
NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """What is crawled, in whose name, and when it ends."""

    #: name of the crawl, in file names and on the whiteboard
    name: str = "crawl"
    #: e-mail address or page of whoever answers for this crawl; sites see it in the User-Agent
    contact: str = ""
    #: follow links to: what lies below the seeds, their hosts, their registered domains, or anywhere
    scope: Literal["prefix", "host", "domain", "any"] = "host"
    #: what goes first: bfs (fewest links from a seed), backlink (most linked), opic (on-line page importance), or a
    #: score of your own: module:function, or an entry point of the group gcs.orders
    order: str = "bfs"
    #: regular expressions; a URL that is no seed must match one of them, if there are any
    include: tuple[str, ...] = ()
    #: regular expressions; a URL that matches one of them is left out, unless it is a seed
    exclude: tuple[str, ...] = ()
    #: a file of URLs, one a line: the coverage in the report is the share of them whose pages are stored; without one,
    #: that of the web in scope, as far as it can be told
    expected: str = ""
    #: end after so many pages, in a team soon after; 0 for no limit
    max_pages: int = 0
    #: end after so many seconds; 0 for no limit
    max_seconds: float = 0.0
    #: take the sitemaps that robots.txt names as link sources
    sitemaps: bool = True
    #: ask each host for its llms.txt, and take that as a link source: one request a host more
    llms_txt: bool = False
    #: redirects in a row that are followed
    max_redirects: int = 10
    #: what the pages are for: search, ai-input or ai-train; what a site reserves for that is not taken (Content-Usage,
    #: Content-Signal, noai, tdm-reservation). Empty: preferences are recorded, and nothing is left out
    purpose: Literal["", "search", "ai-input", "ai-train"] = ""
    #: also fetch what pages need to look like themselves: style sheets, images, scripts, fonts and frames, on whatever
    #: host, as politely as pages. They are archived (WARC); they are no pages
    requisites: bool = False
    #: requisites of one page, or of one style sheet
    max_requisites: int = 500
    #: where several crawls share machines (gcs gatherer --all, gcs station FOLDER): its share of their connections and
    #: CPU, against those of the others
    share: float = 1.0
    #: your own code for pages, links and requests: module:object, or an entry point of the group gcs.plugins
    plugins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise SettingsError(f"crawl.name: {self.name!r} cannot be part of a file name: use letters, digits, . _ -")
        if not _CONTACT.fullmatch(self.contact):
            raise SettingsError(f"crawl.contact: {self.contact!r} cannot be sent in a header: use plain ASCII")
        if not 0.01 <= self.share <= 100:
            raise SettingsError(f"crawl.share is {self.share}: it must be between 0.01 and 100")
        for option in ("include", "exclude"):
            for pattern in getattr(self, option):
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise SettingsError(
                        f"crawl.{option}: {pattern!r} is not a regular expression ({error}): correct or escape it"
                    ) from None


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a crawl."""

    crawl: CrawlSettings = field(default_factory=CrawlSettings)
    politeness: Politeness = field(default_factory=Politeness)
    urls: UrlRules = field(default_factory=UrlRules)
    traps: Guard = field(default_factory=Guard)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    summary: SummarySettings = field(default_factory=SummarySettings)
    frontier: FrontierSettings = field(default_factory=FrontierSettings)
    seed_server: SeedServerSettings = field(default_factory=SeedServerSettings)
    team: TeamSettings = field(default_factory=TeamSettings)
    helpers: HelperSettings = field(default_factory=HelperSettings)
    trust: TrustSettings = field(default_factory=TrustSettings)
    space: SpaceSettings = field(default_factory=SpaceSettings)
    store: StoreSettings = field(default_factory=StoreSettings)


def load(
    file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, object],
    before: Mapping[str, object] = NOTHING,
) -> Settings:
    """The settings of a run. `flags` maps dotted keys ("politeness.delay_s") to values; None counts as not given.

    `before` are the `differences` of an earlier run of the same crawl: they hold unless a source overrides them.
    """
    known, tree = types(), dict[str, dict[str, object]]()
    for source, values in (
        ("earlier run", before),
        (str(file), _from_file(file) if file else {}),
        ("environment", _from_environment(environment)),
        ("command line", {key: value for key, value in flags.items() if value is not None}),
    ):
        for dotted, value in values.items():
            if dotted not in known:
                raise SettingsError(f"{source}: unknown setting '{dotted}'{_nearest(dotted, known)}")
            section, _, key = dotted.partition(".")
            tree.setdefault(section, {})[key] = _convert(dotted, value, known[dotted], source)
    return Settings(**{name: part(**tree.get(name, {})) for name, part in _parts().items()})


def of_charter(data: bytes) -> Settings:
    """The settings in the charter of a crawl, which came from the whiteboard."""
    try:
        return msgspec.json.decode(data, type=Settings)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(
            f"the settings of the crawl cannot be read ({error}): they are damaged, or of another version of GCS; "
            "start the crawl again with gcs crawl"
        ) from None


def differences(settings: Settings) -> dict[str, object]:
    """The dotted keys whose values are not the defaults."""
    changed: dict[str, object] = {}
    for name, part in _parts().items():
        values, defaults = getattr(settings, name), part()
        for key in (key.name for key in dataclasses.fields(part)):
            if getattr(values, key) != getattr(defaults, key):
                changed[f"{name}.{key}"] = getattr(values, key)
    return changed


def with_user_agent(settings: Settings) -> Settings:
    """The settings with a User-Agent that says who crawls and where to complain."""
    if settings.fetch.user_agent:
        return settings
    contact = f" (+{settings.crawl.contact})" if settings.crawl.contact else ""
    fetch = dataclasses.replace(settings.fetch, user_agent=f"gcs/{__version__}{contact}")
    return dataclasses.replace(settings, fetch=fetch)


def terms(settings: Settings) -> HelperTerms:
    """The settings that a helper of a crawl needs, without secrets and without settings of one machine."""
    settings = with_user_agent(settings)
    fetch = dataclasses.replace(settings.fetch, proxy=None, ca_file=None, sources=(), signature_agent="")
    heed, lease_s = settings.politeness.nofollow, settings.helpers.lease_s
    return HelperTerms(settings.crawl.name, fetch, settings.urls, settings.summary, heed, lease_s)


@cache
def types() -> Mapping[str, Any]:
    """Every dotted key with the type of its value. Cached, because every flag asks and resolving the types is slow."""
    return {
        f"{section}.{name}": annotation
        for section, part in _parts().items()
        for name, annotation in typing.get_type_hints(part).items()
        if name in {known.name for known in dataclasses.fields(part)}
    }


def documentation() -> Iterator[tuple[str, object, str]]:
    """Every dotted key with its default and the text of its `#:` comment."""
    for section, part in _parts().items():
        for name, default, text in notes(part):
            yield f"{section}.{name}", default, text


def notes(part: type) -> Iterator[tuple[str, object, str]]:
    """Every field of a dataclass with its default and the text of its `#:` comment."""
    defaults = part()
    text: list[str] = []
    for line in map(str.strip, inspect.getsource(part).splitlines()):
        name = line.partition(":")[0]
        if line.startswith("#:"):
            text.append(line[2:].strip())
        elif hasattr(defaults, name) and line.startswith(f"{name}:"):
            yield name, getattr(defaults, name), " ".join(text)
            text = []


def _from_file(file: Path) -> dict[str, object]:
    import tomllib  # most crawls need no file

    try:
        tree = tomllib.loads(file.read_text())
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read ({error.strerror}); give a TOML file with -c") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: not TOML: it is no UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: not TOML: {error}") from None
    flat: dict[str, object] = {}
    for section, values in tree.items():
        if not isinstance(values, dict):
            raise SettingsError(f"{file}: '{section}' stands outside a [section]; known sections: {_sections()}")
        flat |= {f"{section}.{key}": value for key, value in values.items()}
    return flat


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    known = {f"{ENVIRONMENT_PREFIX}{dotted.replace('.', '_').upper()}": dotted for dotted in types()}
    found: dict[str, object] = {}
    for name, value in environment.items():
        if name in known:
            found[known[name]] = value
        elif name.startswith(ENVIRONMENT_PREFIX) and name not in NOT_SETTINGS and not name.startswith(SERVERS):
            raise SettingsError(f"environment: unknown setting {name}{_nearest(name, known)}")
    return found


def _nearest(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else f"; known sections: {_sections()}"


def _sections() -> str:
    return ", ".join(_parts())


def _parts() -> dict[str, Any]:
    """The sections, each with the dataclass whose fields are its keys."""
    return {part.name: part.type for part in dataclasses.fields(Settings)}


def _convert(dotted: str, value: object, annotation: Any, source: str) -> object:
    """The value as the key's type. In text, a list is written as `gcs settings` prints it, or separated by commas; an
    empty text means None.
    """
    given = value
    if isinstance(value, str) and typing.get_origin(annotation) is tuple:
        value = _list_of(value)
    elif value == "" and type(None) in typing.get_args(annotation):
        return None
    try:
        converted = msgspec.convert(value, annotation, strict=False)
    except msgspec.ValidationError:
        raise SettingsError(f"{source}: {dotted} is {given!r}: give {_wanted(annotation)}") from None
    if isinstance(converted, int | float) and not 0 <= converted < math.inf:
        raise SettingsError(f"{source}: {dotted} is {given!r}: it must not be negative or without end")
    return converted


def _list_of(text: str) -> list[str]:
    if text.lstrip().startswith("["):
        with suppress(msgspec.DecodeError):  # a regular expression begins so, too
            return msgspec.json.decode(text, type=list[str])
    return [part.strip() for part in text.split(",") if part.strip()]


def _wanted(annotation: Any) -> str:
    """The values that a type accepts, in words."""
    if typing.get_origin(annotation) is Literal:
        return ", ".join(map(str, typing.get_args(annotation)))
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return names.get(annotation, "a list of texts" if typing.get_origin(annotation) is tuple else "text")
