"""The end of a crawl: a model of processes that send, receive, report late, die and start again."""

import random

import pytest

from gcs.core.messages import termination
from gcs.core.messages.tuples import Member

EPOCH = 3


def member(name="g1", run="r", passive=True, settled=EPOCH, sent=0, received=0, beat=1):
    return Member(
        name,
        run,
        epoch=settled,
        settled_epoch=settled,
        passive=passive,
        blocks_sent=sent,
        blocks_received=received,
        beat=beat,
    )


@pytest.mark.parametrize(
    ("members", "seeds"),
    [
        ([], 0),
        ([member()], 1),
        ([member(), member("g2", passive=False)], 0),
        ([member(), member("g2", settled=EPOCH - 1)], 0),
    ],
)
def test_look_sees_that_there_is_something_to_do(members, seeds):
    assert termination.look(members, EPOCH, seeds) is None


@pytest.mark.parametrize(
    ("later", "over"),
    [
        ([member(beat=3), member("g2", beat=9)], True),
        ([member(beat=2), member("g2", beat=9)], False),  # it may be older than the first look
        ([member(beat=3), member("g2", beat=9, sent=1)], False),
        ([member(beat=3), member("g2", beat=9, received=1)], False),
        ([member(beat=3), member("g2", beat=9, run="s")], False),
        ([member(beat=3)], False),
        ([member(beat=3), member("g2", beat=9), member("g3", beat=9)], False),
    ],
)
def test_crawl_is_over_when_nothing_has_changed_in_fresh_beats(later, over):
    first = termination.look([member(beat=1), member("g2", beat=7)], EPOCH, 0)
    second = termination.look(later, EPOCH, 0)
    assert first is not None and second is not None
    assert first.is_confirmed_by(second) is over


class Process:
    """A gatherer as far as termination is concerned. What it has sent stays in its outbox until the receipt."""

    def __init__(self, name: str) -> None:
        self.name, self.run, self.active = name, 0, False
        self.outbox: list[list] = []  # [receiver, committed]
        self.sent = self.received = self.beat = 0
        self.seeds: list[int] = []  # taken in, not acked: the beat that has to tell of each
        self.posted = 0
        self.snapshot: Member | None = None  # taken, not posted yet

    def take(self) -> None:
        if self.snapshot is None:
            self.beat += 1
            passive = not self.active and not self.outbox
            self.snapshot = member(self.name, str(self.run), passive, EPOCH, self.sent, self.received, self.beat)

    def restart(self) -> None:
        """The outbox is on disk, and so is what it had to do; counters and a beat that was not posted are not."""
        self.run += 1
        self.sent = self.received = self.beat = self.posted = 0
        self.seeds = [1 for _ in self.seeds]  # they come again
        self.snapshot = None


class World:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.processes = [Process(f"g{n}") for n in range(self.random.randint(1, 4))]
        self.board: dict[str, Member] = {}
        self.budget, self.seeds, self.late = self.random.randint(0, 12), self.random.randint(0, 2), 2
        self.first: termination.TeamSnapshot | None = None
        self.over = False

    def act(self) -> None:
        """Something happens somewhere."""
        process = self.random.choice(self.processes)
        kind = self.random.choice(
            ["add", "seed", "ack", "send", "rest", "deliver", "receipt", "take", "take", "post", "post", "look"]
        )
        if kind == "add" and self.late and self.random.random() < 0.05:
            self.late, self.seeds = self.late - 1, self.seeds + 1
        elif kind == "seed" and self.seeds:
            self.seeds, process.active = self.seeds - 1, True
            process.received += 1
            process.seeds.append(process.beat + 1)
        elif kind == "ack":
            process.seeds = [beat for beat in process.seeds if beat > process.posted]
        elif kind == "send" and process.active and self.budget:
            self.budget -= 1
            process.sent += 1
            process.outbox.append([self.random.choice(self.processes), False])
        elif kind == "rest":
            process.active = False
        elif kind == "deliver":
            self.deliver(process)
        elif kind == "receipt":
            process.outbox = [letter for letter in process.outbox if not letter[1]]
        elif kind == "take":
            process.take()
        elif kind == "post" and process.snapshot:
            process.posted = process.snapshot.beat
            self.board[process.name], process.snapshot = process.snapshot, None
        elif kind == "look":
            self.look()
        if self.random.random() < 0.01:
            process.restart()

    def deliver(self, sender: Process) -> None:
        for letter in sender.outbox[:1]:
            if not letter[1]:
                letter[1] = True
                letter[0].received += 1
                letter[0].active = True

    def look(self) -> None:
        later = None
        if len(self.board) == len(self.processes):  # else somebody is missing
            later = termination.look(self.board.values(), EPOCH, self.counted_seeds())
        if later is None or self.first is None or not self.first.is_same(later):
            self.first = later
        else:
            self.over = self.first.is_confirmed_by(later)

    def counted_seeds(self) -> int:
        """Those that nobody has taken, and those that are not acked."""
        return self.seeds + sum(len(process.seeds) for process in self.processes)

    def is_quiet(self) -> bool:
        under_way = any(not letter[1] for process in self.processes for letter in process.outbox)
        return not (under_way or self.seeds or any(process.active for process in self.processes))


@pytest.mark.parametrize("part", range(4))
def test_crawl_never_ends_early_and_always_ends(part):
    for seed in range(part * 500, part * 500 + 500):
        world = World(seed)
        for _ in range(300):
            world.act()
            if world.over:
                assert world.is_quiet(), f"seed {seed} ended early"
                break
        while not world.over and not world.is_quiet():
            world.act()
        for _ in range(6):  # beats
            for process in world.processes:
                process.active, process.outbox, process.seeds = False, [], []
                if process.snapshot is None:
                    process.take()
                world.board[process.name], process.snapshot = process.snapshot, None
            world.look()
        assert world.over, f"seed {seed} never ended"
