"""`gcs settings`: every setting, its default and what it means."""

import click
import msgspec

from gcs.app.say import say
from gcs.settings import documentation


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of TOML.")
def settings(as_json: bool) -> None:
    """List every setting with its default, as a TOML file to start from."""
    if as_json:
        rows = {key: {"default": default, "about": text} for key, default, text in documentation()}
        say(msgspec.json.encode(rows))
        return
    section = ""
    for key, default, text in documentation():
        head, _, name = key.partition(".")
        if head != section:
            section = head
            say(f"\n[{section}]")
        say(f"# {text}\n{'# ' if default is None else ''}{name} = {_toml(default)}")


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return msgspec.json.encode(value).decode()
