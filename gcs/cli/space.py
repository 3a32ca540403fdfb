"""`gcs space`: the whiteboard as a person sees it. Looking changes nothing; only `rm` does."""

import dataclasses
import functools
import shutil
from collections.abc import Callable
from typing import Any

import click
import msgspec

from gcs.app.find_crawl import CrawlAddress, at_crawl, split_dir, visit
from gcs.app.say import say
from gcs.core.messages.template import OneOf, Template, template
from gcs.core.messages.tuples import BY_NAME, Tuple
from gcs.errors import UsageError
from gcs.ports.space.port import BOARD, DeadLetter, Space

#: what `peek` and `rm` take as a type for the tuples that were set aside
DEAD = "dead"

WHAT = """TYPE is a tuple type as `gcs space ls` shows it, or `dead` for what was set aside from an inbox. INBOX is the
destination; leave it out for what is posted on the board."""


@click.group("space")
def space() -> None:
    """Look at the whiteboard."""


def tuple_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments and options that choose tuples."""

    @functools.wraps(command)
    def run(words: tuple[str, ...], at: CrawlAddress, **options: Any) -> Any:
        at, words = split_dir(at, words)
        if not 1 <= len(words) <= 2:
            raise UsageError("give a TYPE, and an INBOX or none: see --help")
        return command(at=at, kind=words[0], inbox=words[1] if len(words) > 1 else BOARD, **options)

    for option in (
        click.argument("words", nargs=-1, required=True, metavar="[DIR] TYPE [INBOX]"),
        click.option("--where", multiple=True, metavar="FIELD=VALUE", help="Only these; repeat for several values."),
    ):
        run = option(run)
    named: Callable[..., Any] = at_crawl(with_dir=False)(run)
    return named


as_json_option = click.option("--json", "as_json", is_flag=True, help="For a program.")


@space.command()
@at_crawl
@as_json_option
def ls(at: CrawlAddress, as_json: bool) -> None:
    """List what there is: tuples, bytes and how many are held, by place and type."""
    sizes = visit(at, lambda space: space.inbox_sizes())
    if as_json:
        say(msgspec.json.encode(sizes))
        return
    say(f"{'INBOX':<24} {'TYPE':<12} {'TUPLES':>9} {'BYTES':>13} {'HELD':>7}")
    for size in sizes:
        place = size.place or "(board)"
        say(f"{place:<24} {size.kind:<12} {size.tuples:>9,} {size.size_bytes:>13,} {size.held:>7,}")


@space.command(epilog=WHAT)
@tuple_arguments
@click.option("-n", "limit", type=click.IntRange(1), default=10, show_default=True, help="How many, the oldest first.")
@as_json_option
def peek(kind: str, inbox: str, where: tuple[str, ...], limit: int, as_json: bool, at: CrawlAddress) -> None:
    """Show tuples; they stay where they are."""

    async def do(space: Space) -> list[dict[str, Any]]:
        if kind == DEAD:
            return [_letter(letter) for letter in await space.dead_letters(inbox, limit)]
        return [_fields(item) for item in (await space.scan(_template(kind, where), at=inbox))[:limit]]

    shown = visit(at, do)
    if as_json:
        say(msgspec.json.encode(shown))
    for fields in () if as_json else shown:
        say(_line(fields))


@space.command(epilog=WHAT)
@tuple_arguments
@as_json_option
def count(kind: str, inbox: str, where: tuple[str, ...], as_json: bool, at: CrawlAddress) -> None:
    """Count tuples."""

    async def do(space: Space) -> int:
        if kind == DEAD:
            return sum(size.tuples for size in await space.inbox_sizes() if (size.place, size.kind) == (inbox, DEAD))
        return await space.count(_template(kind, where), at=inbox)

    number = visit(at, do)
    say(msgspec.json.encode({"count": number}) if as_json else f"{number:,}")


@space.command(epilog=WHAT)
@tuple_arguments
@click.option("--yes", is_flag=True, help="Don't ask.")
@as_json_option
def rm(kind: str, inbox: str, where: tuple[str, ...], yes: bool, as_json: bool, at: CrawlAddress) -> None:
    """Delete tuples, held or not. Nobody gets them any more, and their senders take them for committed."""
    if not yes:
        click.confirm(f"Throw away {kind} of {inbox or 'the board'}?", abort=True)

    async def do(space: Space) -> int:
        if kind == DEAD:
            return await space.remove_dead_letters(inbox)
        return await space.remove(_template(kind, where), at=inbox)

    number = visit(at, do)
    say(msgspec.json.encode({"removed": number}) if as_json else f"{number:,} removed")


def _template(kind: str, where: tuple[str, ...]) -> Template[Any]:
    """The template of a type's name and FIELD=VALUE patterns; values are JSON, or else plain text."""
    if kind not in BY_NAME:
        raise UsageError(f"there is no tuple type {kind!r}; there are {', '.join(sorted(BY_NAME))}, and {DEAD}")
    patterns: dict[str, list[object]] = {}
    for pattern in where:
        field, equals, text = pattern.partition("=")
        if not equals:
            raise UsageError(f"--where {pattern!r}: write FIELD=VALUE")
        try:
            value: object = msgspec.json.decode(text)
        except msgspec.DecodeError:
            value = text
        patterns.setdefault(field, []).append(value)
    return template(BY_NAME[kind], **{field: OneOf(*values) for field, values in patterns.items()})


def _fields(item: Tuple) -> dict[str, Any]:
    return {"type": item.name} | {field: getattr(item, field) for field in item.__struct_fields__}


def _letter(letter: DeadLetter) -> dict[str, Any]:
    fields = dataclasses.asdict(letter)
    payload = fields.pop("payload")  # the longest goes last: a terminal shows the beginning
    return {"type": DEAD, **fields, "payload": payload}


def _line(fields: dict[str, Any]) -> str:
    """One tuple, cut to the width of the terminal."""
    name, *rest = fields.items()
    text = f"{name[1]} " + " ".join(f"{field}={msgspec.json.encode(value).decode()}" for field, value in rest)
    width = shutil.get_terminal_size().columns
    return text if len(text) <= width else text[: width - 1] + "…"
