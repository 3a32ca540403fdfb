"""What a round has brought: the replies of the gatherers, merged into one tree, one table and one list of hot pages.

A reply counts if it was made under the plan in force: superpages have other numbers under another. An owner that is
silent, or whose reply cannot be read, is not taken for one that has nothing: what its last heartbeat says is spread
evenly over its superpages, so that they stay whole and heavy.

Invariant: the same replies give the same evidence, in whatever order they came.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

from gcs.core import tree as trees
from gcs.core import treecopy
from gcs.core.leaf import Leaf
from gcs.core.plan import Plan
from gcs.core.statistics import Figures, Statistics, merge
from gcs.core.tree import Tree, limits_for, node_of
from gcs.core.tuples import Member
from gcs.core.tuples import Statistics as Reply
from gcs.errors import CodecError


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the crawl under the plan in force."""

    tree: Tree
    statistics: Statistics
    #: candidate hot pages, with how often they were met
    hot: Mapping[str, int]


def evidence_of(plan: Plan, replies: Iterable[Reply], members: Mapping[str, Member], random: Random) -> Evidence:
    """The evidence of these replies, and of the heartbeats of those who did not reply."""
    copies, tables, hot = [Tree(plan.cuts, random)], [Statistics()], dict[str, int]()
    silent = {plan.gatherers[owner] for owner in plan.owners}
    for reply in sorted(replies, key=lambda reply: reply.gatherer):
        for url, count in reply.hot:
            hot[url] = hot.get(url, 0) + count
        if reply.epoch != plan.epoch:
            continue
        try:
            copy, table = treecopy.decode(reply.tree, plan.cuts, random), Statistics.decode(reply.rates)
        except CodecError:
            continue
        copies.append(copy)
        tables.append(table)
        silent.discard(reply.gatherer)
    for name in sorted(silent & members.keys()):
        copy, table = _guess(plan, name, members[name].figures, random)
        copies.append(copy)
        tables.append(table)
    return Evidence(trees.merge(copies), merge(tables), hot)


def _guess(plan: Plan, name: str, figures: Mapping[str, float], random: Random) -> tuple[Tree, Statistics]:
    """A copy of the tree, and figures, as the owner might have sent them."""
    tree, statistics = Tree(plan.cuts, random), Statistics()
    mine = [at for at, owner in enumerate(plan.owners) if plan.gatherers[owner] == name]
    queued = round(figures.get("queued", 0.0) / len(mine))
    seen = max(round(figures.get("known", 0.0) / len(mine)), queued)
    for at in mine if seen else ():
        low, high = tree.range_of(at)
        tree.put(at, Leaf(node_of(low, high), limits_for(0), random, [(low, float(seen))]))
        statistics.superpages[at] = Figures(seen=seen, queued=queued)
    return tree, statistics
