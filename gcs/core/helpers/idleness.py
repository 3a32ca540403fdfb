"""Why a helper finds nothing to do. Pure: from what stands on the board to a text for the owner of the machine."""

from collections.abc import Iterable

from gcs.core.messages.tuples import Control, CrawlState, Means, Member, MemberState
from gcs.core.report.estimate import POLITENESS, estimate
from gcs.core.report.roster import workloads


def why_idle(members: Iterable[Member], control: Control | None, place: str, means: Means) -> str:
    """Why the gatherers of this place lend nothing to helpers of these means."""
    there = [member for member in members if member.state == MemberState.RUNNING and not member.is_server]
    if not there:
        return "the crawl has no gatherer at work"
    if control is not None and control.state is CrawlState.PAUSED:
        return "the crawl is paused"
    near = [member for member in there if member.place == place]
    if not near:
        here = f"the place {place}" if place else "this place (give --place)"
        return f"no gatherer works at {here}, and helpers work for the gatherers of their own place"
    works = workloads(near)
    if not any(work.lends or not work.spent.seconds for work in works):  # an earlier version does not say
        return "the crawl lends nothing (helpers.lend is false)"
    if not sum(work.queued for work in works):
        return "nothing to lend: no URLs are queued"
    if means is Means.BROWSER:
        return "no page needs a browser now"
    if estimate(works).limited_by == POLITENESS:
        return "hosts are waiting for their delays: more machines cannot make them faster"
    return next((work.holds for work in works if work.holds), "nothing to lend: the gatherers keep up by themselves")
