"""Members join, leave, die, stop and return at random, leaders among them; the crawl ends, complete, and not before."""

import random

import pytest

from gcs.core.messages.tuples import CrawlState, MemberState, Seeds
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.url.sortkey import sort_key

from .crew import Crew

SETTINGS = TeamSettings(beat_s=0.5, lease_s=3.0, rebalance_s=2.0, recover_s=1000.0, idle_urls=5)
HOSTS, DEPTH = 6, 5


def finds(key: bytes) -> list[bytes]:
    """A tree of pages below each host's root, and a link to another host from each page."""
    path = key.partition(b"/http\x00")[2]
    if path.count(b"\x00") >= DEPTH:
        return []
    other = sort_key(f"http://h{len(path) % HOSTS}.example/")
    return [other, *(key + b"\x00%d" % n for n in range(3))]


def reachable() -> set[bytes]:
    found = {sort_key("http://h0.example/")}
    todo = list(found)
    while todo:
        for key in finds(todo.pop()):
            if key not in found:
                found.add(key)
                todo.append(key)
    return found


class Chaos:
    def __init__(self, crew: Crew, seed: int) -> None:
        self.crew, self.random, self.joined = crew, random.Random(seed), 3

    def strike(self) -> None:
        """One random event; two members at least go on."""
        crew = self.crew
        steady = [
            name
            for name, process in crew.processes.items()
            if process.state == MemberState.RUNNING and not process.frozen
        ]
        name = self.random.choice(sorted(crew.disks))
        process = crew.processes.get(name)
        match self.random.choice(["kill", "stop", "leave", "join", "return", "return"]):
            case "join":
                self.joined += 1
                crew.start(f"g{self.joined}")
            case "return" if process is None:
                crew.start(name)
            case "return" if process is not None:
                process.frozen = False
            case "kill" if process is not None and len(set(steady) - {name}) >= 2:
                crew.kill(name)
            case "stop" if process is not None and len(set(steady) - {name}) >= 2:
                process.frozen = True
            case "leave" if (
                process is not None and process.state == MemberState.RUNNING and len(set(steady) - {name}) >= 2
            ):
                process.state = MemberState.LEAVING

    def calm(self) -> None:
        for process in self.crew.processes.values():
            process.frozen = False


@pytest.mark.parametrize("seed", range(4))
async def test_crawl_is_complete_whatever_happens_to_its_members(seed):
    crew = Crew(SETTINGS, speed=2, finds=finds, expected=3)
    await crew.space.out(Seeds(["http://h0.example/"]), to="seeds")
    crew.start("g1", "g2", "g3")
    chaos = Chaos(crew, seed)
    for second in range(400):
        await crew.pass_time(1)
        if await crew.state() is CrawlState.DONE:
            break
        if second < 60:
            chaos.strike()
        elif second == 60:
            chaos.calm()
    assert await crew.state() is CrawlState.DONE
    fetched = [key for disk in crew.disks.values() for key in disk.log]
    assert set(fetched) == reachable()
    assert len(fetched) == len(set(fetched)), "fetched twice"
    assert not any(plan.lost for plan in crew.plans[1:])
