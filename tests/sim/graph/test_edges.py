"""Lists of links as people write them."""

import gzip

import numpy as np
import pytest

from gcs.errors import UsageError
from gcs.sim.graph.edges import links
from gcs.sim.graph.graph_files import load

LINKS = [(0, 1), (0, 2), (3, 2), (2, 0)]


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n0 2\n3 2\n2 0\n",
        "0\t1\n0\t2\n3\t2\n2\t0",
        "0,1\r\n0,2\r\n3,2\r\n2,0\r\n",
        "# Nodes: 4 Edges: 4\n% of a crawl\n\nFromNodeId\tToNodeId\n0\t1\n0\t2\n3\t2\n2\t0\n",
        "source target\n0 1\n0 2\n\n# a remark in the middle\n  3   2\n2 \t0\n\n",
        "0, 1\n0, 2\n3; 2\n2 0\n% the end",
    ],
    ids=["blanks", "tabs", "csv from Windows", "as SNAP has it", "untidy", "mixed"],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["text", "gzip"])
def test_list_of_numbers(tmp_path, text, pack):
    (tmp_path / "my-web.edges").write_bytes(pack(text.encode()))
    graph = load(tmp_path / "my-web.edges")
    assert graph.name == "my-web" and graph.pages == 4 and not graph.urls
    assert sorted(zip(graph.sources().tolist(), graph.targets.tolist())) == sorted(LINKS)


@pytest.mark.parametrize("apart", [" ", "\t", "   "])
def test_list_of_urls(tmp_path, apart):
    urls = ["http://a/", "http://a/1?x=1,2", 'http://b/"q"', "http://c/"]
    text = "# links\n" + "".join(f"{urls[source]}{apart}{urls[target]}\n" for source, target in LINKS)
    (tmp_path / "named.txt.gz").write_bytes(gzip.compress(text.encode()))
    graph = load(tmp_path / "named.txt.gz", cache=tmp_path / "cache")
    found = zip(graph.sources().tolist(), graph.targets.tolist())
    assert sorted((graph.urls[a], graph.urls[b]) for a, b in found) == sorted((urls[a], urls[b]) for a, b in LINKS)
    assert len(set(graph.sites.tolist())) == 3


def test_numbers_with_gaps_are_counted_anew(tmp_path):
    (tmp_path / "gaps.txt").write_text("7000000000 5\n5 900000\n")
    graph = load(tmp_path / "gaps.txt")
    assert (graph.pages, graph.links) == (3, 2)
    assert list(zip(graph.sources().tolist(), graph.targets.tolist())) == [(0, 1), (2, 0)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# head\n0 1\n1\n", "line 3: '1' is not two whole numbers"),
        ("0 1\n\n1 2\n2 3 4\n", "line 4: '2 3 4'"),
        ("0 1\n-1 2\n", "line 2: '-1 2'"),
        ("-1 2\n0 1\n", "line 1: '-1 2'"),
        ("0 1\nhttp://a/ 2\n", "line 2: 'http://a/ 2'"),
        ("0 1\n1 9999999999999999999999\n", "line 2"),
        ("http://a/ http://b/\nhttp://a/\n", "line 2: 'http://a/' is not two URLs"),
    ],
)
def test_broken_line_is_named(tmp_path, text, says):
    with pytest.raises(UsageError, match=says):
        links(tmp_path / "edges.txt", text.encode())


def test_folder_of_plain_files(tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n")
    (tmp_path / "urls.txt").write_bytes(b"http://a/\r\nhttp://a/1\r\nhttp://b/\r\n")
    graph = load(tmp_path)
    assert list(graph.urls) == ["http://a/", "http://a/1", "http://b/"] and graph.links == 2


def test_urls_twice_are_explained(tmp_path):
    (tmp_path / "edges.txt").write_text("http://a/ http://b/\n")
    (tmp_path / "urls.txt").write_text("http://a/\nhttp://b/\n")
    with pytest.raises(UsageError, match="must number them"):
        load(tmp_path)


def test_list_without_links_is_an_empty_graph(tmp_path):
    (tmp_path / "edges.txt").write_text("# nothing yet\n")
    assert load(tmp_path).pages == 0
    assert [column.dtype for column in links(tmp_path / "x", b"")[:2]] == [np.int64, np.int64]


def test_ranges_of_a_small_graph_are_taken_for_sites(tmp_path):
    """Ten groups of a hundred pages that link inside the group: the groups come out, about."""
    inside = [f"{page} {page // 100 * 100 + page * step % 100}" for page in range(1000) for step in (3, 7, 11)]
    (tmp_path / "groups.txt").write_text("\n".join(inside))
    sites = load(tmp_path / "groups.txt").sites
    assert 10 <= len(set(sites.tolist())) <= 20
    assert all(len(set(sites[start : start + 100].tolist())) <= 2 for start in range(0, 1000, 100))
