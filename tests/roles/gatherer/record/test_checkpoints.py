"""When a checkpoint is due."""

from types import SimpleNamespace
from typing import Any

import pytest

from gcs.roles.gatherer.record.checkpoints import BUSY_S, IDLE_S, Checkpoints


@pytest.mark.parametrize(
    ("uncommitted", "changing", "busy", "due_s"),
    [
        (False, False, False, 5.0),
        (True, False, True, BUSY_S),
        (True, False, False, IDLE_S),
        (True, True, True, IDLE_S),  # a range is on its way: its new owner waits for it
    ],
)
def test_checkpoint_is_due_the_sooner_the_more_others_wait_for_it(uncommitted, changing, busy, due_s) -> None:
    team: Any = SimpleNamespace(has_uncommitted=uncommitted, is_changing=changing)
    nothing: Any = None
    dependencies: Any = SimpleNamespace(frontier=nothing, store=nothing, recrawl=nothing)
    checkpoints = Checkpoints(dependencies, team, nothing, nothing, nothing, every_s=5.0)
    assert checkpoints.due_at(busy) == due_s
