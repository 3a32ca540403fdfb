"""The frontier's trees on threads."""

import numpy as np
import pytest

from gcs.app.assembly import queue_maker
from gcs.core.queues.queue_forest import Forest
from gcs.errors import SettingsError
from gcs.ports.frontier import FrontierSettings


def test_frontier_has_a_tree_on_each_thread(tmp_path):
    """frontier.queue_threads: the same URLs in the same order as from one tree, within the same memory."""
    random = np.random.default_rng(1)
    keys, ids = -random.integers(0, 1_000, 60_000).astype(np.float64), np.arange(60_000, dtype=np.uint64)
    given_out = []
    for threads in (1, 3):
        settings = FrontierSettings(queue="tournament", queue_threads=threads, queue_bytes=1 << 20)
        queue = queue_maker(tmp_path, settings)()
        trees = queue.trees if isinstance(queue, Forest) else []
        assert len(trees) == (threads if threads > 1 else 0)
        found = []
        for at in range(0, len(keys), 5_000):
            queue.insert_many(keys[at : at + 5_000], ids[at : at + 5_000])
            found.append(queue.extract_top(2_000)[1].tolist())
        assert all(len(tree) > 6_000 for tree in trees), "every tree has its part"
        given_out.append([*found, queue.extract_top(len(queue))[1].tolist()])
    assert given_out[0] == given_out[1]
    assert not list(tmp_path.iterdir())
    with pytest.raises(SettingsError, match=r"is for frontier\.queue=tournament"):
        FrontierSettings(queue="quickheap", queue_threads=2)
