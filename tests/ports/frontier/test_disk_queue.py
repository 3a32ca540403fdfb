"""Queues on disk against a sorted list that is saved and falls back as they do; and queues whose process was killed."""

import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.queues import quickheap
from gcs.core.queues.primitives import Vectors
from gcs.core.queues.queue_maker import QUEUES
from gcs.errors import DiskFullError, StoreError, UsageError
from gcs.ports.frontier import disk_queue
from gcs.ports.frontier.disk_queue import DiskQueue, DiskSettings, open_scratch

BATCH = st.lists(st.tuples(st.integers(-3, 3).map(float), st.integers(0, 9)), max_size=60)
CALLS = st.lists(st.one_of(BATCH, st.integers(0, 90), st.sampled_from(["save", "crash"])), max_size=25)
#: blocks of four entries and a cache of a few: everything goes to disk and back
TINY = DiskSettings(cache_bytes=5 * 4 * 16, block_keys=4)


@pytest.fixture(autouse=True, scope="module")
def small_strides():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quickheap, "SMALL", 3)
        yield


def insert(queue, pairs):
    queue.insert_many(np.array([key for key, _ in pairs], float), np.array([id_ for _, id_ in pairs], np.uint64))


def extract(queue, count):
    keys, ids = queue.extract_top(count)
    return list(zip(keys.tolist(), ids.tolist()))


@pytest.mark.parametrize("name", QUEUES)
@settings(deadline=None)
@given(calls=CALLS)
def test_disk_queue_gives_what_a_sorted_list_gives(name, calls):
    with TemporaryDirectory() as folder:
        queue, model, saved = DiskQueue(name, Path(folder), TINY), [], []
        for call in calls:
            if call == "save":
                queue.save()
                saved = model
            elif call == "crash":  # what was written since the last save stays in the file, and must not matter
                queue.close()
                queue, model = DiskQueue(name, Path(folder), TINY), saved
            elif isinstance(call, int):
                best, model = model[:call], model[call:]
                assert extract(queue, call) == best
            else:
                insert(queue, call)
                model = sorted(model + call, key=lambda pair: (-pair[0], pair[1]))
            assert len(queue) == len(model)
        assert extract(queue, len(model) + 1) == model
        queue.close()


#: inserts, extracts and saves for ever; a line for each save that has begun and for each that has returned
WRITER = """
import sys
from pathlib import Path
import numpy as np
from gcs.core.queues import quickheap
from gcs.ports.frontier.disk_queue import DiskSettings, DiskQueue
quickheap.SMALL = 64
queue = DiskQueue(sys.argv[1], Path(sys.argv[2]), DiskSettings(cache_bytes=16 * 64 * 16, block_keys=64))
for step in range(int(sys.argv[3]), 1000000):
    random = np.random.default_rng(step)
    queue.insert_many(random.random(700), np.arange(700, dtype=np.uint64) + np.uint64(step * 700))
    queue.extract_top(600)
    if step % 3 == 0:
        print("saving", step, flush=True)
        queue.save()
        print("saved", step, flush=True)
"""


def after(step):
    """What the writer's queue holds after a step."""
    model = []
    for each in range(step + 1):
        keys = np.random.default_rng(each).random(700)
        model += zip(keys.tolist(), range(each * 700, each * 700 + 700))
        model = sorted(model, key=lambda pair: (-pair[0], pair[1]))[600:]
    return model


@pytest.mark.parametrize("name", ["quickheap", "tournament"])
def test_killed_process_leaves_the_queue_as_it_was_saved(name, tmp_path):
    """kill -9 at any time, five times over: the last save that returned holds, or the one that was under way."""
    folder, random, begin = tmp_path / "queue", np.random.default_rng(7), 0
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, name, folder, str(begin)], stdout=subprocess.PIPE, text=True
        )
        lines = [process.stdout.readline().split() for _ in range(int(random.integers(2, 12)))]
        os.kill(process.pid, signal.SIGKILL)
        lines += [line.split() for line in process.stdout.read().splitlines()]
        process.stdout.close()
        process.wait()
        returned = max((int(step) for what, step in lines if what == "saved"), default=begin - 1)
        begun = max(int(step) for _, step in lines)
        queue = DiskQueue(name, folder, DiskSettings(cache_bytes=16 * 64 * 16, block_keys=64))
        (held,) = [step for step in {returned, begun} if len(queue) == 100 * (step + 1)]
        expected = after(held)
        # look without taking: what is not saved is forgotten
        assert extract(queue, len(expected) + 1) == expected
        queue.close()
        begin = held + 1


class PowerCut(BaseException):
    """The machine is gone."""


class Disk:
    """Each write, sync and rename until the machine is gone. What was written and not synced is then lost, if the disk
    is of that kind, or all there, but for half of the last write.
    """

    def __init__(self, happen, loses):
        self._left, self._loses = happen, loses
        self._unsynced = []
        self._pwrite, self._fsync, self._replace = os.pwrite, os.fsync, os.replace

    def _happens(self):
        self._left -= 1
        if self._left < 0:
            for fd, before, at in reversed(self._unsynced if self._loses else ()):
                self._pwrite(fd, before, at)
        return self._left >= 0

    def pwrite(self, fd, data, at):
        self._unsynced.append((fd, os.pread(fd, len(data), at).ljust(len(data), b"?"), at))
        if not self._happens():
            if not self._loses:
                self._pwrite(fd, data[: len(data) // 2], at)
            raise PowerCut
        return self._pwrite(fd, data, at)

    def sync(self, fd):
        if not self._happens():
            raise PowerCut
        self._fsync(fd)
        self._unsynced = [each for each in self._unsynced if each[0] != fd]

    def replace(self, *paths):
        if not self._happens():
            raise PowerCut
        self._replace(*paths)


@pytest.mark.parametrize("loses", [True, False], ids=["unsynced-lost", "torn"])
@pytest.mark.parametrize("name", QUEUES)
def test_cut_at_any_write_leaves_the_last_save_or_this_one(name, loses, tmp_path):
    """Each write, sync and rename since a save is the last one that happens."""
    before, after, outcomes = [(float(i), i) for i in range(60)], [(float(i), i) for i in range(60, 90)], set()
    for cut in range(1000):
        folder = tmp_path / str(cut)
        queue = DiskQueue(name, folder, TINY)
        insert(queue, before)
        queue.save()
        disk = Disk(cut, loses)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "pwrite", disk.pwrite)
            patch.setattr(os, "fsync", disk.sync)
            patch.setattr(disk_queue, "sync_data", disk.sync)
            patch.setattr(os, "replace", disk.replace)
            try:
                extract(queue, 30)
                insert(queue, after + before[30:])
                queue.save()
                survived = True
            except PowerCut:
                survived = False
        queue.close()
        queue = DiskQueue(name, folder, TINY)
        held = sorted(extract(queue, 1000))
        queue.close()
        assert held in (before, before + after)
        outcomes.add((survived, len(held)))
        if survived:
            break
    assert outcomes >= {(False, 60), (True, 90)}


def test_queue_is_locked_and_keeps_its_kind(tmp_path):
    queue = DiskQueue("quickheap", tmp_path, TINY)
    with pytest.raises(StoreError, match="another process"):
        DiskQueue("quickheap", tmp_path, TINY)
    queue.save()
    queue.close()
    for _ in range(2):  # the first leaves no lock behind
        with pytest.raises(UsageError, match="holds a quickheap"):
            DiskQueue("tournament", tmp_path, TINY)
    with pytest.raises(UsageError, match="no queue is called"):
        DiskQueue("stack", tmp_path / "other")


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:9] + b"x" + data[10:], lambda _: b""])
def test_damaged_queue_is_told(damage, tmp_path):
    queue = DiskQueue("tournament", tmp_path, TINY)
    queue.save()
    queue.close()
    saved = tmp_path / "queue"
    saved.write_bytes(damage(saved.read_bytes()))
    with pytest.raises(StoreError, match="damaged"):
        DiskQueue("tournament", tmp_path, TINY)


def test_full_disk_keeps_the_last_save(tmp_path, monkeypatch):
    queue = DiskQueue("quickheap", tmp_path, TINY)
    insert(queue, [(float(i), i) for i in range(100)])
    queue.save()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(disk_queue.os, "pwrite", full)
        with pytest.raises(DiskFullError, match="No space"):
            for _ in range(10):
                insert(queue, [(float(i), i) for i in range(100)])
    queue.close()
    queue = DiskQueue("quickheap", tmp_path, TINY)
    assert extract(queue, 3) == [(99.0, 99), (98.0, 98), (97.0, 97)]
    assert len(queue) == 97
    queue.close()


@pytest.mark.parametrize("name", ["quickheap", "tournament"])
def test_scratch_keeps_to_its_memory_and_leaves_no_file(name, tmp_path):
    """6 MB of pairs through a cache of 1 MB, all of them there in order, on a file that nobody has to clear away."""
    random, keys = np.random.default_rng(1), 400_000
    tracemalloc.start()
    queue = open_scratch(name, tmp_path, DiskSettings(1 << 20, 4096))
    for start in range(0, keys, 20_000):
        queue.insert_many(random.random(20_000), np.arange(start, start + 20_000, dtype=np.uint64))
    got = [queue.extract_top(20_000) for _ in range(3)]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 5 << 20
    assert not list(tmp_path.iterdir())
    got += [queue.extract_top(keys)]
    assert np.all(np.diff(np.concatenate([each for each, _ in got])) <= 0)
    assert np.array_equal(np.sort(np.concatenate([ids for _, ids in got])), np.arange(keys, dtype=np.uint64))


@pytest.mark.parametrize("name", ["quickheap", "tournament"])
def test_storage_is_used_again(name, tmp_path):
    """A queue that keeps its size keeps its file's, however much goes through it."""
    queue = DiskQueue(name, tmp_path, TINY)
    random = np.random.default_rng(1)
    queue.insert_many(random.random(1000), np.arange(1000, dtype=np.uint64))
    sizes = []
    for _ in range(40):
        for _ in range(5):
            keys, ids = queue.extract_top(100)
            queue.insert_many(keys - random.random(100), ids)
        queue.save()
        sizes.append((tmp_path / "blocks").stat().st_size)
    assert max(sizes) <= 2.2 * 1000 * 16
    queue.close()


def test_quickheap_touches_fewer_blocks_than_the_tree(tmp_path):
    """Figure 9, with a cache of a tenth of the queue, and long enough for every chunk to be split."""
    touched = {}
    for name in ("quickheap", "tournament"):
        do = Vectors()
        counts = do.counts
        queue = DiskQueue(name, tmp_path / name, DiskSettings(cache_bytes=4000 * 16, block_keys=100), do)
        random = np.random.default_rng(1)
        queue.insert_many(random.random(40_000), np.arange(40_000, dtype=np.uint64))
        queue.extract_top(100)
        counts.block_reads = counts.block_writes = 0
        for _ in range(1000):
            keys, ids = queue.extract_top(100)
            queue.insert_many(keys - random.random(100), ids)
        touched[name] = counts.block_reads + counts.block_writes
        queue.close()
    assert 0 < touched["quickheap"] < 0.75 * touched["tournament"]
