"""The faults of a simulation: made from a seed, and brought about at their times."""

import asyncio
import random
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.simulation.network import Backup, forget_everything
from tests.simulation.virtual_time import current

if TYPE_CHECKING:
    from tests.simulation.sim_team import SimTeam

#: kind → how often it is drawn
KINDS = {
    "kill": 8,
    "die-synced": 4,
    "die-committed": 4,
    "stop": 6,
    **dict.fromkeys(("die-acked", "die-sent", "die-took", "die-planned", "die-announced"), 2),
    **dict.fromkeys(("stop-acked", "stop-sent", "stop-took", "stop-planned", "cut-sent", "cut-took", "cut-planned"), 2),
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
#: moments of the protocols at which a gatherer dies, stops or is cut off: the first one after the fault's time. Of a
#: plan or an announcement, whoever leads
MOMENTS = ("-acked", "-sent", "-took", "-planned", "-announced")
OF_LEADER = ("planned", "announced")


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


def faults_of(chance: random.Random, gatherers: int, elsewhere: int, span_s: float, tempo: float) -> tuple[Fault, ...]:
    """The faults of a seed, within so many seconds. At most one machine is lost, and only where the team has others."""
    kinds = dict(KINDS)
    if not elsewhere:
        del kinds["lose"]
    if chance.random() < 0.6:  # few kinds, many of each: they meet what others hide
        kinds = {kind: kinds[kind] for kind in chance.sample(list(kinds), chance.choice((1, 2, 3)))}
    count = chance.choice((0, 1, 2, 3, 4, 6, 10))
    drawn = chance.choices(list(kinds), weights=list(kinds.values()), k=count)
    if drawn.count("lose") > 1:
        drawn = [kind for kind in drawn if kind != "lose"] + ["lose"]
    lasting = {"stop": 6.0, "cut": 6.0, "slow": 6.0, "lossy": 6.0, "down": 6.0, "short": 5.0, "full": 4.0}
    faults = [
        Fault(
            round(chance.uniform(0.2, span_s), 2),
            kind,
            gatherers - 1 - chance.randrange(elsewhere) if kind == "lose" else chance.randrange(gatherers),
            round(tempo * chance.uniform(0.3, lasting.get(kind.partition("-")[0], 0.3)), 2),
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
        case kind if kind.endswith(MOMENTS):
            team.lurking.append(fault)
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
            del backups[1:]  # what came later is not in its file
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


def strike(team: "SimTeam", moment: str) -> "asyncio.Future[None] | None":
    """A participant has just done something: what befalls it now, if that is the moment of a fault that lurks."""
    process = current()
    member = team.owner(process)
    if not team.lurking or member is None or process is None:
        return None
    for fault in team.lurking:
        action, _, when = fault.kind.partition("-")
        if when == moment and (when in OF_LEADER or member.name == f"g{fault.target}"):
            break
    else:
        return None
    team.lurking.remove(fault)
    team.note(f"strikes {fault} {member.name}")
    match action:
        case "die":
            member.kill()
        case "stop":
            process.stop()
            team.loop.call_later(fault.lasts_s, process.go_on, context=team.world)
        case "cut":
            team.network.cut_until[member.machine.name] = team.loop.now + fault.lasts_s
            return None
    return team.loop.pass_seconds(0.0)
