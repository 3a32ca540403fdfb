"""The faults of the chaos test that are not about one process: one function each, listed in FAULTS.

A fault does something to the team, and says in words what it was. What has to be undone is given to `chaos.later`:
other things go on happening meanwhile, and when there is peace, all of it is undone.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import redis

if TYPE_CHECKING:
    from .chaos import Chaos

REDIS, LATENCY, MEMORY, UPGRADE, CLOCK = "redis", "latency", "memory", "upgrade", "clock"
#: seconds by which a wall clock is set wrong
STEPS_S = (-7200, -600, -5, 5, 600, 7200)
#: seconds for a killed server to be gone
GONE_S = 30.0


async def restart_redis(chaos: "Chaos") -> str:
    """Kill the server, and start it again on what it had written."""
    pid = chaos.server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(GONE_S):
        while chaos.server.is_running:
            await asyncio.sleep(0.02)
    outage_s = chaos.random.uniform(0.0, 0.6)
    await asyncio.sleep(outage_s)
    chaos.server.revive()
    return f"away for {outage_s:.1f} s"


async def slow_line(chaos: "Chaos") -> str:
    """Let every answer of the whiteboard come late, for some leases."""
    lease_s = chaos.script.lease_s
    chaos.line.round_trip_s = lease_s * chaos.random.uniform(0.05, 0.5)

    def end() -> None:
        chaos.line.round_trip_s = 0.0

    chaos.later(3 * lease_s, end)
    return f"round trips of {chaos.line.round_trip_s:.2f} s"


async def fill_memory(chaos: "Chaos") -> str:
    """Let the whiteboard refuse whatever needs memory, for about a lease."""
    seconds = chaos.script.lease_s * chaos.random.uniform(0.5, 1.5)
    _limit_memory(chaos, 1)
    chaos.later(seconds, lambda: _limit_memory(chaos, 0))
    return f"none left for {seconds:.1f} s"


def _limit_memory(chaos: "Chaos", size_bytes: int) -> None:
    try:
        with redis.Redis(unix_socket_path=chaos.server.url.removeprefix("unix://")) as client:
            client.config_set("maxmemory", size_bytes)
    except redis.ConnectionError:
        pass  # it is being restarted, which ends the limit, too


async def upgrade(chaos: "Chaos") -> str:
    """All that start from now on are of a later version; one that runs is replaced, the others when peace comes."""
    chaos.is_upgrading = True
    old = [member for member in chaos.members if member.is_alive and not member.is_newer]
    return f"{chaos.replace(chaos.random.choice(old))} is of the later version" if old else "for those that join"


async def set_clock(chaos: "Chaos") -> str:
    """A gatherer dies and comes back, and its wall clock has made a step, back or forth (libfaketime)."""
    member = chaos.random.choice([member for member in chaos.members if member.is_alive])
    chaos.clocks_s[member.name] = step_s = chaos.random.choice(STEPS_S)
    return f"{chaos.replace(member)} is wrong by {step_s:+d} s"


FAULTS: dict[str, Callable[["Chaos"], Awaitable[str]]] = {
    REDIS: restart_redis,
    LATENCY: slow_line,
    MEMORY: fill_memory,
    UPGRADE: upgrade,
    CLOCK: set_clock,
}
