"""The searches of `core.partition`, step by step in plain Python: every time is reckoned anew from Teng's formula.

With numbers that are sums of powers of two all sums are exact, so that the owners must agree to the last tie.
"""

from dataclasses import replace

import numpy as np

from gcs.core.partition import GONE, PartitionProblem
from gcs.core.partition.partition_graph import LinkArrays

SWAP_PARTNERS, PASSES, LEAST, WORTH, CHARGE = 4, 8, 1e-7, 2e-3, 0.5


def instance(seed, *, links=True, most=12, **more):
    """A small problem with many ties, and owners to begin with."""
    random = np.random.default_rng(seed)
    m, k = int(random.integers(2, most)), int(random.choice([2, 4, 8]))
    count = int(random.integers(1, 3 * m))
    found = LinkArrays.between(m, random.integers(0, m, count), random.integers(0, m, count)) if links else None
    problem = PartitionProblem(
        random.integers(0, 9, m),
        k,
        rates=random.choice([0.5, 1.0, 2.0], (k, m)) if seed % 3 else 1.0,
        communication_rates=random.choice([0.25, 1.0, 4.0], k),
        links=found,
        tolerance=float(random.choice([1 / 16, 1 / 4])),
        **more,
    )
    return problem, random.integers(0, k, m)


def with_current(problem, seed):
    """Some superpages have no owner now."""
    random = np.random.default_rng(seed)
    current = random.integers(0, problem.k, problem.m)
    current[random.random(problem.m) < 0.2] = GONE
    return replace(problem, current=current)


class Plain:
    """Owners, and what follows from them."""

    def __init__(self, problem, owners):
        self.problem, self.owners = problem, [int(owner) for owner in owners]
        self.cost = problem.times_s().tolist()
        self.link_s = problem.link_s().tolist()
        self.pairs = {}
        if problem.links is not None:
            links = problem.links
            offsets, targets, costs = links.offsets.tolist(), links.targets.tolist(), links.costs.tolist()
            for unit in range(problem.m):
                for at in range(offsets[unit], offsets[unit + 1]):
                    self.pairs[unit, targets[at]] = costs[at]

    def communication(self, owners):
        """By gatherer."""
        found = [0.0] * self.problem.k
        for (a, b), count in self.pairs.items():
            if owners[a] != owners[b] and owners[a] >= 0 and owners[b] >= 0:
                found[owners[a]] += count * self.link_s[owners[a]]
        return found

    def work(self, owners):
        found = [0.0] * self.problem.k
        for unit, owner in enumerate(owners):
            if owner >= 0:
                found[owner] += self.cost[unit][owner]
        return found

    def times(self, owners):
        return [sum(both) for both in zip(self.work(owners), self.communication(owners))]

    def moved(self, unit, part):
        return [part if each == unit else owner for each, owner in enumerate(self.owners)]

    def swapped(self, one, other):
        swap = {one: self.owners[other], other: self.owners[one]}
        return [swap.get(each, owner) for each, owner in enumerate(self.owners)]

    def of(self, part):
        return [unit for unit, owner in enumerate(self.owners) if owner == part]

    def mean(self):
        return sum(self.times(self.owners)) / self.problem.k


def lower_peak(plain, enough=0.0):
    least, last, k = LEAST * plain.mean(), float("inf"), plain.problem.k
    while (peak := max(plain.times(plain.owners))) < last * (1 - WORTH):
        last = peak
        for _ in range(2 * k):
            times = plain.times(plain.owners)
            slowest = times.index(max(times))
            if times[slowest] <= enough:
                return
            for steps in (_moves(plain, slowest), _swaps(plain, slowest, times)):
                found = min(steps, key=lambda step: step[0], default=(float("inf"), []))
                if found[0] <= times[slowest] - least:
                    plain.owners = found[1]
                    break
            else:
                return


def _moves(plain, slowest):
    for unit in plain.of(slowest):
        for part in range(plain.problem.k):
            if part != slowest:
                after = plain.moved(unit, part)
                times = plain.times(after)
                yield max(times[slowest], times[part]), after


def _swaps(plain, slowest, times):
    fastest = sorted(range(plain.problem.k), key=lambda part: times[part])[:SWAP_PARTNERS]
    for unit in plain.of(slowest):
        for other, part in enumerate(plain.owners):
            if part in fastest and part != slowest:
                after = plain.swapped(unit, other)
                then = plain.times(after)
                yield max(then[slowest], then[part]), after


def cut_links(plain, tolerance):
    for _ in range(PASSES):
        lower_peak(plain, (1 + tolerance) * plain.mean())
        bounds = [
            max((1 + tolerance) * (sum(each) / len(each)), max(each))
            for each in (plain.times(plain.owners), plain.work(plain.owners))
        ]
        if not _pass(plain, bounds):
            break
    lower_peak(plain, (1 + tolerance) * plain.mean())


def _saved(plain, after):
    return sum(plain.communication(plain.owners)) - sum(plain.communication(after))


def _pass(plain, bounds):
    parts, least = range(plain.problem.k), LEAST * plain.mean()
    hopes = [max(_saved(plain, plain.moved(unit, part)) for part in parts) for unit in range(plain.problem.m)]
    saved = 0.0
    for unit in sorted(range(plain.problem.m), key=lambda unit: -hopes[unit]):
        if hopes[unit] <= least:
            break
        saved += _settle(plain, unit, bounds, least)
    return saved > WORTH * sum(plain.communication(plain.owners))


def _settle(plain, unit, bounds, least):
    owner = plain.owners[unit]
    saved = [_saved(plain, plain.moved(unit, part)) for part in range(plain.problem.k)]
    wish = saved.index(max(saved))
    if saved[wish] <= least:
        return 0.0

    def fits(part):
        after = plain.moved(unit, part)
        return plain.times(after)[part] <= bounds[0] and plain.work(after)[part] <= bounds[1]

    if not fits(wish):
        swaps = []
        for other in plain.of(wish):
            after = plain.swapped(unit, other)
            good = all(plain.times(after)[part] <= bounds[0] for part in (owner, wish)) and all(
                plain.work(after)[part] <= bounds[1] for part in (owner, wish)
            )
            swaps.append((_saved(plain, after) if good else 0.0, after))
        best = max(swaps, key=lambda swap: swap[0], default=(0.0, []))
        if best[0] > least:
            plain.owners = best[1]
            return best[0]
    saved = [gain if part != owner and fits(part) else 0.0 for part, gain in enumerate(saved)]
    part = saved.index(max(saved))
    after = plain.moved(unit, part)
    if saved[part] <= least or plain.times(after)[owner] > bounds[0]:
        return 0.0
    plain.owners = after
    return saved[part]


def sticky(problem):
    """From the current owners: place what has none, then the best moves."""
    plain = Plain(problem, problem.current)
    weights = np.array(plain.cost).mean(axis=1).tolist()
    for unit in sorted(plain.of(GONE), key=lambda unit: -weights[unit]):
        times = plain.times(plain.owners)
        harms = [times[part] + plain.cost[unit][part] for part in range(problem.k)]
        plain.owners = plain.moved(unit, harms.index(min(harms)))
    for _ in range(2 * problem.m):
        times, mean = plain.times(plain.owners), plain.mean()
        slowest, fastest = times.index(max(times)), times.index(min(times))
        best = []
        for units, parts in ((plain.of(slowest), range(problem.k)), (range(problem.m), [fastest])):
            gains = [
                (_gain(plain, unit, part, mean), unit, part)
                for unit in units
                for part in parts
                if plain.owners[unit] != part
            ]
            best.append(max(gains, key=lambda gain: gain[0], default=(0.0, 0, 0)))
        gain, unit, part = max(best)
        if gain <= LEAST * mean:
            break
        plain.owners = plain.moved(unit, part)
    return plain.owners


def _gain(plain, unit, part, mean):
    band, owner, current = plain.problem.tolerance * mean, plain.owners[unit], int(plain.problem.current[unit])
    before, after = plain.times(plain.owners), plain.times(plain.moved(unit, part))
    gain = sum(
        max(abs(before[each] - mean) - band, 0.0) - max(abs(after[each] - mean) - band, 0.0) for each in (owner, part)
    )
    away = (part != current) - (owner != current)
    return gain - CHARGE * away * plain.cost[unit][owner]


def level_space(problem, owners, coming, held):
    plain = Plain(problem, owners)
    limit = max((1 + problem.tolerance) * plain.mean(), max(plain.times(plain.owners)))

    def space(owners):
        found = list(held)
        for unit, owner in enumerate(owners):
            found[owner] += coming[unit]
        return found

    mean = sum(space(plain.owners)) / problem.k
    for _ in range(2 * problem.m):
        now = space(plain.owners)
        fullest = now.index(max(now))
        if now[fullest] <= 1.05 * mean:
            break
        best, chosen = now[fullest] - 1e-6 * mean, None
        members = plain.of(fullest)
        elsewhere = [part for part in range(problem.k) if part != fullest]
        moves = ((plain.moved(unit, part), part, False) for unit in members for part in elsewhere)
        others = [unit for unit, owner in enumerate(plain.owners) if owner != fullest]
        swaps = ((plain.swapped(unit, other), plain.owners[other], True) for unit in members for other in others)
        for steps in (moves, swaps):
            for after, part, is_swap in steps:
                times, then = plain.times(after), space(after)
                is_over = times[part] > limit or (is_swap and times[fullest] > limit)
                if not is_over and max(then[fullest], then[part]) < best:
                    best, chosen = max(then[fullest], then[part]), after
        if chosen is None:
            break
        plain.owners = chosen
    return plain.owners
