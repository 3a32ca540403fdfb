"""A URL-Registry for each DSet (WEB-SAILOR, section 3.3): served in parallel, each by a thread of its own.

Every URL of a domain is in one registry. What concerns several is done by all at once: links come in, visits are
marked, and commits wait for their disks at the same time. Notes are in the first one, which is committed first: so
the client of a domain is known before its seeds are out.

Invariant: a registry is used by its thread only (LMDB binds a transaction to the thread that began it).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from gcs.core.messages.tuples import Link
from gcs.core.ordering import Ordering
from gcs.core.plan.seed_domains import SeedServerSettings, domain_of, registry_of
from gcs.core.url.queued_url import QueuedUrl
from gcs.errors import UsageError
from gcs.ports.url_registry import Count, Node, UrlRegistry

T = TypeVar("T")


class DsetRegistries:
    """As many registries as are wanted, with the methods of one."""

    def __init__(self, directory: Path, order: Ordering, rules: SeedServerSettings, fsync: bool = True) -> None:
        self._rules, count = rules, rules.registries
        there = len(list(directory.glob("dset-*")))
        if there not in (0, count) or (directory / "data.mdb").exists():
            raise UsageError(
                f"{directory} holds {there or 1} registries: go on with seed_server.registries={there or 1}"
            )
        self._threads = [ThreadPoolExecutor(1, f"dset-{number}") for number in range(count)]
        made = [
            thread.submit(UrlRegistry, directory / f"dset-{number}", order, fsync)
            for number, thread in enumerate(self._threads)
        ]
        self._registries = [each.result() for each in made]

    def _all(self, do: Callable[[UrlRegistry], T], numbers: Iterable[int] | None = None) -> list[T]:
        """Call all of them, or these, at once."""
        chosen = range(len(self._threads)) if numbers is None else numbers
        calls = [self._threads[number].submit(do, self._registries[number]) for number in chosen]
        return [call.result() for call in calls]

    def _one(self, domain: str, do: Callable[[UrlRegistry], T]) -> T:
        return self._all(do, (registry_of(domain, self._rules),))[0]

    def _of_url(self, url: str) -> int:
        return registry_of(domain_of(url, self._rules.domain), self._rules)

    def add(self, links: Sequence[tuple[Link, str]], copies: Mapping[str, QueuedUrl]) -> int:
        """As of one: each link goes into the registry of its domain."""
        parts: dict[int, list[tuple[Link, str]]] = {}
        for link, domain in links:
            parts.setdefault(registry_of(domain, self._rules), []).append((link, domain))
        threads, registries = self._threads, self._registries
        calls = [threads[number].submit(registries[number].add, part, copies) for number, part in parts.items()]
        return sum(call.result() for call in calls)

    def visited(self, urls: Iterable[str]) -> int:
        """As of one."""
        parts: dict[int, list[str]] = {}
        for url in urls:
            parts.setdefault(self._of_url(url), []).append(url)
        threads, registries = self._threads, self._registries
        calls = [threads[number].submit(registries[number].visited, part) for number, part in parts.items()]
        return sum(call.result() for call in calls)

    def renew(self, session: int) -> None:
        self._all(lambda registry: registry.renew(session))

    @property
    def session(self) -> int:
        """The session under way."""
        return min(self._all(lambda registry: registry.session))

    def hand_out(self, domain: str, client: str, most: int) -> list[Node]:
        return self._one(domain, lambda registry: registry.hand_out(domain, client, most))

    def best(self, domain: str) -> Node | None:
        return self._one(domain, lambda registry: registry.best(domain))

    def out_with(self, client: str) -> list[Node]:
        return [node for nodes in self._all(lambda registry: registry.out_with(client)) for node in nodes]

    def take_back(self, client: str) -> int:
        return sum(self._all(lambda registry: registry.take_back(client)))

    def counts(self) -> dict[str, Count]:
        return {domain: count for counts in self._all(lambda each: each.counts()) for domain, count in counts.items()}

    def node(self, url: str) -> Node | None:
        return self._all(lambda registry: registry.node(url), (self._of_url(url),))[0]

    def note(self, name: str) -> bytes | None:
        return self._all(lambda registry: registry.note(name), (0,))[0]

    def set_note(self, name: str, value: bytes) -> None:
        self._all(lambda registry: registry.set_note(name, value), (0,))

    def commit(self) -> None:
        self._all(lambda registry: registry.commit(), (0,))
        self._all(lambda registry: registry.commit(), range(1, len(self._threads)))

    def close(self) -> None:
        self._all(lambda registry: registry.close())
        for thread in self._threads:
            thread.shutdown()


def open_registry(
    directory: Path, order: Ordering, rules: SeedServerSettings, fsync: bool = True
) -> UrlRegistry | DsetRegistries:
    """The registry of a seed-server: one for all, or one for each DSet."""
    if rules.registries > 1:
        return DsetRegistries(directory, order, rules, fsync)
    if list(directory.glob("dset-*")):
        raise UsageError(f"{directory} holds several registries: go on with as many (seed_server.registries)")
    return UrlRegistry(directory, order, fsync)
