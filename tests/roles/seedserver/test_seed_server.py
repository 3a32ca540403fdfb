"""A seed-server and its clients, step by step on a whiteboard in memory; the clients' web is a function."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    ClientPace,
    Control,
    CrawlState,
    Finds,
    Link,
    Member,
    MemberState,
    Seeds,
    UrlBlock,
)
from gcs.core.ordering import ORDERS
from gcs.core.plan.seed_domains import SeedServerSettings, Word, domain_of, registry_of
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.url.queued_url import QueuedUrl
from gcs.errors import UsageError
from gcs.ports.dset_registries import open_registry
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.ports.space.port import Receipt
from gcs.ports.url_registry import UrlRegistry
from gcs.roles.seedserver.seed_server import SeedServer, SeedServerConfig

TEAM = TeamSettings(beat_s=0.0, lease_s=1000.0, recover_s=100.0)
DOMAINS = ("com", "edu", "net", "org", "biz")
PAGES = 60


def web(url: str) -> list[str]:
    """Every page links to the next ones of its host, to a hub that all link to, and into another domain."""
    domain, number = domain_of(url, "top"), int(url.rpartition("/")[2])
    links = [f"http://a.{domain}/{after}" for after in range(number + 1, min(number + 4, PAGES))]
    other = DOMAINS[(DOMAINS.index(domain) + number) % len(DOMAINS)]
    return [*links, f"http://a.{domain}/59", f"http://a.{other}/{number * 7 % PAGES}"]


def everything() -> set[str]:
    found, todo = {"http://a.com/0"}, ["http://a.com/0"]
    while todo:
        new = set(web(todo.pop())) - found
        found |= new
        todo += new
    return found


class Client:
    """Fetches `rate` of the pages it holds in each step, and reports them."""

    def __init__(self, board: MemoryBoard, name: str, server: str, rate: int = 3) -> None:
        self.space, self.name, self.server, self.rate = MemorySpace(board, name), name, server, rate
        self.queue: list[str] = []
        self.fetched: list[str] = []
        self.copies: dict[str, QueuedUrl] = {}
        self.session = self.settled = 1
        self.beats = self.sent = self.received = 0
        self.free_in: dict[str, float] = {}

    async def step(self) -> None:
        taken = await self.space.take_many([template(UrlBlock)], at=self.name, limit=100)
        for each in taken:
            self.queue += [link.url for link in each.item.links if link.url not in self.queue + self.fetched]
            self.copies |= {copy.url: copy for copy in each.item.copies}
        self.received += len(taken)
        done, self.queue = self.queue[: self.rate], self.queue[self.rate :]
        self.fetched += done
        if done:
            links = Counter(link for url in done for link in web(url))
            self.sent += 1
            found = [Link(url, count) for url, count in links.items()]
            finds = Finds(self.name, done, found, session=self.session, free_in=self.free_in)
            await self.space.out_many(Finds, [finds], to=self.server)
        await self.space.ack(taken)
        await self.beat()

    async def renew(self, session: int) -> None:
        """Begin a session: tell what the last one knew."""
        known, self.fetched, self.session = self.fetched, [], session
        copies = [QueuedUrl(url, etag=f'"{url}"', visits=1) for url in known]
        links = [Link(url, 0) for url in known]
        self.sent += 1
        finds = Finds(self.name, [], links, session=session, copies=copies)
        await self.space.out_many(Finds, [finds], to=self.server)
        self.settled = session

    async def beat(self, state: MemberState = MemberState.RUNNING) -> None:
        self.beats += 1
        member = Member(self.name, "run", state=state, passive=not self.queue, server=self.server, beat=self.beats)
        counters = {"settled_epoch": self.settled, "blocks_sent": self.sent, "blocks_received": self.received}
        await self.space.out(msgspec.structs.replace(member, **counters), ttl_s=1000)


class Scene:
    """Servers and clients on one board."""

    def __init__(self, directory: Path, rules: SeedServerSettings) -> None:
        self.board, self.directory, self.rules = MemoryBoard(), directory, rules
        self.now, self.session = 0.0, 1
        self.servers: list[SeedServer] = []
        self.clients: list[Client] = []
        self.words: list[tuple[str, Word, int, int]] = []

    def server(self, name: str, parent: str = "") -> SeedServer:
        registry = open_registry(self.directory / name, ORDERS["backlink"], self.rules, fsync=False)
        space = MemorySpace(self.board, name)
        config = SeedServerConfig(name=name, rules=self.rules, team=TEAM, parent=parent, session=self.session)
        server = SeedServer(config, space, registry, clock=self.clock, on_word=lambda *word: self.words.append(word))
        self.servers.append(server)
        return server

    def clock(self) -> float:
        return self.now

    def client(self, name: str, server: str, rate: int = 3) -> Client:
        self.clients.append(client := Client(self.board, name, server, rate))
        return client

    async def run(self, until: Callable[[], bool] = lambda: False, steps: int = 2_000) -> int:
        """Step everybody until it is true, or the crawl is done."""
        for server in self.servers:
            await server.startup()
        await MemorySpace(self.board, "user").out(Seeds(["http://a.com/0"]), to="seeds")
        return await self.go_on(until, steps)

    async def go_on(self, until: Callable[[], bool] = lambda: False, steps: int = 2_000) -> int:
        for step in range(steps):
            if until() or await self.is_done():
                return step
            self.now += 1.0
            for client in self.clients:
                await client.step()
            for server in self.servers:
                await server.step()
        raise AssertionError("it did not end")

    async def is_done(self) -> bool:
        control = await MemorySpace(self.board, "user").read(template(Control))
        return control is not None and control.state is CrawlState.DONE

    @property
    def fetched(self) -> Counter[str]:
        return Counter(url for client in self.clients for url in client.fetched)

    def check(self) -> None:
        """Everything was fetched, once."""
        assert set(self.fetched) == everything()
        assert set(self.fetched.values()) == {1}

    async def close(self) -> None:
        for server in self.servers:
            await server.shutdown()


@pytest.mark.parametrize("registries", [1, 2, 5])
async def test_clients_fetch_everything_once_each_its_own_domains(tmp_path: Path, registries: int) -> None:
    scene = Scene(tmp_path, SeedServerSettings(dsets=("com", "edu net org biz"), registries=registries))
    scene.server("s")
    one, two = scene.client("a", "s"), scene.client("b", "s")
    await scene.run()
    scene.check()
    assert {domain_of(url, "top") for url in one.fetched} == {"com"}
    assert {domain_of(url, "top") for url in two.fetched} == set(DOMAINS) - {"com"}
    await scene.close()


async def test_registry_of_each_dset_has_its_urls_and_no_others(tmp_path: Path) -> None:
    rules = SeedServerSettings(dsets=("com", "edu net"), registries=2)
    scene = Scene(tmp_path, rules)
    server = scene.server("s")
    scene.client("a", "s")
    scene.client("b", "s")
    await scene.run()
    urls = everything()
    assert all(server.registry.node(url) for url in urls)
    await scene.close()
    counts = []
    for number in (0, 1):
        registry = UrlRegistry(tmp_path / "s" / f"dset-{number}", ORDERS["backlink"], fsync=False)
        counts.append({domain: count.visited for domain, count in registry.counts().items()})
        registry.close()
    assert {registry_of(domain, rules) for domain in counts[0]} == {0}
    assert {registry_of(domain, rules) for domain in counts[1]} == {1}
    assert "com" in counts[0] and {"edu", "net"} <= set(counts[1])
    assert sum(sum(each.values()) for each in counts) == len(urls)
    with pytest.raises(UsageError, match=r"2 registries: go on with seed_server.registries=2"):
        open_registry(tmp_path / "s", ORDERS["backlink"], replace(rules, registries=3))
    with pytest.raises(UsageError, match="several registries"):
        open_registry(tmp_path / "s", ORDERS["backlink"], replace(rules, registries=1))


@pytest.mark.parametrize("for_life", [True, False])
async def test_dset_stays_with_its_client_for_life_if_it_shall(tmp_path: Path, for_life: bool) -> None:
    """A client that comes late gets domains of the first one, or else only those that are new."""
    scene = Scene(tmp_path, SeedServerSettings(for_life=for_life))
    server = scene.server("s")
    first = scene.client("a", "s")
    await scene.run(lambda: len(server.registry.counts()) == len(DOMAINS) and len(first.fetched) > 40)
    late = scene.client("b", "s")
    await scene.go_on()
    scene.check()
    assert (len(late.fetched) == 0) is for_life
    await scene.close()


@pytest.mark.parametrize("registries", [1, 3])
async def test_most_linked_seed_goes_first(tmp_path: Path, registries: int) -> None:
    """With one page at a time in a client's hands, each is one of the most linked of those known by then."""
    rules = SeedServerSettings(connections=1, least_connections=1, most_connections=1, ahead=1, registries=registries)
    scene = Scene(tmp_path, rules)
    scene.server("s")
    client = scene.client("a", "s", rate=1)
    await scene.run()
    scene.check()
    counts, known = Counter[str](), {"http://a.com/0"}
    for at, url in enumerate(client.fetched):
        assert counts[url] == max(counts[each] for each in known - set(client.fetched[:at]))
        for link, count in Counter(web(url)).items():
            counts[link] += count
            known.add(link)
    await scene.close()


async def test_server_hurries_and_slows_a_client(tmp_path: Path) -> None:
    """Connections double while seeds pile up, and halve when they run out; the client is told."""
    scene = Scene(tmp_path, SeedServerSettings(connections=4, hurry_above=4.0))
    scene.server("s")
    scene.client("a", "s", rate=6)
    await scene.run()
    scene.check()
    words = [(word, then, held) for _, word, then, held in scene.words if word is not Word.STEADY]
    assert {word for word, _, _ in words} == {Word.HURRY_UP, Word.SLOW_DOWN}
    assert max(then for _, then, _ in words) > 4
    assert words[-1][0] is Word.SLOW_DOWN, "at the end there is little to do"
    pace = await scene.clients[0].space.read(template(ClientPace, client="a"))
    assert pace is not None
    assert pace.connections == words[-1][1]
    await scene.close()


async def test_third_client_joins_and_gets_work(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SeedServerSettings())
    scene.server("s")
    scene.client("a", "s"), scene.client("b", "s")
    await scene.run(until=lambda: len(scene.fetched) > 40)
    third = scene.client("c", "s")
    # all hosts want to be left alone for a while: what was asked before must not be asked by another
    asked, free_at = {domain_of(url, "top") for url in scene.fetched}, scene.now + 10
    for client in scene.clients[:2]:
        client.free_in = {f"a.{domain}": 10.0 for domain in asked}
    await scene.go_on(until=lambda: scene.now >= free_at or bool(third.fetched))
    assert scene.now >= free_at or {domain_of(url, "top") for url in third.fetched}.isdisjoint(asked)
    for client in scene.clients[:2]:
        client.free_in = {}
    await scene.go_on()
    scene.check()
    assert third.fetched
    await scene.close()


async def test_client_that_leaves_or_dies_loses_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SeedServerSettings())
    scene.server("s")
    leaver, dead, _ = scene.client("a", "s"), scene.client("b", "s"), scene.client("c", "s")
    await scene.run(until=lambda: len(scene.fetched) > 60)
    await leaver.beat(MemberState.GONE)
    await dead.space.take(template(Member, gatherer="b"))
    before = len(leaver.fetched) + len(dead.fetched)
    scene.clients = scene.clients[2:]
    await scene.go_on()
    scene.clients = [leaver, dead, *scene.clients]
    scene.check()
    assert len(leaver.fetched) + len(dead.fetched) == before
    await scene.close()


@pytest.mark.parametrize("registries", [1, 3])
async def test_server_goes_on_after_a_crash(tmp_path: Path, registries: int) -> None:
    """Between any two steps, what it does not find in its registry it finds on the whiteboard."""
    scene = Scene(tmp_path, SeedServerSettings(registries=registries))
    server = scene.server("s")
    scene.client("a", "s"), scene.client("b", "s")
    await scene.run(until=lambda: len(scene.fetched) > 30)
    for _ in range(5):
        server.registry.close()  # without a commit
        await MemorySpace(scene.board, "user").take(template(Member, gatherer="s"))  # its lease ends
        scene.servers.clear()
        server = scene.server("s")
        await server.startup()
        before = len(scene.fetched)
        await scene.go_on(until=lambda before=before: len(scene.fetched) > before + 20)
    await scene.go_on()
    scene.check()
    await scene.close()


async def test_hierarchy_routes_every_url(tmp_path: Path) -> None:
    """Two servers under a third: links leave a server upwards, and come down to the one that has their domain."""
    scene = Scene(tmp_path, SeedServerSettings())
    top = scene.server("top")
    left, right = scene.server("left", parent="top"), scene.server("right", parent="top")
    for number, server in enumerate(["left", "left", "right"]):
        scene.client(f"c{number}", server)
    await scene.run()
    scene.check()
    known = {server.name: {url for url in everything() if server.registry.node(url)} for server in (left, right)}
    assert known["left"] | known["right"] == everything(), "every URL was routed to a server that has clients"
    assert not known["left"] & known["right"]
    assert known["left"]
    assert known["right"]
    assert not top.registry.counts(), "the top only routes"
    await scene.close()


async def test_hierarchy_of_three_levels_routes_every_url_to_one_server(tmp_path: Path) -> None:
    """What comes up from below is not what comes down from above: only the latter makes a domain a server's own."""
    scene = Scene(tmp_path, SeedServerSettings())
    top = scene.server("top")
    middle = [scene.server(name, parent="top") for name in ("left", "right")]
    leaves = [scene.server(name, parent=of) for name, of in (("l1", "left"), ("l2", "left"), ("r1", "right"))]
    for name, of in (("a", "l1"), ("b", "l2"), ("c", "r1"), ("d", "right")):
        scene.client(name, of)
    await scene.run()
    scene.check()
    places = Counter(url for server in (*middle, *leaves) for url in everything() if server.registry.node(url))
    assert set(places) == everything()
    assert set(places.values()) == {1}
    assert not top.registry.counts()
    assert all(any(server.registry.node(url) for url in everything()) for server in leaves)
    await scene.close()


async def test_hierarchy_waits_for_a_server_that_is_away(tmp_path: Path) -> None:
    """Longer than a client would be waited for; links into its domains are there for it when it comes back."""
    scene = Scene(tmp_path, SeedServerSettings())
    scene.server("top")
    scene.server("left", parent="top")
    right = scene.server("right", parent="top")
    scene.client("a", "left"), scene.client("b", "right")
    await scene.run(until=lambda: len(scene.clients[1].fetched) > 20)
    right.registry.close()
    await MemorySpace(scene.board, "user").take(template(Member, gatherer="right"))  # its lease ends
    scene.servers.remove(right)
    start = scene.now
    await scene.go_on(until=lambda: scene.now > start + 2 * TEAM.recover_s)
    assert not await scene.is_done()
    assert set(scene.fetched) < everything()
    await scene.server("right", parent="top").startup()
    await scene.go_on()
    scene.check()
    await scene.close()


async def test_hierarchy_loses_no_link_to_a_full_inbox(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SeedServerSettings())
    top = scene.server("top")
    scene.server("left", parent="top"), scene.server("right", parent="top")
    scene.client("a", "left"), scene.client("b", "right")
    put, refused = top._space.out_many, []

    async def out_many(kind: type, items: list, *, to: str) -> Receipt:
        if len(refused) < 40 and scene.now % 3:
            refused.append(to)
            return Receipt(0, full=True)
        return await put(kind, items, to=to)

    top._space.out_many = out_many  # type: ignore[method-assign]
    await scene.run()
    assert {"left", "right"} <= set(refused)
    scene.check()
    await scene.close()


@pytest.mark.parametrize("levels", [1, 2])
async def test_session_asks_for_everything_again_with_what_the_last_one_knew(tmp_path: Path, levels: int) -> None:
    """Whoever gets a page now, and nobody gets one before all have told; a server that dies meanwhile goes on."""
    scene = Scene(tmp_path, SeedServerSettings())
    names = [("s", "")] if levels == 1 else [("s", ""), ("left", "s"), ("right", "s")]
    for each in names:
        scene.server(*each)
    clients = [scene.client(name, names[at % levels - levels][0]) for at, name in enumerate("abc")]
    await scene.run()
    scene.check()
    last = {client.name: set(client.fetched) for client in clients}
    await scene.close()

    scene.session, scene.servers = 2, []
    user = MemorySpace(scene.board, "user")
    await user.out(Control(CrawlState.RUNNING, "user"))
    late, _, old = clients
    scene.clients = [clients[1], old]
    await user.take(template(Member, gatherer="a"))
    # it had something to tell of the last session
    await old.space.out_many(Finds, [Finds("c", sorted(last["c"]), [], session=1)], to=old.server)
    for each in names:
        await scene.server(*each).startup()
    await clients[1].renew(2)
    old.fetched = sorted(last["c"])
    for _ in range(2):
        await scene.go_on(until=lambda at=scene.now: scene.now > at + 20)
        # of one server's clients, one has not come, one has not told
        assert set(clients[1].fetched) <= (last["b"] if levels == 2 else set())
        crashed = next(server for server in scene.servers if server.name == old.server)
        crashed.registry.close()
        scene.servers.remove(crashed)
        await user.take(template(Member, gatherer=crashed.name))
        await scene.server(*names[-levels]).startup()
    await old.renew(2)
    scene.clients.append(late)
    await late.renew(2)
    await scene.go_on()
    scene.check()
    for client in clients:
        assert {url: copy.etag for url, copy in client.copies.items()} == {url: f'"{url}"' for url in client.fetched}
    await scene.close()


async def test_session_does_not_wait_for_ever_for_a_client(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SeedServerSettings())
    scene.server("s")
    clients = [scene.client(name, "s") for name in "ab"]
    await scene.run()
    await scene.close()
    scene.session, scene.servers, scene.clients = 2, [], clients[:1]
    user = MemorySpace(scene.board, "user")
    await user.out(Control(CrawlState.RUNNING, "user"))
    await user.take(template(Member, gatherer="b"))
    lost, clients[1].fetched = clients[1].fetched, []
    await clients[0].renew(2)
    await scene.server("s").startup()
    start = scene.now
    await scene.go_on()
    scene.check()
    assert scene.now > start + TEAM.recover_s
    assert set(clients[0].copies).isdisjoint(lost), "asked for as if for the first time"
    await scene.close()


async def test_second_server_of_a_name_is_refused(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SeedServerSettings())
    first = scene.server("s")
    await first.startup()
    await first.step()
    registry = UrlRegistry(tmp_path / "other", ORDERS["backlink"], fsync=False)
    config = SeedServerConfig(name="s", rules=scene.rules, team=TEAM)
    second = SeedServer(config, MemorySpace(scene.board, "s"), registry, clock=scene.clock)

    async def serve() -> None:
        for _ in range(20):
            scene.now += 1.0
            await first.step()

    serving = asyncio.create_task(serve())
    with pytest.raises(UsageError, match="another --name"):
        await second.startup()
    await serving
    registry.close()
    await scene.close()


async def test_server_stops_a_crawl_whose_client_does_not_take_what_it_is_sent(tmp_path: Path) -> None:
    """As a client of another version would: it lives, waits, and leaves its seeds in its inbox."""
    scene = Scene(tmp_path, SeedServerSettings())
    scene.server("s")
    client = MemorySpace(scene.board, "c")
    await scene.servers[0].startup()
    await client.out(Seeds(["http://a.com/0"]), to="seeds")
    control = None
    for beat in range(400):
        scene.now += 1.0
        figures = {"waits": 1.0, "unread": 1.0}
        await client.out(Member("c", "r", passive=True, settled_epoch=1, figures=figures, beat=beat, server="s"))
        await scene.servers[0].step()
        if (control := await client.read(template(Control))) is not None:
            break
    assert control is not None
    assert (control.state, control.reason) == (CrawlState.STOPPING, "stuck")
    assert "cannot be read by c (1)" in control.detail
    assert scene.now >= TEAM.recover_s
    await scene.close()
