"""The URL tree for people: the owners of each part, and how many URLs it has. A node, its children, and their children.

Made of points (sort key, URLs, queued, owner): what the gatherers' copies of the tree remember of each superpage. A
chain of nodes with one child each is one tile, named by its end; small tiles are gathered into one called "others".

Invariant: the URLs of a tile are those of its children, if it has any shown; so are its queued ones and its owners'.
"""

import math
from collections.abc import Iterable, Sequence
from urllib.parse import quote, unquote

import msgspec

from gcs.core.messages.tuples import SuperpagePatch
from gcs.core.url.sortkey import SEPARATOR, SUBTREE_END

#: what a tile of small ones is called
OTHERS = "others"


class Point(msgspec.Struct, frozen=True, order=True, gc=False):
    """Some URLs at one place of the key space."""

    key: bytes
    urls: float
    queued: float
    owner: str


class Tile(msgspec.Struct, frozen=True):
    """One node of the URL tree, or several small ones."""

    #: for people: a host, or the part of the path below the parent
    name: str
    #: for `find`; "" is the root
    path: str
    urls: int
    queued: int
    #: gatherer → URLs
    owners: dict[str, int]
    #: nodes in it that are gathered under "others"; 0 for a node
    gathered: int = 0
    #: of such a tile: how many larger ones it leaves out, to ask for its nodes
    after: int = 0
    #: whether there is anything below
    is_inner: bool = False
    children: list["Tile"] = []


def points_of(owner: str, patches: Iterable[SuperpagePatch]) -> list[Point]:
    """The points of one gatherer; a superpage without a sample stands at its beginning."""
    points: list[Point] = []
    for patch in patches:
        spread = patch.points or [(patch.low, 1.0)]
        total = math.fsum(urls for _, urls in spread) or 1.0
        share = min(max(patch.queued, 0) / patch.seen, 1.0) if patch.seen else 0.0
        for key, urls in spread:
            seen = patch.seen * urls / total
            points.append(Point(_place(key), seen, seen * share, owner))
    return points


def _place(key: bytes) -> bytes:
    """The node of a key; a cut behind a node lies in its parent."""
    return key[: max(key.rfind(SEPARATOR), 0)] if key.endswith(SUBTREE_END) else key


def tile(points: Sequence[Point], path: str, *, levels: int = 2, most: int = 40, after: int = 0) -> Tile:
    """The node at a path with so many levels below it, each of at most `most` children. `points` are in key order.

    `after`: leave out so many of its largest children, which have been seen.
    """
    node = key_of(path)
    under = [point for point in points if not node or point.key == node or point.key.startswith(node + SEPARATOR)]
    return _tile(under, node, b"", levels, most, after)


def key_of(path: str) -> bytes:
    return SEPARATOR.join(unquote(token).encode() for token in path.split("/")) if path else b""


def path_of(node: bytes) -> str:
    """The path that names a node: its tokens, quoted, between slashes."""
    return "/".join(quote(token, safe="") for token in node.decode("utf-8", "replace").split("\x00")) if node else ""


def place_of(node: bytes) -> str:
    """A node for people: example.org, or example.org/docs."""
    hosts, slash, rest = node.decode("utf-8", "replace").partition("\x00/")
    name = ".".join(hosts.split("\x00")[::-1])
    origin, _, path = rest.partition("\x00")
    scheme, colon, port = origin.partition(":")
    if not slash:
        return name or "the web"
    return f"{name}{colon}{port}" + ("" if scheme in ("http", "https") else f" ({scheme})") + _path(path)


def _tile(points: Sequence[Point], node: bytes, parent: bytes, levels: int, most: int, after: int = 0) -> Tile:
    groups = _children(points, node)
    while len(groups) == 1 and node not in groups:  # a chain: go to its end
        node = next(iter(groups))
        groups = _children(points, node)
    is_inner = bool(groups.keys() - {node})
    children: list[Tile] = []
    if levels and is_inner:
        ranked = sorted(groups.items(), key=lambda item: (-math.fsum(point.urls for point in item[1]), item[0]))
        ranked = ranked[after:]
        shown = ranked if len(ranked) <= most else ranked[: most - 1]
        # fewer below where there are many beside
        below = max(most // max(len(shown), 1), 6)
        children = [
            _tile(under, child, node, levels - 1, below) if child != node else _page(under, node)
            for child, under in shown
        ]
        if rest := ranked[len(shown) :]:
            small = _figures([point for _, under in rest for point in under])
            children.append(Tile(OTHERS, path_of(node), *small, gathered=len(rest), after=after + len(shown)))
    urls, queued, owners = _figures(points) if not children else _total(children)
    return Tile(_name(node, parent), path_of(node), urls, queued, owners, is_inner=is_inner, children=children)


def _page(points: Sequence[Point], node: bytes) -> Tile:
    """The node's own page beside its children."""
    return Tile("index" if b"\x00/" in node else place_of(node), path_of(node), *_figures(points))


def _children(points: Sequence[Point], node: bytes) -> dict[bytes, list[Point]]:
    """The points by the child node that they lie under; those of the node itself under its own key."""
    size = len(node) + 1 if node else 0
    groups: dict[bytes, list[Point]] = {}
    for point in points:
        end = point.key.find(SEPARATOR, size)
        groups.setdefault(point.key[:end] if end >= 0 else point.key, []).append(point)
    return groups


def _figures(points: Sequence[Point]) -> tuple[int, int, dict[str, int]]:
    owners: dict[str, float] = {}
    for point in points:
        owners[point.owner] = owners.get(point.owner, 0.0) + point.urls
    whole = {owner: round(urls) for owner, urls in sorted(owners.items())}
    urls = sum(whole.values())
    return urls, min(round(math.fsum(point.queued for point in points)), urls), whole


def _total(children: Sequence[Tile]) -> tuple[int, int, dict[str, int]]:
    owners: dict[str, int] = {}
    for child in children:
        for owner, urls in child.owners.items():
            owners[owner] = owners.get(owner, 0) + urls
    return sum(child.urls for child in children), sum(child.queued for child in children), dict(sorted(owners.items()))


def _name(node: bytes, parent: bytes) -> str:
    """The name of a node inside its parent: below a host, only the path."""
    if b"\x00/" not in parent:
        return place_of(node)
    return _path(node[len(parent) + 1 :].decode("utf-8", "replace")) if node != parent else "index"


def _path(tokens: str) -> str:
    if not tokens:
        return ""
    return unquote("".join(token if token.startswith("?") else f"/{token}" for token in tokens.split("\x00")))
