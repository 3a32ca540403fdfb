from pathlib import Path
from types import SimpleNamespace

from gcs.core.ordering import GIFT, ORDERS
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.report.counters import Traffic
from gcs.core.url.admission import Admission, Guard, Recent
from gcs.core.url.scope import Scope
from gcs.ports.frontier import Entry, Frontier, FrontierSettings
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.gatherer.team.seed_client import SeedClient

SEED, LINK, OUTSIDE = "http://a.example/", "http://a.example/b", "http://elsewhere.example/"


async def test_client_sends_what_links_are_worth_but_nothing_out_of_scope(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False), ORDERS["backlink"])
    try:
        client = SeedClient("a", MemorySpace(MemoryBoard(), "a"), "server", TeamSettings(), frontier)
        traffic, sent = Traffic(), []
        client._mail.send = sent.extend  # type: ignore[method-assign]
        admission = Admission(Scope("host", (SEED,)), Guard(), Recent(10))
        client._home = SimpleNamespace(admission=admission, traffic=traffic)  # type: ignore[assignment]
        client.route([Entry(LINK, SEED, 1, 1, worth=1.0), Entry(SEED, depth=GIFT, worth=2.0)])
        client.route([Entry(LINK, depth=GIFT, worth=3.0), Entry(OUTSIDE, depth=GIFT, worth=1.0)])
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
        client = SeedClient("a", MemorySpace(MemoryBoard(), "a"), "server", TeamSettings(), frontier, session=2)
        renewal = SimpleNamespace(session=1, is_done=True)
        home = SimpleNamespace(renewal=renewal, is_quiet=lambda: True, figures=dict)
        client._home = home  # type: ignore[assignment]
        assert client._member().settled_epoch == 1
        renewal.session, renewal.is_done = 2, False
        assert client._member().settled_epoch == 0
        renewal.is_done = True
        assert client._member().settled_epoch == 2
    finally:
        frontier.close()
