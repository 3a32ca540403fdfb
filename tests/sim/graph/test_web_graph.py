import gzip

import numpy as np
import pytest

from gcs.errors import UsageError
from gcs.sim.graph.graph_files import from_crawl, load
from gcs.sim.graph.web_graph import from_links


def folder(path, **files):
    names = {
        "edges": "edges.txt.gz",
        "upstream": "edges_upstream.txt.gz",
        "urls": "urls.txt.gz",
        "pages": "pages.tsv.gz",
    }
    for name, text in files.items():
        (path / names[name]).write_bytes(gzip.compress(text.encode()))
    return path


EDGES = "# four pages\n0 1\n0 2\n1 2\n2 0\n"
URLS = "http://a/\nhttp://a/1\nhttp://b/\nhttp://c/\n"


def test_load_reads_links_urls_and_pages(tmp_path):
    graph = load(folder(tmp_path, edges=EDGES, urls=URLS, pages="site_id\tbytes\n0\t10\n0\t20\n1\t30\n2\t40\n"))
    assert (graph.pages, graph.links) == (4, 4)
    assert [graph.outlinks(page).tolist() for page in range(4)] == [[1, 2], [2], [0], []]
    assert graph.urls[3] == "http://c/"
    assert graph.sites.tolist() == [0, 0, 1, 2] and graph.sizes_bytes.tolist() == [10, 20, 30, 40]
    assert graph.sources().tolist() == [0, 0, 1, 2] and graph.in_degrees().tolist() == [1, 1, 2, 0]


def test_load_needs_no_urls(tmp_path):
    graph = load(folder(tmp_path, edges=EDGES))
    assert graph.pages == 3 and not graph.urls and len(graph.sites) == 3


def test_load_adds_upstream_links_once(tmp_path):
    graph = load(folder(tmp_path, edges=EDGES, urls=URLS, upstream="0 1\n0 3\n"), upstream=True)
    assert graph.outlinks(0).tolist() == [1, 2, 3]


def test_load_of_a_graph_without_links(tmp_path):
    graph = load(folder(tmp_path, edges="# nothing\n", urls=URLS))
    assert (graph.pages, graph.links) == (4, 0)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "edges.txt.gz"),
        ({"edges": "0 1\n1\n"}, "two whole numbers"),
        ({"edges": "0 1\nzero one\n"}, "two whole numbers"),
        ({"edges": "0 9\n", "urls": URLS}, "page 9"),
        ({"edges": EDGES, "urls": URLS, "pages": "site_id\tbytes\n0\t10\n"}, "1 pages"),
    ],
)
def test_bad_folder_is_explained(tmp_path, files, says):
    with pytest.raises(UsageError, match=says):
        load(folder(tmp_path, **files))


def test_damaged_file_is_explained(tmp_path):
    (tmp_path / "edges.txt.gz").write_bytes(gzip.compress(EDGES.encode())[:-9])
    with pytest.raises(UsageError, match="not a readable gzip file"):
        load(tmp_path)


def test_from_links_sorts_and_drops_duplicates():
    graph = from_links("g", np.array([2, 0, 2, 2]), np.array([0, 1, 0, 1]), 3)
    assert [graph.outlinks(page).tolist() for page in range(3)] == [[1], [], [0, 1]]


def test_induced_keeps_the_links_between_what_is_kept(tmp_path):
    graph = load(folder(tmp_path, edges=EDGES, urls=URLS, pages="site_id\tbytes\n0\t10\n0\t20\n1\t30\n2\t40\n"))
    part = graph.induced(np.array([True, False, True, True]))
    assert [part.outlinks(page).tolist() for page in range(3)] == [[1], [0], []]
    assert part.urls == ["http://a/", "http://b/", "http://c/"] and part.sizes_bytes.tolist() == [10, 30, 40]


def test_load_remembers_what_it_read(tmp_path):
    place = folder(tmp_path, edges=EDGES, urls=URLS, pages="site_id\tbytes\n0\t10\n0\t20\n1\t30\n2\t40\n")
    first, again = (load(place, cache=tmp_path / "cache") for _ in range(2))
    assert first.digest == again.digest and len(list((tmp_path / "cache").iterdir())) == 1
    assert again.targets.tolist() == first.targets.tolist() and list(again.urls) == list(first.urls)
    assert isinstance(again.targets, np.memmap)
    folder(tmp_path, edges="0 1\n")
    assert load(place, cache=tmp_path / "cache").links == 1


def test_a_remembered_graph_has_the_urls_as_they_were(tmp_path):
    urls = "http://a/ö\nhttp://a/\rb\nhttp://b/\nhttp://c/\n"
    place = folder(tmp_path, edges=EDGES, urls=urls)
    assert list(load(place, cache=tmp_path / "cache").urls) == list(load(place).urls) == urls.split("\n")[:-1]


def test_from_crawl_keeps_links_between_stored_pages():
    pages = [("http://a/", 10, ["http://b/", "http://gone/"]), ("http://b/", 20, []), ("http://a/", 99, ["http://a/"])]
    graph = from_crawl("crawl", pages)
    assert (graph.pages, graph.links) == (2, 1) and graph.outlinks(0).tolist() == [1]
    assert graph.sizes_bytes.tolist() == [10, 20] and graph.sites.tolist() == [0, 1] and graph.digest


def test_links_of_and_batches_are_the_links_page_by_page():
    graph = from_links("g", np.array([0, 0, 1, 2, 2, 4]), np.array([1, 2, 3, 3, 4, 0]), 6)
    pages = np.array([2, 0, 5, 4])
    counts, targets = graph.links_of(pages)
    assert counts.tolist() == [2, 2, 0, 1] and targets.tolist() == [3, 4, 1, 2, 0]
    parts = list(graph.batches(pages, links=2))
    assert np.concatenate(parts).tolist() == pages.tolist() and len(parts) > 1
