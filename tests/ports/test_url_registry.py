"""The URL-Registry against a plain dictionary, and through a crash."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from pytest import MonkeyPatch

from gcs.core.messages.tuples import Link, Queued
from gcs.core.ordering import ORDERS
from gcs.ports import url_registry as registry_module
from gcs.ports.url_registry import Count, UrlRegistry, UrlState

BACKLINK = ORDERS["backlink"]
domains, clients, numbers = st.sampled_from(["com", "edu"]), st.sampled_from(["a", "b"]), st.integers(0, 9)


class RegistryMachine(RuleBasedStateMachine):
    """Every operation, with commits and reopenings between, against the obvious model."""

    @initialize()
    def open(self) -> None:
        self.directory = TemporaryDirectory()
        self.registry = UrlRegistry(Path(self.directory.name), BACKLINK, fsync=False)
        self.worth: dict[str, float] = {}
        self.state: dict[str, tuple[UrlState, str]] = {}
        self.saved = ({}, {})
        self.registry.commit()

    def teardown(self) -> None:
        if hasattr(self, "registry"):
            self.registry.close()
            self.directory.cleanup()

    @rule(domain=domains, number=numbers, weight=st.integers(0, 3))
    def add(self, domain: str, number: int, weight: int) -> None:
        url = f"http://x.{domain}/{number}"
        new = self.registry.add([(Link(url, weight), domain)])
        assert new == (url not in self.worth)
        self.worth[url] = self.worth.get(url, 0) + weight
        self.state.setdefault(url, (UrlState.HELD, ""))

    @rule(domain=domains, client=clients, most=st.integers(1, 4))
    def hand_out(self, domain: str, client: str, most: int) -> None:
        held = [url for url, (state, _) in self.state.items() if state is UrlState.HELD and f".{domain}/" in url]
        nodes = self.registry.hand_out(domain, client, most)
        assert len(nodes) == min(most, len(held))
        worths = [node.worth for node in nodes]
        assert worths == sorted((self.worth[url] for url in held), reverse=True)[: len(nodes)], "the most linked first"
        for node in nodes:
            assert self.state[node.url] == (UrlState.HELD, "")
            self.state[node.url] = (UrlState.OUT, client)

    @rule(domain=domains, number=numbers)
    def visit(self, domain: str, number: int) -> None:
        url = f"http://x.{domain}/{number}"
        fresh = url in self.state and self.state[url][0] is not UrlState.VISITED
        assert self.registry.visited([url]) == fresh
        if fresh:
            self.state[url] = (UrlState.VISITED, "")

    @rule(client=clients)
    def take_back(self, client: str) -> None:
        out = [url for url, state in self.state.items() if state == (UrlState.OUT, client)]
        assert {node.url for node in self.registry.out_with(client)} == set(out)
        assert self.registry.take_back(client) == len(out)
        self.state |= dict.fromkeys(out, (UrlState.HELD, ""))

    @rule()
    def renew(self) -> None:
        """What was visited is to be visited again; what is in a client's hands stays there."""
        self.registry.renew(self.registry.session + 1)
        for url, (state, _) in self.state.items():
            if state is UrlState.VISITED:
                self.state[url] = (UrlState.HELD, "")
        self.saved = (dict(self.worth), dict(self.state))

    @rule()
    def commit(self) -> None:
        self.registry.commit()
        self.saved = (dict(self.worth), dict(self.state))

    @rule()
    def reopen(self) -> None:
        self.registry.close()
        self.registry = UrlRegistry(Path(self.directory.name), BACKLINK, fsync=False)
        self.worth, self.state = (dict(part) for part in self.saved)

    @invariant()
    def counts_and_nodes_agree(self) -> None:
        if not hasattr(self, "registry"):
            return
        counts = self.registry.counts()
        for domain in ("com", "edu"):
            states = [state for url, (state, _) in self.state.items() if f".{domain}/" in url]
            if states:
                count = counts[domain]
                assert (count.held, count.out, count.visited) == tuple(map(states.count, UrlState))
        for url, worth in self.worth.items():
            node = self.registry.node(url)
            assert node is not None
            assert (node.worth, (node.state, node.client)) == (worth, self.state[url])


RegistryMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=30)
TestRegistry = RegistryMachine.TestCase


def test_registry_keeps_what_is_known_of_a_url_until_it_is_visited(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "_SLICE", 2)
    urls = [f"http://x.com/{number}" for number in range(5)]
    copies = {url: Queued(url, etag=f'"{url}"', visits=1) for url in urls[:4]}
    registry = UrlRegistry(tmp_path, BACKLINK, fsync=False)
    registry.add([(Link(url, 1), "com") for url in urls[:3]])
    registry.hand_out("com", "a", 3)
    registry.visited(urls[:3])
    for _ in range(2):
        registry.renew(2)  # once
        registry.add([(Link(url, 0), "com") for url in urls], copies)
    assert registry.counts()["com"] == Count(held=5)
    for _ in range(2):
        assert {node.url: node.copy for node in registry.hand_out("com", "a", 9)} == {urls[4]: None, **copies}
        registry.take_back("a")
    registry.visited(urls)
    registry.add([(Link(url, 0), "com") for url in urls], copies)  # comes late, or again
    registry.renew(3)
    assert [node.copy for node in registry.hand_out("com", "a", 9)] == [None] * 5
    registry.close()


def test_registry_survives_kill_9_with_what_was_committed(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert child.stdout
    committed = 0
    for line in child.stdout:
        committed = int(line)
        if committed >= 5:
            break
    child.send_signal(signal.SIGKILL)
    child.communicate()
    registry = UrlRegistry(tmp_path, BACKLINK)
    assert registry.counts()["com"].held >= 10 * committed
    assert len(registry.hand_out("com", "a", 10_000)) == registry.counts()["com"].out
    registry.close()


CHILD = """
import sys
from pathlib import Path
from gcs.core.ordering import ORDERS
from gcs.core.messages.tuples import Link
from gcs.ports.url_registry import UrlRegistry
registry = UrlRegistry(Path(sys.argv[1]), ORDERS["backlink"])
for turn in range(10_000):
    registry.add((Link(f"http://x.com/{turn}/{n}", n), "com") for n in range(10))
    registry.commit()
    print(turn + 1, flush=True)
"""
