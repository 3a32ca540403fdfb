"""The pusher: in order, at least once, and nobody waits for a receiver that hangs or fails."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from gcs.core.watch.profile import Match, Profile
from gcs.core.watch.push_target import PushTarget
from gcs.ports.push import PushError
from gcs.ports.watch.watch_store import WatchStore
from gcs.roles.watcher.pusher import HEALTHY_SLOTS, MOST_RETRY_S, Pusher, retry_after


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Fake:
    """A receiver in memory: addresses that begin so fail or hang."""

    most = 1

    def __init__(self) -> None:
        self.taken: list[tuple[str, str]] = []
        self.failing: set[str] = set()
        self.hanging: set[str] = set()
        self.forgets = False

    async def push(self, target: PushTarget, _secret: str, matches: Sequence[Match]) -> None:
        name = target.address.rpartition("/")[2]
        if name in self.hanging:
            await asyncio.Event().wait()
        if name in self.failing:
            raise PushError("HTTP 500")
        await asyncio.sleep(0)
        self.taken += [(name, match.id) for match in matches]
        if self.forgets:
            raise PushError("the answer was lost")

    async def close(self) -> None:
        pass

    def got(self, name: str) -> list[str]:
        return [identity for who, identity in self.taken if who == name]


def target(name: str) -> PushTarget:
    return PushTarget.parse(f"https://{name}.example/{name}")


def commit(store: WatchStore, profile: str, *numbers: int) -> None:
    some = [Match(f"{n}", profile, "new", "http://a.example/", "", "", "en", 1, 5.0) for n in numbers]
    store.commit(some, [], {}, 1_000.0)


async def settle(pusher: Pusher) -> None:
    """Push until only those that hang are under way."""
    for _ in range(300):
        pusher.step()
        await asyncio.sleep(0)


@pytest.fixture
def store(tmp_path: Path):
    with WatchStore(tmp_path) as made:
        yield made


def pusher_of(store: WatchStore, fake: Fake, clock: Clock) -> Pusher:
    return Pusher(store, {"webhook": fake}, clock, random.Random(1))


async def test_matches_come_in_order_and_once_where_nothing_fails(store: WatchStore) -> None:
    fake, clock = Fake(), Clock()
    store.add(Profile("p", "red"), [(target("a"), "s"), (target("b"), "s")])
    pusher = pusher_of(store, fake, clock)
    commit(store, "p", *range(7))
    await settle(pusher)
    commit(store, "p", 7, 8)
    await settle(pusher)
    assert fake.got("a") == fake.got("b") == [str(n) for n in range(9)]
    await pusher.close()


async def test_receiver_that_fails_gets_everything_later_in_order(store: WatchStore) -> None:
    fake, clock = Fake(), Clock()
    store.add(Profile("p", "red"), [(target("a"), "s"), (target("b"), "s")])
    pusher = pusher_of(store, fake, clock)
    fake.failing = {"a"}
    commit(store, "p", 1, 2, 3)
    await settle(pusher)
    assert (fake.got("a"), fake.got("b")) == ([], ["1", "2", "3"])
    fake.failing = set()
    await settle(pusher)
    assert fake.got("a") == [], "not before its time"
    clock.now += MOST_RETRY_S * 2
    await settle(pusher)
    assert fake.got("a") == ["1", "2", "3"]
    await pusher.close()


async def test_hanging_receivers_hold_nobody_else(store: WatchStore) -> None:
    """More of them than there are slots for those that failed."""
    fake, clock = Fake(), Clock()
    names = [f"h{number}" for number in range(HEALTHY_SLOTS // 2)]
    fake.hanging = set(names)
    for name in names:
        store.add(Profile(name, "red"), [(target(name), "s")])
        commit(store, name, 1)
    pusher = pusher_of(store, fake, clock)
    await settle(pusher)
    store.add(Profile("p", "red"), [(target("a"), "s")])
    commit(store, "p", 1, 2)
    await settle(pusher)
    assert fake.got("a") == ["1", "2"]
    await pusher.close()


async def test_lost_answer_repeats_the_match_with_its_id(store: WatchStore) -> None:
    fake, clock = Fake(), Clock()
    store.add(Profile("p", "red"), [(target("a"), "s")])
    commit(store, "p", 1, 2)
    pusher = pusher_of(store, fake, clock)
    fake.forgets = True
    await settle(pusher)
    fake.forgets = False
    clock.now += MOST_RETRY_S * 2
    await settle(pusher)
    assert fake.got("a") == ["1", "1", "2"]
    await pusher.close()


async def test_digests_keep_their_distance(store: WatchStore) -> None:
    fake, clock = Fake(), Clock()
    fake.most = 100  # type: ignore[misc]
    mail = PushTarget.parse("smtp://mail.example/?to=a@example.org&every=60")
    store.add(Profile("p", "red"), [(mail, "")])
    pusher = Pusher(store, {"mail": fake}, clock, random.Random(1))
    commit(store, "p", 1, 2)
    await settle(pusher)
    commit(store, "p", 3)
    await settle(pusher)
    assert [identity for _, identity in fake.taken] == ["1", "2"]
    clock.now += 60
    await settle(pusher)
    assert [identity for _, identity in fake.taken] == ["1", "2", "3"]
    await pusher.close()


async def test_log_names_receiver_without_its_secrets(store: WatchStore, caplog: pytest.LogCaptureFixture) -> None:
    fake = Fake()
    fake.failing = {"t0ken"}
    store.add(Profile("p", "red"), [(PushTarget.parse("https://u:pass@a.example/t0ken"), "s3cret")])
    commit(store, "p", 1)
    pusher = pusher_of(store, fake, Clock())
    await settle(pusher)
    await pusher.close()
    told = "".join(str(record.__dict__) for record in caplog.records)
    assert "https://a.example/…" in told
    assert not [secret for secret in ("t0ken", "u:pass", "s3cret") if secret in told]
    assert store.targets()[0].problem == "HTTP 500"


def test_waits_grow_to_an_hour_and_no_further() -> None:
    waits = [retry_after(failures, 0.5) for failures in range(40)]
    assert waits[0] == 1 and waits == sorted(waits) and waits[-1] == MOST_RETRY_S
    assert retry_after(3, 0.0) < retry_after(3, 1.0)
