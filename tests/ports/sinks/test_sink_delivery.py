"""Delivery: batches, retries, positions; from several gatherers, through kills and power cuts."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.page import Page
from gcs.ports.records.record_store import Store
from gcs.ports.sinks import Sink
from gcs.ports.sinks.sink_delivery import SinkDelivery
from tests.ports.records.pages import record


class Taking:
    """A sink that can be away."""

    def __init__(self, batch_pages: int = 10, wait_s: float = 5.0) -> None:
        self.batches: list[list[str]] = []
        self.is_away = False
        self.sink = Sink("taking", self.write, batch_pages=batch_pages, wait_s=wait_s)

    def write(self, pages: Sequence[Page]) -> None:
        if self.is_away:
            raise ConnectionError("away")
        self.batches.append([page.url for page in pages])

    @property
    def urls(self) -> list[str]:
        return [url for batch in self.batches for url in batch]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def add(store: Store, *numbers: int, **changes: object) -> None:
    for number in numbers:
        store.add_page(record(f"http://a.example/{number}", **changes))
    store.flush()


def named(*numbers: int) -> list[str]:
    return [f"http://a.example/{number}" for number in numbers]


def drain(delivery: SinkDelivery, hurry: bool = False, closes: bool = False) -> None:
    while delivery.step(hurry):
        pass
    if closes:
        delivery.close()


def test_batch_is_written_when_it_is_full_or_old(tmp_path: Path) -> None:
    taking, clock = Taking(batch_pages=3), Clock()
    delivery = SinkDelivery(tmp_path, taking.sink, clock=clock)
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        add(store, 1, 2, 3, 4)
        drain(delivery)
        assert taking.batches == [named(1, 2, 3)]
        clock.now += 4.9
        drain(delivery)
        assert taking.batches == [named(1, 2, 3)]
        clock.now += 0.1
        drain(delivery)
        assert taking.batches == [named(1, 2, 3), named(4)]
    delivery.close()


def test_what_fails_comes_again_later_and_loses_nothing(tmp_path: Path) -> None:
    taking, clock = Taking(batch_pages=2), Clock()
    delivery = SinkDelivery(tmp_path, taking.sink, clock=clock)
    with Store.open(tmp_path, StoreSettings(log_records=4), "g0") as store:
        taking.is_away = True
        for number in range(30):
            add(store, number)
            delivery.step()
            clock.now += 0.5
        assert delivery.failures and "away" in delivery.problem and taking.urls == []
        taking.is_away = False
        assert taking.urls == []
        clock.now += 60
        drain(delivery, hurry=True)
        assert taking.urls == named(*range(30)) and delivery.failures == 0
    delivery.close()


def test_waits_between_two_tries_grow(tmp_path: Path) -> None:
    taking, clock = Taking(batch_pages=1), Clock()
    tries: list[float] = []
    sink = Sink("counting", lambda _: [tries.append(clock.now), taking.write(())], batch_pages=1)
    taking.is_away = True
    delivery = SinkDelivery(tmp_path, sink, clock=clock)
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        add(store, 1)
        for _ in range(4_000):
            delivery.step()
            clock.now += 0.1
    waits = [round(later - sooner) for sooner, later in itertools.pairwise(tries)]
    assert waits[0] <= 1 and waits == sorted(waits) and waits[-1] == 60
    delivery.close()


def test_position_is_kept_only_for_what_was_written(tmp_path: Path) -> None:
    clock = Clock()
    with Store.open(tmp_path, StoreSettings(log_records=3), "g0") as store:
        add(store, *range(10))
        first = Taking(batch_pages=4)
        delivery = SinkDelivery(tmp_path, first.sink, clock=clock)
        drain(delivery)
        assert first.urls == named(*range(8))
        delivery.close()
        second = Taking(batch_pages=4)
        drain(SinkDelivery(tmp_path, second.sink, clock=clock), hurry=True, closes=True)
        assert second.urls == named(8, 9), "the batch that was not full comes again"
        third = Taking()
        drain(SinkDelivery(tmp_path, third.sink, clock=clock), hurry=True, closes=True)
        assert third.urls == []


def test_batch_that_could_not_be_written_comes_again_in_the_next_process(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        add(store, *range(4))
        first = Taking(batch_pages=2)
        first.is_away = True
        delivery = SinkDelivery(tmp_path, first.sink, clock=Clock())
        delivery.step(hurry=True)
        assert delivery.failures
        delivery.close()
        second = Taking(batch_pages=2)
        drain(SinkDelivery(tmp_path, second.sink, clock=Clock()), hurry=True, closes=True)
        assert second.urls == named(*range(4))


def test_every_gatherer_of_the_directory_is_delivered(tmp_path: Path) -> None:
    taking, clock = Taking(batch_pages=100), Clock()
    delivery = SinkDelivery(tmp_path, taking.sink, clock=clock)
    with Store.open(tmp_path, StoreSettings(), "g0") as one:
        add(one, 1, 2)
        drain(delivery)
        with Store.open(tmp_path, StoreSettings(), "g1") as other:  # it has joined later
            add(other, 3)
            drain(delivery, hurry=True)
    assert sorted(taking.urls) == named(1, 2, 3)
    delivery.close()


def test_only_pages_and_what_became_of_them_are_delivered(tmp_path: Path) -> None:
    taking, all_of_it = Taking(), Taking()
    every = Sink("every", all_of_it.write, everything=True)
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        add(store, 1)
        add(store, 2, status=301)
        add(store, 3, status=404, failure="http-404")
        add(store, 4, status=404, failure="http-404", change="gone", session=2)
        add(store, 5, source=True)
        drain(SinkDelivery(tmp_path, taking.sink), hurry=True, closes=True)
        drain(SinkDelivery(tmp_path, every), hurry=True, closes=True)
    assert taking.urls == named(1, 4)
    assert all_of_it.urls == named(1, 2, 3, 4, 5)


def test_what_is_stored_in_place_of_lost_records_is_delivered(tmp_path: Path) -> None:
    """A power cut takes records that the sink has: those that come after it stand at the same positions."""
    log = tmp_path / "state/g0/log/000001.log"
    taking = Taking()
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        add(store, 1, 2)
        kept = log.stat().st_size
        add(store, 3, 4, 5)
        drain(SinkDelivery(tmp_path, taking.sink), hurry=True, closes=True)
    with log.open("r+b") as file:
        file.truncate(kept)
    again = SinkDelivery(tmp_path, taking.sink)  # opened first: the gatherer has cut nothing yet
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        drain(again, hurry=True)
        add(store, 6, 7)
        drain(again, hurry=True)
    again.close()
    assert taking.urls == named(1, 2, 3, 4, 5, 6, 7)


def test_log_that_is_cut_while_it_is_followed_is_followed_from_its_new_end(tmp_path: Path) -> None:
    log = tmp_path / "state/g0/log/000001.log"
    taking = Taking()
    delivery = SinkDelivery(tmp_path, taking.sink)
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        add(store, 1)
        kept = log.stat().st_size
        add(store, 2)
        drain(delivery, hurry=True)
    with log.open("r+b") as file:
        file.truncate(kept)
    drain(delivery, hurry=True)
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        add(store, 3)
        drain(delivery, hurry=True)
    assert taking.urls == named(1, 2, 3)
    delivery.close()
