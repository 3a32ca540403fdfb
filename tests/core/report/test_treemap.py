"""The URL tree for people: whatever is shown adds up."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.messages.tuples import SuperpagePatch
from gcs.core.report.treemap import OTHERS, Point, Tile, key_of, path_of, place_of, points_of, tile
from gcs.core.url.sortkey import sort_key

URLS = st.builds(
    lambda host, port, path, query: f"http://{host}{port}/{path}{query}",
    st.sampled_from(["a.org", "www.a.org", "b.c.com", "127.0.0.1", "c.com"]),
    st.sampled_from(["", ":8080"]),
    st.lists(st.sampled_from(["", "x", "y", "long-name", "%7Bz%7D", "a~b"]), max_size=4).map("/".join),
    st.sampled_from(["", "?q=1", "?q=2"]),
)
POINTS = st.lists(
    st.builds(
        lambda url, urls, owner: Point(sort_key(url), urls, urls / 2, owner),
        URLS,
        st.integers(1, 99),
        st.sampled_from("gh"),
    ),
    max_size=60,
).map(sorted)


def walk(node: Tile):
    yield node
    for child in node.children:
        yield from walk(child)


@given(POINTS, st.integers(2, 6), st.integers(0, 4))
def test_tile_adds_up_at_every_level(points, most, levels):
    root = tile(points, "", levels=levels, most=most)
    assert root.urls == sum(point.urls for point in points)
    for each in walk(root):
        assert sum(each.owners.values()) == each.urls
        assert 0 <= each.queued <= each.urls
        if each.children:
            assert sum(child.urls for child in each.children) == each.urls
            assert sum(child.queued for child in each.children) == each.queued
            assert len({(child.path, child.name) for child in each.children}) == len(each.children)
            assert each.is_inner


@given(POINTS)
def test_tile_can_be_gone_down_to_the_last_page(points):
    def down(node: Tile) -> int:
        if not node.is_inner:
            return node.urls
        shown = tile(points, node.path, levels=1, most=10_000)
        assert shown.urls == node.urls
        return sum(down(child) for child in shown.children)

    root = tile(points, "", levels=0)
    assert down(root) == sum(point.urls for point in points)


@given(POINTS)
def test_tile_gathers_what_is_small(points):
    root = tile(points, "", levels=1, most=3)
    assert len(root.children) <= 3
    for child in root.children:
        assert (child.gathered > 0) == (child.name == OTHERS)
        if child.gathered:
            assert child.urls <= min(other.urls for other in root.children if not other.gathered) * child.gathered


@given(URLS)
def test_path_names_a_node(url):
    assert key_of(path_of(sort_key(url))) == sort_key(url)


def test_tile_names_are_for_people():
    points = sorted(
        Point(sort_key(url), 1, 0, "g")
        for url in (
            "http://docs.a.org/x/1",
            "http://docs.a.org/x/2",
            "http://docs.a.org/y/z/",
            "https://b.com/?q=1",
            "https://b.com/",
        )
    )
    root = tile(points, "", levels=2)
    assert [child.name for child in root.children] == ["docs.a.org", "b.com"]
    assert [child.name for child in root.children[0].children] == ["/x", "/y/z/"]
    assert [child.name for child in root.children[1].children] == ["index", "?q=1"]
    assert place_of(b"") == "the web"
    assert place_of(b"org\x00a") == "a.org"
    assert place_of(sort_key("http://a.org:8080/x/y")) == "a.org:8080/x/y"


def test_points_spread_a_superpage_over_its_sample():
    patches = [
        SuperpagePatch(b"", seen=100, queued=25, pages=70, points=[(b"a", 1.0), (b"b", 3.0)]),
        SuperpagePatch(b"c", 7, 7, 0),
    ]
    assert points_of("g", patches) == [Point(b"a", 25, 6.25, "g"), Point(b"b", 75, 18.75, "g"), Point(b"c", 7, 7, "g")]


def test_points_behind_a_node_lie_in_its_parent():
    assert points_of("g", [SuperpagePatch(b"org\x00a\x01", 5, 0, 5)])[0].key == b"org"
    assert points_of("g", [SuperpagePatch(b"org\x01", 5, 0, 5)])[0].key == b""


def test_tile_of_others_opens() -> None:
    """What it stands for is asked for by `after`: every node is in one of the two answers, once."""
    points = [Point(sort_key(f"http://h{at:02}.org/"), 100.0 - at, 0.0, "g0") for at in range(30)]
    first = tile(points, "", levels=1, most=10)
    others = first.children[-1]
    assert (others.gathered, others.after) == (21, 9)
    rest = tile(points, others.path, levels=1, most=100, after=others.after)
    names = [child.name for child in (*first.children[:-1], *rest.children)]
    assert len(names) == len(set(names)) == 30 and rest.urls == others.urls
