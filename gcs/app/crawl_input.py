"""The input of a crawl: settings and seeds, from the command line, from files, and from earlier runs in its directory.

The option of a setting is spelled once, in the dataclass of the setting: name, type and help derive from it. Several
commands share the options at the end of this module.
"""

import functools
import math
import os
import re
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

import click
import msgspec

from gcs.app import crawl_dir
from gcs.app.crawl_dir import read_kept, write_kept
from gcs.core.polite.politeness import Politeness
from gcs.core.url.canonical import UrlRules, is_own, seed_url, why_no_seed
from gcs.core.url.sources import is_below, is_local, is_source, source_url
from gcs.errors import SettingsError, StoreError, UsageError
from gcs.events import LEVELS, set_up_log
from gcs.ports.fetch.sources import MAIL_VARIABLE, VARIABLE, address_of
from gcs.settings import NOTHING, Settings, differences, documentation, load, types

#: flag → dotted key of the setting it sets; everything else by --set
FLAGS = {
    "--name": "crawl.name",
    "--contact": "crawl.contact",
    "--max-pages": "crawl.max_pages",
    "--max-seconds": "crawl.max_seconds",
    "--scope": "crawl.scope",
    "--purpose": "crawl.purpose",
    "--depth": "traps.max_depth",
    "--requisites": "crawl.requisites",
    "--order": "crawl.order",
    "--queue": "frontier.queue",
    "--include": "crawl.include",
    "--exclude": "crawl.exclude",
    "--coordination": "team.coordination",
    "--mode": "team.mode",
    "--delay": "politeness.delay_s",
    "--summary": "summary.depth",
    "--anchors": "summary.anchors",
    "--allow-private": "fetch.allow_private",
    "--proxy": "fetch.proxy",
    "--connections": "fetch.connections",
    "--warc": "store.warc",
    "--store": "store.url",
    "--plugins": "crawl.plugins",
}
#: settings that hold for one run only
ONE_RUN = frozenset({"crawl.max_pages", "crawl.max_seconds"})
#: characters of a bad seed that its error shows
_SHOWN = 100
#: what the name of a crawl cannot hold, and how long one that is made of a directory's may be
_NO_NAME, _LONGEST_NAME = re.compile(r"[^A-Za-z0-9._-]+"), 64
#: what a saved seed begins with
_SEED = re.compile(r"[a-z]+://[^/\s]+/")
#: what a path begins with; "docs" alone may be a host
_PATHS = ("/", "./", "../", "~")


@dataclass(frozen=True, slots=True)
class CrawlRun:
    """One run of a crawl: what is crawled, and in which directory."""

    directory: Path
    settings: Settings
    seeds: list[str]
    session: int = 1
    #: seeds and settings of earlier runs in the directory; None if this run saves nothing there
    saved: "SavedCrawl | None" = None
    #: called when the crawl has begun, and nothing has been fetched yet
    on_begin: Callable[[], object] | None = None

    def begin(self) -> None:
        """Save seeds, settings and session. Not before the directory is locked: another crawl may be running there."""
        if self.saved is not None:
            self.saved.write(self.directory, self.seeds, self.settings)
            crawl_dir.begin_session(self.directory, self.session)
        if self.on_begin is not None:
            self.on_begin()


def read_crawl(
    directory: Path,
    urls: tuple[str, ...],
    seeds_file: str | None,
    options: dict[str, Any],
    begins: bool,
    names_itself: bool = True,
) -> CrawlRun:
    """The run that a command line of `gcs crawl` asks for: its seeds and settings are added to those of earlier runs.

    Takes the options of settings out of `options`. With `begins`, the run begins the next session. `names_itself`: a
    new crawl is named after its directory, unless it is given a name.
    """
    saved = SavedCrawl.read(directory)
    delay_is_told = options[_variable("politeness.delay_s")] is not None
    settings = read_settings(options, before=saved.settings)
    if names_itself and not saved.seeds:
        settings = _named_after(directory, settings)
    given = read_seeds(urls, seeds_file, settings.urls)
    return _run(directory, saved, settings, given, begins, delay_is_told, sys.stdin.isatty())


@dataclass(frozen=True, slots=True)
class CrawlRequest:
    """What a program wants to have crawled."""

    urls: tuple[str, ...]
    #: files with more seeds, and with settings
    seeds: str | Path | None = None
    config: str | Path | None = None
    #: whether the run begins the next session
    begins: bool = False


def compose_crawl(directory: Path, asked: CrawlRequest, flags: Mapping[str, object], is_kept: bool = True) -> CrawlRun:
    """The run that a program asks for: `flags` maps dotted keys to values. As `read_crawl`, but nobody is asked.

    `is_kept`: the directory outlives the program, so the crawl is named after it.
    """
    saved = SavedCrawl.read(directory)
    settings = load(Path(asked.config) if asked.config else None, os.environ, flags, saved.settings)
    if is_kept and not saved.seeds:
        settings = _named_after(directory, settings)
    delay_is_told = flags.get("politeness.delay_s") is not None
    given = read_seeds(asked.urls, str(asked.seeds) if asked.seeds else None, settings.urls)
    return _run(directory, saved, settings, given, asked.begins, delay_is_told, False)


def _named_after(directory: Path, settings: Settings) -> Settings:
    """A crawl without a name has that of its directory, as far as it can be part of a file name."""
    name = _NO_NAME.sub("-", directory.absolute().name).lstrip("._-")[:_LONGEST_NAME]
    if settings.crawl.name != Settings().crawl.name or not name:
        return settings
    return replace(settings, crawl=replace(settings.crawl, name=name))


def _run(
    directory: Path,
    saved: "SavedCrawl",
    settings: Settings,
    given: list[str],
    begins: bool,
    delay_is_told: bool,
    may_ask: bool,
) -> CrawlRun:
    seeds = list(dict.fromkeys([*saved.seeds, *given]))
    if not seeds:
        raise UsageError("no seeds: give URLs, or a file of them with --seeds FILE")
    if begins and not saved.seeds:
        raise UsageError(f"{directory}: there is no crawl here to go on from; leave --next out")
    _check_requisites(settings)
    if saved.seeds:
        _check_seed_server(directory, str(saved.settings.get("team.coordination", "")), settings, begins)
    settings = _with_sources(_ask_contact(settings, seeds, may_ask), seeds, directory, delay_is_told)
    begins = begins or (crawl_dir.was_barren(directory) and settings.team.coordination != "seed-server")
    return CrawlRun(directory, settings, seeds, max(crawl_dir.current_session(directory), 1) + begins, saved)


@dataclass(frozen=True, slots=True)
class SavedCrawl:
    """The seeds that a crawl was ever given, and its settings by dotted key: state/seeds.txt and settings.json.

    `gcs crawl -o DIR` goes on with the same scope, contact and politeness. Limits are not saved, because to go on past
    a limit is what a second run is for.
    """

    seeds: tuple[str, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)

    @staticmethod
    def read(directory: Path) -> "SavedCrawl":
        """The seeds and settings of the directory; none where there was no crawl."""
        seeds, settings = _saved_files(directory)
        try:
            urls = tuple((read_kept(seeds) or b"").decode().splitlines())
            if not all(map(_SEED.match, urls)):
                raise ValueError
            return SavedCrawl(
                urls,
                msgspec.json.decode(read_kept(settings) or b"{}", type=dict[str, object]),
            )
        except OSError as error:
            raise StoreError(f"{error.filename}: cannot be read ({error.strerror})") from None
        except ValueError:
            raise StoreError(f"{directory}/state: its seeds or settings are damaged; start a new directory") from None

    def write(self, directory: Path, seeds: list[str], settings: Settings) -> None:
        """Save the seeds and the settings."""
        seeds_file, settings_file = _saved_files(directory)
        kept = msgspec.json.encode({key: value for key, value in differences(settings).items() if key not in ONE_RUN})
        write_kept(seeds_file, "".join(f"{seed}\n" for seed in seeds).encode(), "choose another -o DIR")
        write_kept(settings_file, kept, "choose another -o DIR", 0o600)  # a proxy may have a password


def _saved_files(directory: Path) -> tuple[Path, Path]:
    return directory / "state" / "seeds.txt", directory / "state" / "settings.json"


def _check_requisites(settings: Settings) -> None:
    """Refuse to fetch what pages need where it would be of no use, or could not be handed out."""
    if not settings.crawl.requisites:
        return
    if not settings.store.warc:
        raise UsageError("--requisites fetches what an archive needs, and --no-warc makes none: leave one of them out")
    if settings.team.coordination == "seed-server":
        raise UsageError("--requisites works with superpages: a seed-server hands out no URL that is out of scope")


def _check_seed_server(directory: Path, before: str, settings: Settings, begins: bool) -> None:
    """Refuse to go from a seed-server to another coordination, or back, while URLs would be lost.

    A seed-server knows only the URLs that it has handed out itself, and nobody else knows those that it still holds.
    """
    server, now = "seed-server", settings.team.coordination
    if server not in (before, now) or before == now:
        return
    if now == server:
        raise UsageError(f"{directory}: was not begun by a seed-server, which would know nothing of it; begin another")
    last = crawl_dir.reports(directory).get(crawl_dir.current_session(directory))
    if not begins or last is None or last.state != "done":
        raise UsageError(
            f"{directory}: its seed-server holds URLs that nobody else knows; finish the session without --coordination"
        )


def _ask_contact(settings: Settings, seeds: list[str], may_ask: bool) -> Settings:
    """A crawl of public sites says who answers for it; a crawl of our own machines need not."""
    if settings.crawl.contact or settings.fetch.user_agent or all(map(is_own, seeds)):
        return settings
    if not may_ask:
        raise UsageError(
            "public sites must be able to complain: give --contact you@example.org (or the page of your crawler)"
        )
    contact = click.prompt("Who may sites complain to? Your e-mail address or web page", err=True)
    return replace(settings, crawl=replace(settings.crawl, contact=contact))


# -- seeds, as canonical URLs; folders and databases have paths


def read_seeds(urls: tuple[str, ...], file: str | None, rules: UrlRules) -> list[str]:
    """The canonical seeds, each once. A line that is not a seed raises an error that names the line."""
    found: dict[str, None] = {}
    for place, text in [*(("command line", url) for url in urls), *_lines(file)]:
        url = _source(text) or seed_url(text, rules)
        if url is None:
            kinds = "a seed may also be a folder (./docs), a database (db:FILE) or news (nntp://HOST/GROUP/)"
            raise UsageError(f"{place}: {text[:_SHOWN]!r} {why_no_seed(text[:_SHOWN])}; {kinds}")
        found[url] = None
    return list(found)


def _with_sources(settings: Settings, seeds: list[str], output: Path, delay_is_told: bool) -> Settings:
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
    for scheme in ("db:", "mail:"):
        named = text.lower().startswith(f"{scheme}//") and not text.lower().startswith(f"{scheme}///")
        if text.lower().startswith(scheme) and not named:
            path = Path(text[len(scheme) :].removeprefix("//")).expanduser().absolute()
            text = f"{scheme}//localhost{quote(str(path))}"
    url = source_url(text)
    if not url or not is_local(url):
        return url
    if (host := urlsplit(url).netloc) != "localhost":
        is_mail = url.startswith("mail:")
        variable = MAIL_VARIABLE if is_mail else VARIABLE
        if not address_of(host, variable):
            kind, like = ("database", "its SQLAlchemy URL (postgresql+psycopg://user:password@host/name)")
            if is_mail:
                kind, like = ("mailbox", "its address (imaps://user:password@host/)")
            known = f"this machine knows no {kind} {host}"
            raise UsageError(f"{text[:_SHOWN]}: {known}; set {variable}{host.upper()} to {like}")
        return url.rstrip("/") + "/"
    path = Path(unquote(urlsplit(url).path))
    if not path.exists():
        raise UsageError(f"{text[:_SHOWN]}: there is no {path}")
    if path.is_dir() or not url.startswith("file:"):
        url = url.rstrip("/") + "/"
    return url


def read_lines(file: str | None) -> list[str]:
    """The lines of a file of seeds, as they are written; none without a file."""
    return [text for _, text in _lines(file)]


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


# -- options of commands: settings, logging, numbers


class Number(click.FloatRange):
    """A click.FloatRange of finite numbers: `nan` and `inf` pass every range of click's, and limit nothing."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))  # type: ignore[arg-type]  # it takes what was written, too
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class SettingOption(click.Option):
    """A flag that sets one setting. Its help is looked up only when somebody reads it."""

    def __init__(self, names: Sequence[str], key: str) -> None:
        kind: Any = types()[key]
        flag = names[0]
        self.key = key
        choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else None
        super().__init__(
            [f"{flag}/--no-{flag[2:]}" if kind is bool else flag, _variable(key)],
            default=None,
            type=click.Choice(choices) if choices else None,
            multiple=typing.get_origin(kind) is tuple,  # once for each value: a pattern may hold a comma
            metavar=None if choices or kind is bool else {int: "N", float: "S"}.get(kind, "TEXT"),
        )

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        for key, default, text in documentation():
            if record and key == self.key:
                return record[0], f"{text}  [{_shown(default)}]"
        return record


def setting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command -c, --set and the flags; `read_settings` makes Settings of them."""
    for flag, key in reversed(FLAGS.items()):
        command = click.option(flag, cls=SettingOption, key=key)(command)
    command = click.option(
        "--set", "assignments", multiple=True, metavar="SECTION.KEY=VALUE", help="Any setting (see gcs settings)."
    )(command)
    return click.option("-c", "--config", type=click.Path(path_type=Path), metavar="FILE", help="Settings in TOML.")(
        command
    )


def read_settings(
    options: dict[str, Any],
    extra: Mapping[str, object] = NOTHING,
    before: Mapping[str, object] = NOTHING,
) -> Settings:
    """The settings of this run: takes its own options out of `options`. Flags override `extra`.

    `before` are the settings of an earlier run of the same crawl: every other source overrides them.
    """
    flags = dict(extra)
    for assignment in options.pop("assignments"):
        key, equals, value = assignment.partition("=")
        if not equals:
            raise SettingsError(f"--set {assignment}: write SECTION.KEY=VALUE")
        flags[key.strip()] = value
    for key in FLAGS.values():
        value = options.pop(_variable(key))
        if value not in (None, ()):
            flags[key] = value
    return load(options.pop("config"), os.environ, flags, before)


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --log, --log-json and --log-file, and set logging up before the command runs.

    A line for each URL is written only if --log is given: these commands run for months.
    """

    @functools.wraps(command)
    def run(log_level: str | None, log_json: bool, log_file: Path | None, **options: Any) -> Any:
        set_up_log(log_level or "info", log_json, log_file, with_urls=log_level is not None)
        return command(**options)

    return log_flags("info, without a line for each URL")(run)


def log_flags(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command --log, --log-json and --log-file."""

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option("--log-file", type=click.Path(path_type=Path), metavar="FILE", help="Log to FILE. [stderr]"),
            click.option("--log-json", is_flag=True, help="Log one JSON object a line."),
            click.option(
                "--log", "log_level", type=click.Choice(LEVELS),
                help=f"What is logged; info: a line for each URL, too.  [{default}]",
            ),
        ):  # fmt: skip
            command = option(command)
        return command

    return give


def _variable(key: str) -> str:
    return key.replace(".", "__")


def _shown(default: object) -> str:
    return (
        str(default).lower() if isinstance(default, bool) else str(default) if default not in ("", (), None) else "none"
    )
