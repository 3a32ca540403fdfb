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
    checkpoints = checkpoints_of(SimpleNamespace(has_uncommitted=uncommitted, is_changing=changing))
    assert checkpoints.due_at(busy) == due_s


def test_first_checkpoint_of_a_member_is_due_at_once() -> None:
    """Until it is made, the others do not know that the member follows the first plan, and seeds do not go on."""
    checkpoints = checkpoints_of(SimpleNamespace(has_uncommitted=True, is_changing=True))
    checkpoints.replay(now=100.0, session=1)
    assert checkpoints.due_at(busy=False) == 100.0


def checkpoints_of(team: Any) -> Checkpoints:
    nothing: Any = None
    frontier, store = SimpleNamespace(note=lambda _: None), SimpleNamespace(tail=lambda _: [])
    dependencies: Any = SimpleNamespace(frontier=frontier, store=store, recrawl=nothing)
    return Checkpoints(dependencies, team, nothing, nothing, nothing, every_s=5.0)
