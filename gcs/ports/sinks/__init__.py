"""Sinks: where the pages of a crawl go besides its own directory, such as a file, a database or a stream.

A sink is an object with these methods, a class that makes such an object from the target, or a function, which counts
as `write`:

    write(pages)     store these pages for good, or raise; they come again until it returns
    close()          nothing more comes (optional)

and, if it likes, `batch_pages` (pages of a batch, at most), `wait_s` (seconds that a page waits for others) and
`everything` (URLs that ended without a page come, too: failures, redirects, sitemaps).

Promise: *at least once*. What was written when a process is killed may come again; `page.id` is the same then.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import xxhash

from gcs.errors import SettingsError
from gcs.ports.records.page import Page

#: pages of a batch and seconds that a page waits for others, where the sink says nothing else
BATCH_PAGES, WAIT_S = 500, 1.0


@dataclass(frozen=True, slots=True)
class Sink:
    """A sink, ready to write."""

    #: under this name the crawl directory keeps what the sink has
    name: str
    write: Callable[[Sequence[Page]], object]
    close: Callable[[], object] = lambda: None
    batch_pages: int = BATCH_PAGES
    wait_s: float = WAIT_S
    everything: bool = False

    @property
    def key(self) -> str:
        """The name as a file name."""
        return xxhash.xxh3_64_hexdigest(self.name.encode())

    @property
    def shown(self) -> str:
        """The name for people and logs: without a user, a password and a query, which may be secret."""
        before, colon, rest = self.name.partition("://")
        authority, slash, path = rest.partition("?")[0].partition("/")
        return f"{before}{colon}{authority.rpartition('@')[2]}{slash}{path}" if colon else self.name

    @classmethod
    def of(cls, given: object, name: str = "", target: str | None = None) -> "Sink":
        """From a function, a class (made with the target, if there is one) or an object."""
        if isinstance(given, Sink):
            return given
        own_name = getattr(given, "__qualname__", type(given).__qualname__)
        name = name or f"{getattr(given, '__module__', '')}:{own_name}"
        if inspect.isroutine(given):
            return cls(name, given)
        if isinstance(given, type):
            given = _made(given, name, target)
        write, close = getattr(given, "write", None), getattr(given, "close", None)
        if not callable(write):
            raise SettingsError(f"sink {name} stores nothing: write a function, or a class with a method write(pages)")
        return cls(
            name,
            write,
            close if callable(close) else lambda: None,
            int(getattr(given, "batch_pages", BATCH_PAGES)),
            float(getattr(given, "wait_s", WAIT_S)),
            bool(getattr(given, "everything", False)),
        )


def _made(kind: type[Any], name: str, target: str | None) -> object:
    try:
        return kind() if target is None else kind(target)
    except ImportError as error:
        raise SettingsError(f"sink {name} needs {error.name}: pip install {error.name}") from error
    except SettingsError:
        raise
    except Exception as error:  # a stranger's class may raise anything
        raise SettingsError(f"sink {name} cannot be opened ({type(error).__name__}: {error})") from error
