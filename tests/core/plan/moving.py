"""What a rebalance moves, and the least that it has to move: oracles for tests of partitions."""

import numpy as np

from gcs.core.partition.partition_graph import Ints, Numbers
from gcs.core.plan.metrics import loads


def moved_weight(weights: Numbers, before: Ints, after: Ints) -> float:
    """The weight of the superpages that changed their owner (those of an owner that left, too)."""
    return float(weights[before != after].sum())


def least_moved(weights: Numbers, before: Ints, k: int, tolerance: float = 0.0) -> float:
    """The least weight that has to move to bring k equal gatherers within mean · (1 ± tolerance), were weight a fluid.

    `before` is in the numbering of the k gatherers; negative for an owner who left.
    """
    kept = before >= 0
    load, mean = loads(weights[kept], before[kept], k), float(weights.sum()) / k
    orphaned = float(weights[~kept].sum())
    surplus = float(np.maximum(load - (1 + tolerance) * mean, 0).sum())
    shortage = float(np.maximum((1 - tolerance) * mean - load, 0).sum())
    return max(orphaned + surplus, shortage)
