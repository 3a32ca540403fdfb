"""What a crawl by one gatherer does on the orders of `gcs pause`, `resume`, `stop`, `seed` and `status`."""

from gcs.app.crawl_input import CrawlRun, read_seeds
from gcs.errors import UsageError
from gcs.ports.system.control_socket import ControlAnswer, ControlOrder
from gcs.roles.gatherer import Gatherer

#: why nothing may start (`Workload.holds`) → the state of the crawl
STATES = {"paused": "paused", "ending": "stopping"}


def obey(run: CrawlRun, alone: Gatherer, order: ControlOrder) -> ControlAnswer:
    """Do what the order says. Called in the loop of the gatherer."""
    seeds: list[str] = []
    match order.verb:
        case "pause" | "resume":
            alone.pause(order.verb == "pause")
        case "stop":
            alone.stop()
        case "seed":
            seeds = read_seeds(tuple(order.seeds), None, run.settings.urls)
            add_seeds(run, alone, seeds)
        case "share":
            alone.limit_connections(order.connections)
        case "status" | "bulletin":
            pass
        case _:
            raise UsageError(f"this crawl is by one gatherer: {order.verb} is for a team (gcs crawl -n N)")
    share, bulletin = alone.share(), alone.bulletin() if order.verb == "bulletin" else None
    return ControlAnswer(seeds=seeds, state=STATES.get(share.work.holds, "running"), share=share, bulletin=bulletin)


def add_seeds(run: CrawlRun, alone: Gatherer, seeds: list[str]) -> None:
    """Crawl from these, too; they are seeds of later runs."""
    alone.add_seeds(seeds)
    if run.saved is not None:
        run.seeds[:] = dict.fromkeys([*run.seeds, *seeds])
        run.saved.write(run.directory, run.seeds, run.settings)
