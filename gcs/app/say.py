"""What commands print: every line passes `say`, for it may hold words of strangers (URLs, titles, errors, names)."""

import shutil
import sys
import textwrap
from typing import TextIO

import click

from gcs.events import COMMANDS, tame

#: what lies between the columns of a table at least; a terminal that is narrower than this breaks lines as it likes
_COLUMNS, _NARROWEST = "  ", 20


def _escape(code: int) -> str:
    """A character as JSON escapes it."""
    if code < 1 << 16:
        return f"\\u{code:04x}"
    high, low = divmod(code - (1 << 16), 1 << 10)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


#: what JSON leaves as it is and a terminal must not get → the same, escaped
_ESCAPES = {code: _escape(code) for code in COMMANDS if code >= 0x7F}


def say(text: str | bytes, *, err: bool = False, bold: bool = False) -> None:
    """Print a line, without characters that command a terminal. In JSON (bytes) they are escaped: nothing is lost."""
    if isinstance(text, bytes):
        click.echo(text.decode().translate(_ESCAPES), err=err)
    else:
        text = _at_words(tame(text), sys.stderr if err else sys.stdout)
        click.echo(click.style(text, bold=True) if bold else text, err=err)


def _at_words(text: str, stream: TextIO) -> str:
    """The text as a terminal shows it: a line that is too long goes on below, from word to word. Not so a table."""
    if not stream.isatty():
        return text
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    return "\n".join(
        line if len(line) <= width or _COLUMNS in line.strip() else _fill(line, width) for line in text.split("\n")
    )


def _fill(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip(" "))]
    return textwrap.fill(line, width, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False)
