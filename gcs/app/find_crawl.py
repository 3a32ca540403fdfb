"""Find a running crawl: the options that name it, its whiteboard, its charter, and a short visit there."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from gcs.app.say import say
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter
from gcs.errors import SpaceError, UsageError
from gcs.events import log_to_stderr
from gcs.ports.space.address import SpaceSettings, shown
from gcs.ports.space.embedded_server import address_of
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import crawls_at, open_space

T = TypeVar("T")

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


def at_crawl(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that name a running crawl; the command takes them as one CrawlAddress, `at`."""

    @functools.wraps(command)
    def run(output: Path, url: str | None, crawl: str | None, **options: Any) -> Any:
        return command(at=CrawlAddress(output, url, crawl), **options)

    for option in (
        click.option("--crawl", help="Name of the crawl. [the only one there]"),
        click.option("--space", "url", envvar="GCS_SPACE", metavar="URL", help="Its whiteboard, if not in DIR."),
        click.option(
            "-o", "--output", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, metavar="DIR",
            help="Directory of the crawl.",
        ),
    ):  # fmt: skip
        run = option(run)
    return run


def visit(at: CrawlAddress, do: Callable[[Space], Awaitable[T]]) -> T:
    """Open the whiteboard of a crawl, do something there, and close it. Returns what `do` returns."""
    log_to_stderr("error", as_json=False)  # if it cannot be reached, the error message says so
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
