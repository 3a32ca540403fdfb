"""Logging: stdlib logging with a stable event name (words-with-hyphens) and fields. INFO is a change of state.

events = Events("gatherer")
events.info("resumed", queued=120, pages=31)      →      gatherer.resumed queued=120 pages=31
"""

import json
import logging
import sys
from pathlib import Path
from typing import Any

from gcs.errors import UsageError

LEVELS = ("debug", "info", "warning", "error")
#: characters that command a terminal or deceive its reader: C0 and C1 (but for tab and newline), those that change the
#: direction of text, line separators, invisible tags; and lone surrogates, which cannot be printed at all
COMMANDS = (
    *(*range(9), *range(11, 32), *range(0x7F, 0xA0)),
    *(0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)),
    *(*range(0xD800, 0xE000), *range(0xE0000, 0xE0080)),
)
_TAMED = dict.fromkeys(COMMANDS, "\N{REPLACEMENT CHARACTER}")


def tame(text: str) -> str:
    """Text of a stranger without the characters that command a terminal: what every string becomes that is shown."""
    return text.translate(_TAMED)


class Events:
    """Names the events of one part."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._log = logging.getLogger(f"gcs.{part}")

    @property
    def tells_info(self) -> bool:
        """Whether `info` writes anything: for events whose fields cost something."""
        return self._log.isEnabledFor(logging.INFO)

    def debug(self, event: str, **fields: Any) -> None:
        """Log what only a developer wants to see."""
        self._emit(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """Log a change of state."""
        self._emit(logging.INFO, event, fields)

    def warning(self, event: str, *, cause: BaseException | None = None, **fields: Any) -> None:
        """Log something that went wrong while the crawl goes on; the traceback of its cause follows."""
        self._emit(logging.WARNING, event, fields, cause)

    def error(self, event: str, **fields: Any) -> None:
        """Log something that went wrong and that somebody has to act on."""
        self._emit(logging.ERROR, event, fields)

    def _emit(self, level: int, event: str, fields: dict[str, Any], cause: BaseException | None = None) -> None:
        if self._log.isEnabledFor(level):
            self._log.log(level, f"{self._part}.{event}", exc_info=cause, extra={"fields": fields})


class TextFormatter(logging.Formatter):
    """One line for a person, whatever a value holds; a traceback follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        pairs = getattr(record, "fields", {}).items()
        fields = " ".join(f"{key}={' '.join(str(value).split())}" for key, value in pairs)
        line = f"{self.formatTime(record, '%H:%M:%S')} {record.levelname:<7} {record.getMessage()} {fields}".rstrip()
        return tame(f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line)


class JsonFormatter(logging.Formatter):
    """One JSON object a line, for a log collector."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {"time": record.created, "level": record.levelname.lower(), "event": record.getMessage()}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry | getattr(record, "fields", {}), default=str)


class _Stderr(logging.StreamHandler[Any]):
    """Writes to what sys.stderr is at the moment: a display of progress may have taken its place."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def set_up_log(level: str, as_json: bool, file: Path | None = None, with_urls: bool = True) -> None:
    """Send the events of this process to stderr, or add them to a file; those of each URL only `with_urls`."""
    try:
        handler = logging.FileHandler(file, delay=False) if file else _Stderr()
    except OSError as error:
        raise UsageError(f"--log-file {file}: cannot be written ({error.strerror})") from None
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    logger = logging.getLogger("gcs")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
    logging.getLogger("gcs.url").setLevel(logging.NOTSET if with_urls else logging.WARNING)
