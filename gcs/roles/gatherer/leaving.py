"""Leaving: when a gatherer that hands everything over may go.

Invariant: nobody routes by a plan that has us in it, and nothing lies in our inbox, when we go for good.
"""

from gcs.core.template import template
from gcs.core.tuples import HandOver, Member, UrlBlock
from gcs.ports.space.port import Space


async def is_forgotten(space: Space, me: str, epoch: int) -> bool:
    """Whether all others route by a plan of this epoch or later, and nothing is left in our inbox."""
    others = [member for member in await space.scan(template(Member)) if member.gatherer != me]
    if any(member.epoch < epoch and member.state != "gone" for member in others):
        return False
    for kind in (UrlBlock, HandOver):
        if any(flow.sent != flow.committed for flow in (await space.flows(kind, at=me)).values()):
            return False
    return True


async def is_alone(space: Space, me: str) -> bool:
    """Whether there is nobody to hand over to."""
    members = await space.scan(template(Member))
    return not any(member.gatherer != me and member.state == "running" for member in members)
