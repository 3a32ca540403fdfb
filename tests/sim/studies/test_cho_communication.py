"""URLs told, with and without replication, against a count of links one by one."""

import pytest

from gcs.sim.graph.owners import page_owners
from gcs.sim.studies import cho_communication, cho_replication
from gcs.sim.studies.study import StudyRequest


def exchanged(outlinks, owners, known=frozenset()):
    """(sender, URL) of every link that crosses, page after page."""
    return [
        (int(owners[page]), link)
        for page, links in enumerate(outlinks)
        for link in links
        if owners[link] != owners[page] and link not in known
    ]


def test_communication_counts_crossing_links(web, outlinks, silent):
    rows = cho_communication.run(web, StudyRequest((2, 5)), silent)
    assert len(rows) == 4
    for row in rows:
        sent = exchanged(outlinks, page_owners(web, row.partitioner, row.n, 1))
        assert row.urls_per_page == pytest.approx(len(sent) / web.pages)
        assert row.urls_per_page_once == pytest.approx(len(set(sent)) / web.pages)
    by_site, by_url = rows[0], rows[2]
    assert by_site.urls_per_page < by_url.urls_per_page


def test_replication_leaves_out_the_most_linked(web, outlinks, silent, monkeypatch):
    monkeypatch.setattr(cho_replication, "REPLICATED", (0, 1, 10, 50, 1000))
    rows = cho_replication.run(web, StudyRequest((4,)), silent)
    assert [row.replicated for row in rows] == [0, 1, 10, 50]
    indegree = {page: sum(page in links for links in outlinks) for page in range(web.pages)}
    ranking = sorted(indegree, key=lambda page: (-indegree[page], page))
    owners = page_owners(web, "site-hash", 4, 1)
    everything = exchanged(outlinks, owners)
    for row in rows:
        sent = exchanged(outlinks, owners, set(ranking[: row.replicated]))
        assert row.urls_per_page == pytest.approx(len(sent) / web.pages)
        assert row.urls_per_page_once == pytest.approx(len(set(sent)) / web.pages)
        assert row.saved == pytest.approx(1 - len(sent) / len(everything))
