"""The scope: which URLs a crawl may follow, by their host and by the user's patterns.

    prefix  what lies below the paths of the seeds, on the hosts that `host` covers
    host    the hosts of the seeds, whatever scheme or port, each with and without a leading "www."
    domain  every host under the registered domains of the seeds
    any     everything

Sources that are no web servers (`core.url.sources`) are covered where they are seeds, and what lies below them.

Registered domains go by the rules of publicsuffix.org, as the `publicsuffixlist` package ships them (private section
included: `a.github.io` and `b.github.io` are two owners). The list is read when the first name is asked for, and only
then: half the commands never need it.

Invariant: the verdict depends on the URL alone. Must stay cheap: it sees every new link.
"""

import re
from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Literal, Protocol

from gcs.core.url.canonical import host_of_url
from gcs.core.url.sources import is_below, is_source
from gcs.errors import SettingsError

Kind = Literal["prefix", "host", "domain", "any"]
#: origins whose verdict is remembered
_MEMO_ORIGINS = 1 << 14
#: how URLs begin that are no sources
_WEB = ("http://", "https://")
#: every folder of a host, and none
_ALL, _NONE = frozenset({"/"}), frozenset[str]()


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
    #: what the scope covers of the hosts that `_name` gives one name: folders
    _names: dict[str, set[str]] = field(init=False, repr=False, compare=False)
    _longest: int = field(init=False, repr=False, compare=False)
    #: whether a URL matches one of the patterns; None where there is none
    _includes: Callable[[str], object] | None = field(init=False, repr=False, compare=False)
    _excludes: Callable[[str], object] | None = field(init=False, repr=False, compare=False)
    #: origin → the folders that are covered there
    _verdicts: dict[str, Set[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sources = tuple(seed for seed in self.seeds if is_source(seed))
        names: dict[str, set[str]] = {}
        for seed in self.seeds:
            if not is_source(seed):
                folder = folder_of(seed) if self.kind == "prefix" else "/"
                names.setdefault(self._name(host_of_url(seed)), set()).add(folder)
        object.__setattr__(self, "_sources", sources)
        object.__setattr__(self, "_asked", frozenset(self.seeds))
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_longest", max((len(path) for paths in names.values() for path in paths), default=0))
        object.__setattr__(self, "_includes", _search("include", self.include))
        object.__setattr__(self, "_excludes", _search("exclude", self.exclude))
        object.__setattr__(self, "_verdicts", {})

    @property
    def is_everything(self) -> bool:
        """Whether there is nothing that the scope leaves out."""
        return self.kind == "any" and not self.include and not self.exclude and not self._sources

    def covers(self, url: str) -> bool:
        if self.kind == "any" and url.startswith(_WEB):
            return not self.leaves_out(url)
        origin = url[: url.index("/", 8)]
        folders = self._verdicts.get(origin)
        if folders is None:
            if is_source(url):
                return any(is_below(url, seed) for seed in self._sources) and not self.leaves_out(url)
            folders = self._judge(origin)
        return bool(folders) and (folders is _ALL or self._is_in(url, folders)) and not self.leaves_out(url)

    def leaves_out(self, url: str) -> bool:
        """Whether the patterns forbid a canonical URL, wherever it is; seeds are asked for by name."""
        if (self._includes and not self._includes(url)) or (self._excludes and self._excludes(url)):
            return url not in self._asked
        return False

    def serves(self, url: str) -> bool:
        """Whether a page of the crawl may need this URL, wherever it is: not if the user excludes it, and nothing of
        this machine that is out of scope.
        """
        if is_source(url):
            return self.covers(url)
        return not (self._excludes and self._excludes(url))

    def _judge(self, origin: str) -> Set[str]:
        if len(self._verdicts) >= _MEMO_ORIGINS:
            self._verdicts.clear()
        folders = _ALL if self.kind == "any" else self._names.get(self._name(host_of_url(origin + "/")), _NONE)
        self._verdicts[origin] = folders = _ALL if "/" in folders else folders
        return folders

    def _is_in(self, url: str, folders: Set[str]) -> bool:
        path = url[url.index("/", 8) :].partition("?")[0]
        if f"{path}/" in folders:  # the folder itself, without its slash
            return True
        end = self._longest  # a stranger's path may hold slashes without end
        while (end := path.rfind("/", 0, end)) >= 0:
            if path[: end + 1] in folders:
                return True
        return False

    def _name(self, name: str) -> str:
        """What two hosts have in common if one of them being a seed brings the other into the scope."""
        match self.kind:
            case "host" | "prefix":
                return name.removeprefix("www.")
            case "domain":
                return registered_domain(name)
            case "any":
                return ""


def folder_of(url: str) -> str:
    """The path of the folder that a canonical URL names, or lies in: a file has a dot in its name, or a query."""
    path, query, _ = url[url.index("/", 8) :].partition("?")
    folder, _, last = path.rpartition("/")
    return f"{folder}/{last}/" if last and "." not in last and not query else f"{folder}/"


def _search(option: str, patterns: tuple[str, ...]) -> Callable[[str], object] | None:
    searches = []
    for pattern in patterns:
        try:
            searches.append(re.compile(pattern).search)
        except re.error as error:
            raise SettingsError(
                f"crawl.{option}: {pattern!r} is not a regular expression ({error}): correct or escape it"
            ) from None
    if len(searches) < 2:
        return searches[0] if searches else None
    return lambda url: any(search(url) for search in searches)


# -- registered domains: which hosts belong to one owner


class _SuffixList(Protocol):
    def publicsuffix(self, domain: str) -> str | None: ...


@lru_cache(maxsize=16384)
def public_suffix(host: str) -> str:
    """The suffix under which anyone may register a name; an address is its own."""
    if host[:1] == "[" or host[host.rfind(".") + 1 :].isdigit():
        return host
    # the list spells foreign scripts in Unicode: decode a few hosts rather than encode the whole list
    labels = host.split(".")
    suffix = _list().publicsuffix(".".join(map(_decoded, labels)) if "xn--" in host else host)
    return host if suffix is None else ".".join(labels[-(suffix.count(".") + 1) :])


@lru_cache(maxsize=16384)
def registered_domain(host: str) -> str:
    """The public suffix and the label before it; a host that is no longer than its suffix is its own domain.

    `host` is that of a canonical URL: lower case, ASCII. The domain is the host, or a tail of it of whole labels.
    """
    suffix = public_suffix(host)
    labels = host.removesuffix(suffix).split(".")  # ends with an empty label where there is more than the suffix
    return host if len(labels) < 2 else f"{labels[-2]}.{suffix}"


def _decoded(label: str) -> str:
    if label.startswith("xn--"):
        with suppress(UnicodeError):  # then it is a name, but none that the list could hold
            return label[4:].encode().decode("punycode")
    return label


@cache
def _list() -> _SuffixList:
    from publicsuffixlist import PublicSuffixList  # slow to load

    rules: _SuffixList = PublicSuffixList(accept_encoded_idn=False)
    return rules
