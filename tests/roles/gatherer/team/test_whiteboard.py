"""What a gatherer says of itself on the whiteboard, and when."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from gcs.core.messages.election import Tenure
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Member, Seeds
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.report.counters import Traffic
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.ports.space.clock import lease_time
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.ports.system.tasks import BackgroundTasks
from gcs.roles.gatherer.membership import MemberContext
from gcs.roles.gatherer.team.block_exchange import BlockExchange
from gcs.roles.gatherer.team.whiteboard import Whiteboard, difference_s


async def test_heartbeat_tells_of_seeds_before_they_are_acked(tmp_path: Path) -> None:
    """The next regular heartbeat is an hour away: still, the board shows who has the seeds before they are acked."""
    board = MemoryBoard()
    said: list[int] = []

    def beat() -> Member:
        said.append(len(said) + 1)
        return Member("a", "run", beat=said[-1])

    arrived = asyncio.Event()
    settings = TeamSettings(beat_s=3_600.0, lease_s=36_000.0)
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    context = MemberContext("a", MemorySpace(board, "a"), settings, frontier, run="run")
    tasks = BackgroundTasks(arrived.set)
    whiteboard = Whiteboard(context, beat, tasks)
    exchange = BlockExchange(context, Traffic(), whiteboard, tasks)
    others = MemorySpace(board, "b")
    whiteboard.start()
    exchange.start()
    exchange.take_seeds(True)
    await others.out(Seeds(["http://a.org/"]), to="seeds")
    async with asyncio.timeout(10):
        while not (taken := list(exchange.arrivals(1))):
            arrived.clear()
            await arrived.wait()
        assert taken == [Seeds(["http://a.org/"])]
        assert said == [1]
        exchange.committed()
        while await others.count(template(Seeds), at="seeds"):
            assert (await others.read(template(Member))) in (
                None,
                Member("a", "run", beat=1),
                Member("a", "run", beat=2),
            )
            await asyncio.sleep(0)
    assert await others.read(template(Member)) == Member("a", "run", beat=2)
    await tasks.close()
    await exchange.close()
    frontier.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell how long they slept")
def test_lease_is_over_when_the_machine_wakes_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What time.monotonic() counts stands still in a suspended machine; the whiteboard's clock does not."""
    tenure = Tenure(lease_time(), lease_s=10.0)
    assert tenure.holds(lease_time())
    awake = {time.CLOCK_BOOTTIME: time.clock_gettime(time.CLOCK_BOOTTIME) + 3_600}
    monkeypatch.setattr(time, "clock_gettime", lambda clock: awake.get(clock, 0.0))
    assert not tenure.holds(lease_time())


@pytest.mark.parametrize(
    ("before", "there", "after", "ahead_s"), [(100.0, 100.1, 100.2, 0.0), (700.0, 100.1, 700.2, 600.0), (1, 9, 3, -7.0)]
)
def test_clocks_are_compared_as_exactly_as_the_answer_was_quick(before, there, after, ahead_s) -> None:
    assert difference_s(before, there, after) == pytest.approx(ahead_s)
