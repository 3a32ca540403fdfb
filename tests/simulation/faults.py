"""The faults of a simulation: made from a seed, and brought about at their times."""

import asyncio
import random
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.simulation.network import Backup, forget_everything

if TYPE_CHECKING:
    from tests.simulation.sim_team import SimTeam

#: kind → how often it is drawn
KINDS = {
    "kill": 8,
    "die-synced": 4,
    "die-committed": 4,
    "stop": 6,
    "leave": 3,
    "join": 4,
    "power": 3,
    "cut": 5,
    "slow": 2,
    "lossy": 3,
    "down": 4,
    "rollback": 3,
    "flush": 1,
    "short": 2,
    "clock": 3,
    "full": 2,
    "damage": 2,
    "lose": 1,
}


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that goes wrong, for a while."""

    at_s: float
    kind: str
    #: number of the gatherer that it meets
    target: int
    lasts_s: float

    @property
    def until_s(self) -> float:
        return self.at_s + self.lasts_s

    def __str__(self) -> str:
        return f"{self.at_s:.2f} s: {self.kind} g{self.target} for {self.lasts_s:.2f} s"


def faults_of(chance: random.Random, gatherers: int, elsewhere: int, span_s: float) -> tuple[Fault, ...]:
    """The faults of a seed, within so many seconds. At most one machine is lost, and only where the team has others."""
    kinds = dict(KINDS)
    if not elsewhere:
        del kinds["lose"]
    count = chance.choice((0, 1, 2, 4, 8, 12))
    drawn = chance.choices(list(kinds), weights=list(kinds.values()), k=count)
    if drawn.count("lose") > 1:
        drawn = [kind for kind in drawn if kind != "lose"] + ["lose"]
    lasting = {"stop": 6.0, "cut": 8.0, "slow": 6.0, "lossy": 6.0, "down": 6.0, "short": 5.0, "full": 4.0}
    faults = [
        Fault(
            round(chance.uniform(0.2, span_s), 2),
            kind,
            gatherers - 1 - chance.randrange(elsewhere) if kind == "lose" else chance.randrange(gatherers),
            round(chance.uniform(0.3, lasting.get(kind, 0.3)), 2),
        )
        for kind in drawn
    ]
    return tuple(sorted(faults))


async def apply(team: "SimTeam", faults: tuple[Fault, ...]) -> None:
    """Bring the faults about, each at its time, until the crawl is over."""
    begun, backups = team.loop.now, list[tuple[float, Backup]]()
    needs_backups = any(fault.kind == "rollback" for fault in faults)

    async def back_up() -> None:
        while True:
            backups.append((team.loop.now, Backup(team.network.board)))
            del backups[:-3]
            await asyncio.sleep(0.5)

    keeper = asyncio.ensure_future(back_up()) if needs_backups else None
    try:
        async with asyncio.TaskGroup() as group:
            for fault in faults:
                group.create_task(_bring(team, fault, begun, backups))
    finally:
        if keeper:
            keeper.cancel()


async def _bring(team: "SimTeam", fault: Fault, begun: float, backups: list[tuple[float, Backup]]) -> None:
    await asyncio.sleep(begun + fault.at_s - team.loop.now)
    if team.has_ended():
        return
    team.note(f"fault {fault}")
    name = f"g{fault.target}"
    member, network, until = team.members[name], team.network, team.loop.now + fault.lasts_s
    process = member.process
    match fault.kind:
        case "kill":
            member.kill()
        case "die-synced" | "die-committed":
            member.dies_when = fault.kind.removeprefix("die-")
        case "stop" if process and process.alive:
            process.stop()
            await asyncio.sleep(fault.lasts_s)
            process.go_on()
        case "leave" if sum(each.runs for each in team.members.values()) > 1:
            member.signal(signal.SIGTERM)
        case "join":
            joined = f"j{len(team.members)}"
            team.join(joined, f"m-{joined}")
        case "power":
            team.lose_power(member.machine)
        case "cut":
            network.cut_until[member.machine.name] = until
        case "slow":
            before, network.delay_s = network.delay_s, (0.05, 0.4)
            await asyncio.sleep(fault.lasts_s)
            network.delay_s = before
        case "lossy":
            network.loss = 0.2
            await asyncio.sleep(fault.lasts_s)
            network.loss = 0.0
        case "down":
            network.down_until = until
        case "rollback" if backups:
            backups[0][1].restore(network.board)
        case "flush":
            forget_everything(network.board)
        case "short":
            network.short_until = until
        case "clock":
            member.machine.clock.wrong_s += team.network.chance.choice((-3600.0, -30.0, 30.0, 3600.0))
        case "full":
            member.machine.full_until = until
        case "damage":
            member.kill()
            team.damage(member)
        case "lose" if not member.machine.is_lost and member.machine.name != "m0":
            team.lose(member.machine)
        case _:
            pass
