"""Find a running crawl: the options that name it, its whiteboard, its charter, and a short visit there."""

import asyncio
import dataclasses
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from gcs.app.crawl_dir import is_crawl
from gcs.app.say import say
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter
from gcs.errors import SpaceError, UsageError
from gcs.events import set_up_log
from gcs.ports.space.address import SpaceSettings, shown
from gcs.ports.space.embedded_server import address_of
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import crawls_at, open_space

T = TypeVar("T")

#: an option was written on the command line
_TYPED = click.core.ParameterSource.COMMANDLINE

#: seconds that a process waits for the charter of its crawl
CHARTER_S = 60.0


@dataclass(frozen=True, slots=True)
class CrawlAddress:
    """The running crawl that a user means: by its directory, or by its whiteboard and name."""

    output: Path
    url: str | None
    crawl: str | None

    async def locate(self) -> tuple[str, str]:
        """The URL of the whiteboard and the name of the crawl."""
        url = self.url or address_of(self.output / "state" / "space")
        if url is None:
            raise UsageError(
                f"{self.output}: no team is crawling here; give the DIR of a running gcs crawl -n, or --space"
            )
        names = [self.crawl] if self.crawl is not None else await crawls_at(url)
        if len(names) != 1:
            raise UsageError(f"{shown(url)} has the crawls {', '.join(names) or '(none)'}: choose with --crawl NAME")
        return url, names[0]


def at_crawl(command: Callable[..., Any] | None = None, *, with_dir: bool = True) -> Callable[..., Any]:
    """Give a command the argument and options that name a running crawl; it takes them as one CrawlAddress, `at`.

    Without `with_dir`, DIR may stand before the command's own arguments: it calls `split_dir`.
    """
    if command is None:
        return functools.partial(at_crawl, with_dir=with_dir)

    @functools.wraps(command)
    def run(output: Path | None, url: str | None, crawl: str | None, **options: Any) -> Any:
        directory = options.pop("directory", None)
        if output and directory is None and click.get_current_context().get_parameter_source("output") is _TYPED:
            say(f"gcs: note: DIR needs no -o any more: {_words()} {output}", err=True)
        return command(at=CrawlAddress(directory or output or Path("crawl"), url, crawl), **options)

    options = [
        click.option("--crawl", help="Name of the crawl. [the only one there]"),
        click.option("--space", "url", envvar="GCS_SPACE", metavar="URL", help="Its whiteboard, if not in DIR."),
        click.option("-o", "--output", type=click.Path(path_type=Path), hidden=True),
    ]
    if with_dir:
        options.append(click.argument("directory", type=click.Path(path_type=Path), required=False, metavar="[DIR]"))
    for option in options:
        run = option(run)
    return run


def split_dir(at: CrawlAddress, words: tuple[str, ...]) -> tuple[CrawlAddress, tuple[str, ...]]:
    """Take DIR from the beginning of the words, if the first of them names a directory with a crawl."""
    if words and is_crawl(Path(words[0])):
        return dataclasses.replace(at, output=Path(words[0])), words[1:]
    return at, words


def _words() -> str:
    return click.get_current_context().command_path


def visit(at: CrawlAddress, do: Callable[[Space], Awaitable[T]]) -> T:
    """Open the whiteboard of a crawl, do something there, and close it. Returns what `do` returns."""
    set_up_log("error", as_json=False)  # if it cannot be reached, the error message says so
    return asyncio.run(_visit(at, do))


async def _visit(at: CrawlAddress, do: Callable[[Space], Awaitable[T]]) -> T:
    url, crawl = await at.locate()
    space = await open_space(url, crawl=crawl, name="user", settings=SpaceSettings(patience_s=5.0))
    try:
        return await do(space)
    finally:
        for kind, reason in space.refusals.reasons.items():
            say(f"gcs: not shown: a {kind.name} tuple {reason}", err=True)
        await space.close()


async def read_charter(space: Space, crawl: str, url: str) -> Charter:
    """The charter of a crawl; waits until somebody has started the crawl."""
    charter = await space.read(template(Charter))
    if charter is None and Charter not in space.refusals.reasons:  # to wait for another team's charter is no use
        charter = await space.read(template(Charter), timeout_s=CHARTER_S)
    if charter is None:
        raise no_crawl(space, crawl, url)
    return charter


def no_crawl(space: Space, crawl: str, url: str) -> SpaceError:
    """The error of a process whose crawl is not on the whiteboard, or has another team key. It shows no password."""
    if reason := space.refusals.reasons.get(Charter):
        return SpaceError(f"the charter of the crawl '{crawl}' at {shown(url)} {reason}")
    return SpaceError(
        f"there is no crawl '{crawl}' at {shown(url)}: start it with gcs crawl --space, or check the name"
    )
