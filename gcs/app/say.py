"""What commands print: every line passes `say`, for it may hold words of strangers (URLs, titles, errors, names)."""

import click

from gcs.events import COMMANDS, tame


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
        click.echo(click.style(tame(text), bold=True) if bold else tame(text), err=err)
