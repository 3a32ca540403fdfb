from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gcs.core.ordering import GIFT, ORDERS
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.report.counters import Counters, Traffic
from gcs.core.report.report import Share
from gcs.core.url.admission import Admission, Guard, Recent
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.scope import Scope
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.gatherer.membership import MemberContext
from gcs.roles.gatherer.team.seed_client import SeedClient

FIGURES: dict[str, Any] = {"share": lambda: Share("a", Counters(), 0, 0, 0, 0.0), "figures": lambda _: {}}
SEED, LINK, OUTSIDE = "http://a.example/", "http://a.example/b", "http://elsewhere.example/"


def client_of(frontier: Frontier, session: int = 1, **port: Any) -> SeedClient:
    context = MemberContext("a", MemorySpace(MemoryBoard(), "a"), TeamSettings(), frontier, session=session)
    gatherer: Any = SimpleNamespace(**{"dispatcher": None, **port}, request_turn=lambda: None, clock=lambda: 0.0)
    return SeedClient(context, gatherer, "server")


async def test_client_sends_what_links_are_worth_but_nothing_out_of_scope(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False), ORDERS["backlink"])
    try:
        traffic, sent = Traffic(), []
        admission = Admission(Scope("host", (SEED,)), Guard(), Recent(10))
        client = client_of(frontier, admission=admission, traffic=traffic)
        client._exchange.send = sent.extend  # type: ignore[method-assign]
        client.route([QueuedUrl(LINK, SEED, 1, 1, worth=1.0), QueuedUrl(SEED, depth=GIFT, worth=2.0)])
        client.route([QueuedUrl(LINK, depth=GIFT, worth=3.0), QueuedUrl(OUTSIDE, depth=GIFT, worth=1.0)])
        client.before_commit()
        [(to, finds)] = sent
        assert to == "server"
        assert [(link.url, link.weight) for link in finds.links] == [(LINK, 4.0), (SEED, 2.0)]
        assert (traffic.exchanged_urls, traffic.named_bytes, traffic.blocks) == (2, len(LINK) + len(SEED), 1)
    finally:
        frontier.close()


async def test_client_beats_in_the_last_session_until_it_has_told_what_it_knows_of_it(tmp_path: Path) -> None:
    """The first heartbeat comes before the first turn."""
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False), ORDERS["backlink"])
    try:
        recrawl = SimpleNamespace(session=1, is_done=True)
        client = client_of(frontier, session=2, recrawl=recrawl, traffic=Traffic(), is_quiet=lambda: True, **FIGURES)
        assert client._next_heartbeat().settled_epoch == 1
        recrawl.session, recrawl.is_done = 2, False
        assert client._next_heartbeat().settled_epoch == 0
        recrawl.is_done = True
        assert client._next_heartbeat().settled_epoch == 2
    finally:
        frontier.close()
