"""A parcel: what a seed-server has for one other, client or server. Links, and what the last session knew of some."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gcs.core.tuples import Link, Queued
from gcs.ports.registry import Node


@dataclass(slots=True)
class Parcel:
    """Filled while a turn takes in and hands out; emptied when it is sent, at its end."""

    links: list[Link] = field(default_factory=list)
    copies: list[Queued] = field(default_factory=list)

    def add(self, link: Link, copy: Queued | None) -> None:
        """A link, and what is known of its page."""
        self.links.append(link)
        if copy is not None:
            self.copies.append(copy)

    def add_nodes(self, nodes: Iterable[Node]) -> None:
        """URLs of our registry, for a client to fetch."""
        for node in nodes:
            self.add(Link(node.url, node.worth, node.depth, node.parent), node.copy)
