"""From one plan to the next: shared fairly, with little to hand over, on whatever evidence there is."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.messages.tuples import Member
from gcs.core.messages.tuples import StatisticsReply as Reply
from gcs.core.partition import PARTITIONERS
from gcs.core.plan.blueprint import hashed
from gcs.core.plan.host_limits import HostLimits
from gcs.core.plan.next_plan import RoundEvidence, TeamMembers, evidence_of, first_plan, hot_pages, recovered, refreshed
from gcs.core.plan.plan import ExchangeMode, Move, Plan, diff
from gcs.core.plan.rebalance import host_queues, make_plan, problem_of
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.tree import tree as trees
from gcs.core.tree.statistics import MeasuredWork, SuperpageStatistics
from gcs.core.tree.superpages import weigh
from gcs.core.tree.tree import WHOLE, UrlTree
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY, host_of_key, sort_key

SETTINGS, FREE = TeamSettings(), HostLimits()
ALONE = Plan(3, ("g1",), WHOLE, (0,))
GIANT = [sort_key(f"http://giant.example/d{n % 50:02}/p{n}") for n in range(3000)]


def reply(plan: Plan, name: str, queued: list[bytes], done: list[bytes] = (), speed: float = 10.0, **more) -> Reply:
    """What a gatherer that holds these keys posts."""
    tree, table = UrlTree(plan.cuts, random.Random(1)), SuperpageStatistics()
    for key in sorted([*queued, *done]):
        tree.visit(key)
        table.found(tree.locate(key))
    for key in done:
        table.fetched(name, tree.locate(key), 1000, 1 / speed)
    table.waiting = sorted(random.Random(3).sample(queued, min(len(queued), 4000)))
    return Reply(name, 1, plan.epoch, trees.encode(tree), table.encode(), len(queued), **more)


def evidence(plan: Plan, *replies: Reply, limits: HostLimits = FREE, **members: Member) -> RoundEvidence:
    return evidence_of(plan, replies, members, limits, random.Random(2))


def held(plan: Plan, keys: list[bytes]) -> Counter[str]:
    return Counter(plan.owner_of(key) for key in keys)


def imbalance(plan: Plan, keys: list[bytes]) -> float:
    counts = held(plan, keys)
    return max(counts.values()) * len(plan.gatherers) / len(keys) - 1


def test_first_plan_is_round_robin():
    plan = first_plan(("a", "b", "c"), (b"", b"b", b"c", b"d"), replace(SETTINGS, mode="firewall"))
    assert plan.owners == (0, 1, 2, 0)
    assert plan.mode is ExchangeMode.FIREWALL
    assert plan.lost == ((FIRST_KEY, LAST_KEY),)
    assert first_plan(("a", "b"), (b"", b"b"), SETTINGS, heir="b").owners == (1, 1)


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_giant_host_is_shared_by_its_paths(k):
    names = tuple(f"g{n}" for n in range(1, k + 1))
    draft = make_plan(ALONE, TeamMembers(names), evidence(ALONE, reply(ALONE, "g1", GIANT)), SETTINGS)
    assert imbalance(draft.plan, GIANT) <= 0.15
    assert draft.plan.moves == tuple(diff(ALONE, draft.plan))
    assert abs(draft.moved - (1 - 1 / k)) < 0.1
    assert len(draft.plan.cuts) <= 2 * k * SETTINGS.delta + 1


@pytest.mark.parametrize("delays", [{"delay_s": 0.2}, {"delays": [(host_of_key(GIANT[0]), 0.2)]}])
def test_giant_host_that_its_delay_limits_stays_whole(delays):
    """Four owners of it would take as long as one; the others share what is left beside it."""
    others = [sort_key(f"http://h{n % 40}.example/p{n}") for n in range(1200)]
    mine = reply(ALONE, "g1", [*GIANT, *others], **delays)
    plan = make_plan(ALONE, TeamMembers(("g1", "g2", "g3", "g4")), evidence(ALONE, mine), SETTINGS).plan
    assert len(held(plan, GIANT)) == 1


def test_nothing_moves_while_politeness_decides_when_the_crawl_ends():
    """One host takes 600 s whoever owns it, and all work together takes less: an idle gatherer could not help."""
    cuts = (b"", sort_key("http://h1.example/"))
    plan = Plan(1, ("g1", "g2"), cuts, (0, 0))
    pages = [sort_key(f"http://h{n % 5}.example/p{n}") for n in range(3000)]
    mine = reply(plan, "g1", pages[500:], pages[:500], speed=100.0, delay_s=1.0)
    assert make_plan(plan, TeamMembers(("g1", "g2")), evidence(plan, mine), SETTINGS).moved == 0.0
    mine = reply(plan, "g1", pages[500:], pages[:500], speed=100.0)
    assert make_plan(plan, TeamMembers(("g1", "g2")), evidence(plan, mine), SETTINGS).moved > 0.3


def test_nothing_moves_at_polite_hosts_that_answer_slowly():
    """Their answers take long, but one gatherer waits for all hosts at once: the delay decides, as with quick ones."""
    cuts = (b"", sort_key("http://h1.example/"))
    plan = Plan(1, ("g1", "g2"), cuts, (0, 0))
    pages = [sort_key(f"http://h{n % 50}.example/p{n}") for n in range(3000)]
    mine = reply(plan, "g1", pages[500:], pages[:500], speed=1.0, delay_s=1.0)
    assert make_plan(plan, TeamMembers(("g1", "g2")), evidence(plan, mine), SETTINGS).moved == 0.0


def test_queue_of_a_host_is_that_of_all_its_parts():
    """The delay is owed by all owners of a host together."""
    plan = Plan(1, ("g1", "g2"), (b"", GIANT[1000]), (0, 1))
    first, second = ([key for key in GIANT if plan.owner_of(key) == name] for name in plan.gatherers)
    both = evidence(plan, reply(plan, "g1", first), reply(plan, "g2", second))
    queues = host_queues(weigh(both.tree, plan.cuts), both.statistics, both.tree)
    assert queues == {host_of_key(GIANT[0]): pytest.approx(3000)}


@pytest.mark.parametrize(("connections", "moves"), [(4, True), (128, False)])
def test_polite_hosts_are_shared_where_one_gatherer_has_too_few_connections_for_them(connections: int, moves: bool):
    """A hundred hosts that owe a second each, and take a fifth of it to answer, keep seventeen connections busy."""
    pages = [sort_key(f"http://h{n % 100}.example/p{n}") for n in range(1000)]
    mine = reply(ALONE, "g1", pages[200:], pages[:200], speed=5.0, delay_s=1.0)
    found = evidence(ALONE, mine, limits=HostLimits(all_connections=connections))
    assert (make_plan(ALONE, TeamMembers(("g1", "g2")), found, SETTINGS).moved > 0.3) is moves


@pytest.mark.parametrize(("connections", "moves"), [(4, True), (128, False)])
def test_polite_hosts_with_little_queued_are_shared_where_connections_are_too_few(connections: int, moves: bool):
    """A young crawl: what is queued would be fetched while the slowest host is asked twice, but there will be more."""
    pages = [sort_key(f"http://h{n % 100}.example/p{n}") for n in range(110)]
    mine = reply(ALONE, "g1", pages[5:], pages[:5], speed=20.0, delay_s=1.0)
    found = evidence(ALONE, mine, limits=HostLimits(all_connections=connections))
    team = TeamMembers(("g1", "g2", "g3", "g4"))
    assert (make_plan(ALONE, team, found, SETTINGS).moved > 0.3) is moves


def test_hosts_that_the_tree_does_not_name_do_not_count_for_those_that_it_names():
    keys = [sort_key(f"http://127.1.{n % 3000 // 256}.{n % 3000 % 256}/p{n}") for n in range(24_000)]
    found = evidence(ALONE, reply(ALONE, "g1", keys[6000:], keys[:6000]))
    queues = host_queues(weigh(found.tree, ALONE.cuts), found.statistics, found.tree)
    assert len(queues) < 3000, "the tree names all hosts: this shows nothing"
    assert max(queues.values(), default=0.0) <= 24


def test_hosts_that_answer_slowly_are_shared_by_all():
    """Each gatherer has its own connections to a host; where answers come quickly, neighbours stay together."""
    hosts = [[sort_key(f"http://h{host}.example/d{n % 20:02}/p{n}") for n in range(800)] for host in range(3)]
    team, pages = TeamMembers(("g1", "g2", "g3", "g4")), [key for host in hosts for key in host]

    def owners_of_a_host(speed: float) -> float:
        mine = reply(ALONE, "g1", queued, done, speed=speed)
        plan = make_plan(ALONE, team, evidence(ALONE, mine), SETTINGS).plan
        assert imbalance(plan, queued) <= 0.2
        return sum(len(held(plan, host)) for host in hosts) / 3

    done = pages[::10]
    queued = [key for key in pages if key not in set(done)]
    assert owners_of_a_host(speed=20.0) == 4
    assert owners_of_a_host(speed=2000.0) < 3


def test_queue_that_lies_in_a_corner_of_what_was_seen_is_shared_at_once():
    """Late in a crawl: 20,000 pages are done, 600 are queued, all below one folder. The second round moves little."""
    done = [sort_key(f"http://h{n % 20}.example/d{n % 37}/p{n}") for n in range(20_000)]
    queued = [sort_key(f"http://h3.example/d3/late/p{n}") for n in range(600)]
    team = TeamMembers(("g1", "g2", "g3"))
    plan = make_plan(ALONE, team, evidence(ALONE, reply(ALONE, "g1", queued, done)), SETTINGS).plan
    assert imbalance(plan, queued) <= 0.15

    def of(name: str, keys: list[bytes]) -> list[bytes]:
        return [key for key in keys if plan.owner_of(key) == name]

    replies = [reply(plan, name, of(name, queued), of(name, done)) for name in team.running]
    draft = make_plan(plan, team, evidence(plan, *replies), SETTINGS)
    assert imbalance(draft.plan, queued) <= 0.15
    assert draft.moved < 0.1
    assert held(draft.plan, done) == pytest.approx(held(plan, done), rel=0.15), "nothing of the rest has to move"


@pytest.mark.parametrize("k", [2, 4, 8])
def test_giant_host_beside_finished_ones_is_shared_at_once(k):
    """Its delay holds the giant up: when the work is first shared, the small hosts are done."""
    done = [sort_key(f"http://h{n % 19}.example/p{n}") for n in range(2000)]
    names = tuple(f"g{n}" for n in range(1, k + 1))
    mine = reply(ALONE, "g1", GIANT[500:], [*done, *GIANT[:500]])
    draft = make_plan(ALONE, TeamMembers(names), evidence(ALONE, mine), SETTINGS)
    assert imbalance(draft.plan, GIANT[500:]) <= 0.15


def test_balanced_team_moves_nothing():
    names = ("g1", "g2", "g3")
    plan = make_plan(ALONE, TeamMembers(names), evidence(ALONE, reply(ALONE, "g1", GIANT)), SETTINGS).plan
    replies = [reply(plan, name, [key for key in GIANT if plan.owner_of(key) == name]) for name in names]
    draft = make_plan(plan, TeamMembers(names), evidence(plan, *replies), SETTINGS)
    assert draft.moved < 0.05


def test_slow_gatherer_gets_less():
    plan = Plan(1, ("g1", "g2"), (b"", GIANT[0][:-4]), (0, 1))
    done = {"g1": GIANT[:300], "g2": GIANT[300:600]}
    replies = [
        reply(plan, "g1", GIANT[600:], done["g1"], speed=30),
        reply(plan, "g2", [], done["g2"], speed=10),
    ]
    draft = make_plan(plan, TeamMembers(("g1", "g2")), evidence(plan, *replies), SETTINGS)
    counts = held(draft.plan, GIANT[600:])
    assert 2.0 < counts["g1"] / counts["g2"] < 4.5


def test_gatherer_with_helpers_gets_more_and_that_alone_is_no_reason_to_share_anew():
    plan = Plan(1, ("g1", "g2"), (b"", GIANT[300]), (0, 1))
    replies = [reply(plan, "g1", GIANT[600:1800], GIANT[:300]), reply(plan, "g2", GIANT[1800:], GIANT[300:600])]
    found = evidence(plan, *replies)
    for _ in range(600):
        found.statistics.fetched_by_helper("g1", 0, 1000)
    draft = make_plan(plan, TeamMembers(("g1", "g2")), found, SETTINGS, fresh=True)
    counts = held(draft.plan, GIANT[600:])
    assert 2.0 < counts["g1"] / counts["g2"] < 4.5
    assert draft.locality == pytest.approx(1, abs=0.2)


def test_leaver_is_relieved_of_everything():
    names = ("g1", "g2", "g3")
    plan = make_plan(ALONE, TeamMembers(names), evidence(ALONE, reply(ALONE, "g1", GIANT)), SETTINGS).plan
    replies = [reply(plan, name, [key for key in GIANT if plan.owner_of(key) == name]) for name in names]
    draft = make_plan(plan, TeamMembers(("g1", "g3"), leavers=("g2",)), evidence(plan, *replies), SETTINGS)
    assert draft.plan.gatherers == ("g1", "g3")
    assert draft.plan.leavers == ("g2",)
    assert imbalance(draft.plan, GIANT) <= 0.15
    assert draft.moved < 0.45, "the others keep what they have"


@given(
    st.lists(st.sampled_from(GIANT[:60]), max_size=12, unique=True),
    st.integers(1, 5),
    st.sampled_from(["greedy", "links"]),
    st.booleans(),
)
def test_plan_can_be_made_on_little_evidence(keys, k, partition, fresh):
    names = tuple(f"g{n}" for n in range(1, k + 1))
    settings = replace(SETTINGS, partition=partition)
    old = Plan(3, ("g0", "g1"), (b"", GIANT[30]), (0, 1))
    replies = [reply(old, "g0", [key for key in keys if old.owner_of(key) == "g0"]), reply(old, "g1", [])]
    draft = make_plan(old, TeamMembers(names, leavers=("g0",)), evidence(old, *replies), settings, fresh=fresh)
    assert draft.plan.gatherers == names
    assert draft.plan.epoch == 4
    assert draft.plan.moves == tuple(diff(old, draft.plan))
    assert 0 <= draft.moved <= 1
    assert Plan.decode(draft.plan.encode()) == draft.plan


def test_users_expansion_is_spread_although_nothing_is_known():
    old = Plan(1, ("g1",), (b"", b"b", b"c", b"d"), (0, 0, 0, 0))
    plan = make_plan(old, TeamMembers(("g1", "g2")), evidence(old, reply(old, "g1", [])), SETTINGS).plan
    assert sorted(plan.owners) == [0, 0, 1, 1]


def test_nothing_moves_where_nothing_is_left_to_do():
    old = Plan(1, ("g1", "g2"), (b"", GIANT[1500]), (0, 1))
    replies = [reply(old, "g1", [], GIANT[:1500]), reply(old, "g2", [], GIANT[1500:])]
    draft = make_plan(old, TeamMembers(("g1", "g2", "g3")), evidence(old, *replies), SETTINGS)
    assert draft.plan.gatherers == ("g1", "g2", "g3")
    assert draft.moved == 0
    gone = make_plan(old, TeamMembers(("g1", "g3"), leavers=("g2",)), evidence(old, *replies), SETTINGS)
    assert {move.loser for move in gone.plan.moves} == {"g2"}


def test_links_keep_linked_superpages_together():
    """Two hosts per language, linked with one another; Partition II keeps the languages together."""
    hosts = {name: [sort_key(f"http://{name}.example/p{n}") for n in range(100)] for name in "abcd"}
    cuts = (b"", *(keys[0] for keys in list(hosts.values())[1:]))
    old = Plan(1, ("g1", "g2"), cuts, (0, 0, 1, 1))
    mine = reply(old, "g1", [*hosts["a"], *hosts["b"]]), reply(old, "g2", [*hosts["c"], *hosts["d"]])
    found = evidence(old, *mine)
    for source, target in ((0, 2), (2, 0), (1, 3), (3, 1)):
        found.statistics.linked(source, [target] * 50_000)
    found.statistics.fetched("g1", 0, 1, 0.1)
    settings = replace(SETTINGS, partition="links", delta=2)
    plan = make_plan(old, TeamMembers(("g1", "g2")), found, settings, fresh=True).plan
    owners = {name: held(plan, keys).most_common(1)[0][0] for name, keys in hosts.items()}
    assert owners["a"] == owners["c"] != owners["b"] == owners["d"]


def test_measured_exchange_counts_where_it_is_slower_than_assumed():
    old = Plan(1, ("g1", "g2"), (b"", GIANT[1500]), (0, 1))
    found = evidence(old, reply(old, "g1", GIANT[:1500]), reply(old, "g2", GIANT[1500:]))
    settings = replace(SETTINGS, partition="links")

    def rates(**seconds: float) -> list[float]:
        for name, each in seconds.items():
            found.statistics.exchange[name] = MeasuredWork(100_000, each)
        problem = problem_of(old, weigh(found.tree, old.cuts), found, ("g1", "g2"), settings)
        return list(problem.communication_rates)

    assumed = rates()
    assert rates(g1=1e-3, g2=1e6) == [assumed[0], pytest.approx(0.1, rel=0.1)]


@pytest.mark.parametrize("name", ["partition-i", "partition-ii"])
def test_papers_partition_shares_out_everything_anew_where_the_setting_says_so(name):
    """The owners are those that the paper's procedure gives: who owned what before does not matter to it."""
    team, settings = TeamMembers(("g1", "g2", "g3")), replace(SETTINGS, partition=name)
    found = evidence(ALONE, reply(ALONE, "g1", GIANT))
    for _ in range(2):
        draft = make_plan(ALONE, team, found, settings)
        pages = weigh(found.tree, draft.plan.cuts)
        expected = PARTITIONERS[name](problem_of(ALONE, pages, found, team.running, settings))
        assert draft.plan.owners == tuple(expected.tolist())
    assert imbalance(draft.plan, GIANT) < 0.2
    sticky = make_plan(ALONE, team, found, SETTINGS)
    assert sticky.plan.owners != draft.plan.owners


def test_space_is_shared_out_beside_the_work_where_the_setting_says_so():
    """Two hosts of as many pages, one with pages of a kilobyte, one of a hundred: by work alone, each has one owner."""
    small, large = ([sort_key(f"http://{h}.example/d{n % 40}/p{n}") for n in range(1000)] for h in ("small", "zlarge"))
    old = Plan(1, ("g1", "g2"), (b"", host_of_key(large[0])), (0, 1))

    def bytes_of(space_balance: bool) -> list[float]:
        replies = [reply(old, "g1", small[100:], small[:100]), reply(old, "g2", large[100:], large[:100])]
        found = evidence(old, *replies)
        found.statistics.superpages[1].bytes *= 100
        draft = make_plan(old, TeamMembers(("g1", "g2")), found, replace(SETTINGS, space_balance=space_balance))
        assert imbalance(draft.plan, small + large) < 0.15, "the work stays shared"
        counts = held(draft.plan, small), held(draft.plan, large)
        return [counts[0][name] * 1.0 + counts[1][name] * 100.0 for name in ("g1", "g2")]

    work_only, both = bytes_of(False), bytes_of(True)
    assert max(work_only) > 1.9 * np.mean(work_only)
    assert max(both) < 1.15 * np.mean(both)


def test_locality_is_measured_and_mended():
    """Each of two gatherers owns what the other one fetches ten times faster."""
    here = [sort_key(f"http://here.example/p{n}") for n in range(1000)]
    there = [sort_key(f"http://there.example/p{n}") for n in range(1000)]
    old = Plan(1, ("g1", "g2"), (b"", there[0]), (0, 1))
    replies = [reply(old, "g1", here[200:], here[:100]), reply(old, "g2", there[200:], there[:100])]
    found = evidence(old, *replies)
    for gatherer, superpage, seconds in (("g1", 0, 1.0), ("g1", 1, 0.1), ("g2", 0, 0.1), ("g2", 1, 1.0)):
        for _ in range(100):
            found.statistics.fetched(gatherer, superpage, 1000, seconds)
    draft = make_plan(old, TeamMembers(("g1", "g2")), found, SETTINGS, fresh=True)
    assert draft.locality > 3
    assert held(draft.plan, there)["g1"] > 900
    assert held(draft.plan, here)["g2"] > 900
    same = make_plan(old, TeamMembers(("g1", "g2")), evidence(old, *replies), SETTINGS, fresh=True)
    assert same.locality == pytest.approx(1, abs=0.2)


def test_locality_is_seen_by_probes_alone():
    """Neither gatherer has ever fetched what is near to it: the other one owns it."""
    here = [sort_key(f"http://here.example/p{n}") for n in range(1000)]
    there = [sort_key(f"http://there.example/p{n}") for n in range(1000)]
    old = Plan(1, ("g1", "g2"), (b"", host_of_key(there[0])), (0, 1))
    speed = 1 / 0.155
    replies = [reply(old, "g1", here[200:], here[:200], speed), reply(old, "g2", there[200:], there[:200], speed)]
    found = evidence(old, *replies)
    blind = make_plan(old, TeamMembers(("g1", "g2")), found, SETTINGS, fresh=True)
    assert blind.locality == pytest.approx(1, abs=0.2)
    a, b = host_of_key(here[0]), host_of_key(there[0])
    found.statistics.access = {"g1": {a: 0.150, b: 0.001}, "g2": {a: 0.001, b: 0.150}}
    draft = make_plan(old, TeamMembers(("g1", "g2")), found, SETTINGS, fresh=True)
    assert draft.locality > 3
    assert held(draft.plan, there)["g1"] == held(draft.plan, here)["g2"] == 1000
    new = Plan(2, ("g1", "g2"), old.cuts, (1, 0))
    found = evidence(new, reply(new, "g2", here[600:]), reply(new, "g1", there[200:]))
    found.statistics.access = {"g1": {a: 0.150, b: 0.001}, "g2": {a: 0.001, b: 0.150}}
    later = make_plan(new, TeamMembers(("g1", "g2")), found, SETTINGS)
    assert held(later.plan, here[600:])["g1"] < 200, "balance does not send anybody over the ocean for a few pages"


def test_silent_owner_keeps_its_weight():
    plan = Plan(2, ("g1", "g2"), (b"", GIANT[0]), (0, 1))
    heavy = Member("g1", "r", figures={"queued": 3000, "known": 5000})
    draft = make_plan(
        plan, TeamMembers(("g1", "g2", "g3")), evidence(plan, reply(plan, "g2", GIANT), g1=heavy), SETTINGS
    )
    assert draft.plan.owner_of(b"") == "g1"
    assert held(draft.plan, GIANT)["g3"] > 1000
    assert held(draft.plan, GIANT)["g1"] < 300


def test_reply_under_another_plan_is_ignored():
    old = Plan(1, ("g1", "g2"), (b"", b"m"), (0, 1))
    now = Plan(2, ("g1", "g2"), (b"", GIANT[1000]), (0, 1))
    stale = reply(old, "g2", GIANT, hot=[("http://a.example/", 5)])
    damaged = Reply("g1", 1, now.epoch, b"\x01junk", b"junk")
    found = evidence(now, stale, damaged, g1=Member("g1", "r"), g2=Member("g2", "r", figures={"queued": 7}))
    assert found.tree.visits == 7
    assert found.hot == {"http://a.example/": 5}


def test_hot_pages_are_the_most_linked_and_stay_as_long_as_they_are_candidates():
    old = replace_hot(ALONE, "u:old", "u:cold")
    hot = [("u:old", 2), ("u:a", 9), ("u:b", 5)], [("u:b", 6), ("u:c", 1)]
    found = evidence(ALONE, *(reply(ALONE, f"g{n}", [], hot=pairs) for n, pairs in enumerate(hot)))
    assert hot_pages(old, found, 3) == ("u:old", "u:b", "u:a")
    assert hot_pages(old, found, 0) == ()
    assert refreshed(old, ("u:b",)).hot_pages == ("u:b",)


def replace_hot(plan: Plan, *hot: str) -> Plan:
    return Plan(plan.epoch, plan.gatherers, plan.cuts, plan.owners, hot_pages=hot)


def test_refreshed_plan_moves_nothing():
    old = Plan(5, ("g1", "g2"), (b"", b"m"), (0, 1), lost=((b"a", b"b"),), leavers=("g9",))
    new = refreshed(old, ("http://a.example/",))
    assert (new.epoch, new.lost, new.moves, new.leavers) == (6, (), (), ())
    assert not diff(old, new)


def test_recovered_plan_gives_away_what_the_dead_owned_and_nothing_else():
    old = Plan(
        5,
        ("g1", "g2", "g3"),
        (b"", b"b", b"c", b"d", b"e", b"f"),
        (0, 1, 2, 1, 0, 1),
        hot_pages=("http://b.b/", "http://example.a/"),
        moves=(Move(b"b", b"c", "g1", "g2"), Move(b"c", b"d", "g1", "g3")),
    )
    new = recovered(old, ("g1", "g3"), {"g2"}, committed=True)
    assert new.gatherers == ("g1", "g3")
    assert new.lost == ((b"b", b"c"), (b"d", b"e"), (b"f", LAST_KEY))
    assert all(new.lost and move.loser == "g2" for move in diff(old, new))
    assert {new.owner_of(b"b"), new.owner_of(b"d"), new.owner_of(b"f")} == {"g1", "g3"}
    assert new.moves == new.leavers == ()
    assert new.hot_pages == ("http://example.a/",), "its new owner has never heard of the other"


def test_recovered_plan_also_gives_up_what_the_dead_had_still_to_hand_over():
    old = Plan(
        5,
        ("g1", "g2", "g3"),
        (b"", b"b", b"c", b"d"),
        (0, 1, 2, 0),
        lost=((b"x", b"y"),),
        moves=(Move(b"", b"b", "g3", "g1"), Move(b"c", b"d", "g4", "g3"), Move(b"d", LAST_KEY, "g2", "g1")),
        leavers=("g4", "g5"),
    )
    new = recovered(old, ("g1", "g3"), {"g2", "g4"}, committed=False)
    assert new.lost == ((b"b", LAST_KEY),)
    assert new.moves == (Move(b"", b"b", "g3", "g1"),), "the living still owe it"
    assert new.leavers == ("g5",)


def test_recovered_plan_lets_one_that_lost_its_disk_begin_anew():
    old = Plan(5, ("g1", "g2"), (b"", b"b", b"c", b"d"), (0, 1, 1, 1))
    new = recovered(old, ("g1", "g2"), {"g2"}, committed=True)
    assert new.gatherers == ("g1", "g2")
    assert new.lost == ((b"b", LAST_KEY),)
    assert new.owner_of(b"") == "g1"
    assert "g2" in {new.owner_of(b"b"), new.owner_of(b"c"), new.owner_of(b"d")}
    alone = recovered(Plan(5, ("g2",), (b"",), (0,)), ("g2",), {"g2"}, committed=True)
    assert alone.lost == ((FIRST_KEY, LAST_KEY),)
    assert alone.ranges_of("g2") == [(FIRST_KEY, LAST_KEY)]


def test_recovered_plan_keeps_a_leaver_that_still_owns_something():
    old = Plan(5, ("g1", "g2", "g3"), (b"", b"b", b"c"), (0, 1, 2))
    new = recovered(old, ("g1",), {"g2"}, committed=True)  # g3 is leaving
    assert new.ranges_of("g3") == [(b"c", LAST_KEY)]
    assert new.ranges_of("g1") == [(FIRST_KEY, b"c")]


@pytest.mark.parametrize("model", ["site-hash", "url-hash"])
@pytest.mark.parametrize("counted", [False, True])
def test_plan_on_hashed_ground_moves_only_to_who_joins_and_from_who_leaves(model, counted):
    old = hashed(model, 3).plan(("a", "b", "c"), ExchangeMode.EXCHANGE, 1)
    keys = [sort_key(f"http://h{n}.example/{n}") for n in range(3000)]
    places = {name: [old.keyspace.place(key) for key in keys if old.owner_of(key) == name] for name in "abc"}
    told = evidence(old, *(reply(old, name, places[name]) for name in "abc")) if counted else evidence(old)
    joined = make_plan(old, TeamMembers(("a", "b", "c", "d")), told, SETTINGS).plan
    assert {move.winner for move in joined.moves} == {"d"}
    assert imbalance(joined, keys) < 0.2
    left = make_plan(old, TeamMembers(("a", "c"), ("b",)), told, SETTINGS).plan
    assert {move.loser for move in left.moves} == {"b"}
    assert imbalance(left, keys) < 0.2


@pytest.mark.parametrize("name", PARTITIONERS)
def test_live_crawl_can_plan_with_every_partitioner_of_the_registry(name, monkeypatch):
    monkeypatch.setattr("gcs.core.plan.rebalance.PARTITIONER", name)
    team, known = TeamMembers(("g1", "g2", "g3")), evidence(ALONE, reply(ALONE, "g1", GIANT))
    for fresh in (False, True):
        draft = make_plan(ALONE, team, known, replace(SETTINGS, partition="links"), fresh=fresh)
        assert draft.plan.moves == tuple(diff(ALONE, draft.plan)) and 0 <= draft.moved <= 1
