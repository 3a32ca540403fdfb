"""The scope: which URLs a crawl may follow, by their host and by the user's patterns.

    host    the hosts of the seeds, whatever scheme or port, each with and without a leading "www."
    domain  every host under the registered domains of the seeds
    any     everything

Sources that are no web servers (`core.url.sources`) are covered where they are seeds, and what lies below them.

Invariant: the verdict depends on the URL alone. Must stay cheap: it sees every new link.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from gcs.core.url.join import host
from gcs.core.url.sources import is_below, is_source
from gcs.core.url.suffix import registered_domain
from gcs.errors import SettingsError

Kind = Literal["host", "domain", "any"]
#: origins whose verdict is remembered
_MEMO_ORIGINS = 1 << 14


@dataclass(frozen=True, slots=True)
class Scope:
    """What `covers` a URL. Patterns are searched for anywhere in the canonical URL."""

    kind: Kind
    #: canonical URLs
    seeds: tuple[str, ...] = ()
    #: if there are any, a URL that is no seed must match one of them
    include: tuple[str, ...] = ()
    #: a URL that matches one of them is left out, unless it is a seed
    exclude: tuple[str, ...] = ()
    _sources: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _asked: frozenset[str] = field(init=False, repr=False, compare=False)
    _names: frozenset[str] = field(init=False, repr=False, compare=False)
    _includes: tuple[Callable[[str], object], ...] = field(init=False, repr=False, compare=False)
    _excludes: tuple[Callable[[str], object], ...] = field(init=False, repr=False, compare=False)
    _verdicts: dict[str, bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sources = tuple(seed for seed in self.seeds if is_source(seed))
        names = frozenset(self._name(host(seed)) for seed in self.seeds if not is_source(seed))
        object.__setattr__(self, "_sources", sources)
        object.__setattr__(self, "_asked", frozenset(self.seeds))
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_includes", tuple(_search("include", text) for text in self.include))
        object.__setattr__(self, "_excludes", tuple(_search("exclude", text) for text in self.exclude))
        object.__setattr__(self, "_verdicts", {})

    @property
    def is_everything(self) -> bool:
        """Whether there is nothing that the scope leaves out."""
        return self.kind == "any" and not self.include and not self.exclude and not self._sources

    def covers(self, url: str) -> bool:
        """Whether a canonical URL is in the scope."""
        origin = url[: url.index("/", 8)]
        inside = self._verdicts.get(origin)
        if inside is None:
            inside = any(is_below(url, seed) for seed in self._sources) if is_source(url) else self._judge(origin)
        return inside and not self.leaves_out(url)

    def leaves_out(self, url: str) -> bool:
        """Whether the patterns forbid a canonical URL, wherever it is; seeds are asked for by name."""
        if (self._includes and not any(search(url) for search in self._includes)) or (
            self._excludes and any(search(url) for search in self._excludes)
        ):
            return url not in self._asked
        return False

    def _judge(self, origin: str) -> bool:
        if len(self._verdicts) >= _MEMO_ORIGINS:
            self._verdicts.clear()
        inside = self._verdicts[origin] = self.kind == "any" or self._name(host(origin + "/")) in self._names
        return inside

    def _name(self, name: str) -> str:
        """What two hosts have in common if one of them being a seed brings the other into the scope."""
        match self.kind:
            case "host":
                return name.removeprefix("www.")
            case "domain":
                return registered_domain(name)
            case "any":
                return ""


def _search(option: str, pattern: str) -> Callable[[str], object]:
    try:
        return re.compile(pattern).search
    except re.error as error:
        raise SettingsError(
            f"crawl.{option}: {pattern!r} is not a regular expression ({error}): correct or escape it"
        ) from None
