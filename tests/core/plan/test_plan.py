from itertools import pairwise
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.plan.plan import ExchangeMode, Move, Plan, diff
from gcs.core.url.sortkey import LAST_KEY, host_of_key, sort_key
from gcs.errors import CodecError

hosts = st.sampled_from(["com", "a.com", "b.a.com", "a-b.com", "b.org", "10.0.0.1"])
paths = st.lists(st.sampled_from(["", "a", "b", "ab"]), max_size=3).map("/".join)
schemes = st.sampled_from(["http", "https"])
ports = st.sampled_from(["", ":81"])
urls = st.builds("{}://{}{}/{}".format, schemes, hosts, ports, paths)
keys = urls.map(sort_key)
cut_sets = st.sets(st.one_of(keys, keys.map(host_of_key), keys.map(lambda key: key + b"\x01")), max_size=10)


@st.composite
def plans(draw, names=("ada", "bob", "cyd", "dan")):
    cuts = tuple(sorted({b""} | draw(cut_sets)))
    gatherers = tuple(draw(st.permutations(names)))[: draw(st.integers(1, len(names)))]
    owners = draw(st.lists(st.integers(0, len(gatherers) - 1), min_size=len(cuts), max_size=len(cuts)))
    mode = draw(st.sampled_from(list(ExchangeMode)))
    return Plan(draw(st.integers(0, 9)), gatherers, cuts, tuple(owners), tuple(draw(st.lists(urls, max_size=3))), mode)


@given(plans())
def test_plan_survives_its_encoding(plan):
    assert Plan.decode(plan.encode()) == plan


@given(plans(), urls)
def test_every_url_has_one_owner(plan, url):
    key = sort_key(url)
    (owner,) = (owner for low, high, owner in plan.ranges() if low <= key < high)
    assert plan.owner_of(key) == owner == plan.gatherers[plan.owners[plan.locate(key)]]
    assert [plan.locate(key)] == plan.locate_many([key])
    assert any(low <= key < high for low, high in plan.ranges_of(owner))


@given(plans())
def test_ranges_cover_the_space_and_neighbours_differ(plan):
    ranges = list(plan.ranges())
    assert ranges[0][0] == b"" and ranges[-1][1] == LAST_KEY
    for (_, high, owner), (low, _, other) in pairwise(ranges):
        assert high == low and owner != other


@given(plans(), plans(), st.lists(keys, max_size=20))
def test_diff_is_what_changes_hands(old, new, probes):
    moves = diff(old, new)
    for key in [*probes, *old.cuts, *new.cuts]:
        around = [move for move in moves if move.low <= key < move.high]
        if old.owner_of(key) == new.owner_of(key):
            assert around == []
        else:
            assert [(move.loser, move.winner) for move in around] == [(old.owner_of(key), new.owner_of(key))]
    for left, right in pairwise(moves):
        assert left.high <= right.low
        assert left.high < right.low or (left.loser, left.winner) != (right.loser, right.winner)


@given(plans())
def test_nothing_moves_between_equal_plans(plan):
    assert diff(plan, plan) == []


def test_diff_compares_names_not_numbers():
    old = Plan(1, ("ada", "bob"), (b"", b"m"), (0, 1))
    new = Plan(2, ("bob", "ada", "cyd"), (b"", b"c", b"m", b"x"), (1, 1, 0, 2))
    assert diff(old, new) == [Move(b"x", LAST_KEY, "bob", "cyd")]


@given(plans(), st.lists(urls, max_size=30))
def test_shared_hosts_are_those_whose_pages_have_several_owners(plan, some):
    owners = {}
    for url in some:
        owners.setdefault(host_of_key(sort_key(url)), set()).add(plan.owner_of(sort_key(url)))
    shared = plan.shared_hosts()
    for host, seen in owners.items():
        assert seen <= set(shared.get(host, seen if len(seen) == 1 else ()))
    for host, sharers in shared.items():
        pieces = {
            plan.owner_of(max(cut, host + b"\x00/http")) for cut in plan.cuts if cut < host + b"\x000"
            if all(not cut < other <= host + b"\x00/http" for other in plan.cuts)
        }  # fmt: skip
        assert list(sharers) == sorted(pieces) and len(pieces) > 1


@given(plans(), plans())
def test_host_that_is_shared_before_or_after_and_changes_its_owners_is_changing(old, new):
    new = msgspec.structs.replace(new, moves=tuple(diff(old, new)))
    before, after = old.shared_hosts(), new.shared_hosts()
    for host in {*before, *after}:
        was, will = ({*shared.get(host, ()), plan.owner_of(host + b"\x00/http")} for shared, plan in
                     ((before, old), (after, new)))  # fmt: skip
        assert was == will or host in new.changing_hosts()
    assert not msgspec.structs.replace(new, moves=()).changing_hosts()


def test_host_is_shared_only_with_owners_of_its_pages():
    giant = b"com\x00giant"
    cuts = (b"", giant, giant + b"\x00/http\x00a", giant + b"\x00/http\x00m", giant + b"\x01", b"org")
    plan = Plan(1, ("ada", "bob", "cyd"), cuts, (2, 0, 1, 0, 2, 2))
    assert plan.shared_hosts() == {giant: ("ada", "bob")}
    assert Plan(1, ("ada", "bob", "cyd"), cuts, (2, 0, 0, 0, 1, 2)).shared_hosts() == {}


def test_subdomain_does_not_share_its_parent_host():
    plan = Plan(1, ("ada", "bob"), (b"", b"com\x00a\x00www"), (0, 1))
    assert plan.shared_hosts() == {}
    assert plan.owner_of(sort_key("http://a.com/z")) == "ada"
    assert plan.owner_of(sort_key("http://www.a.com/")) == "bob"


def test_large_plan_is_small_on_the_wire():
    """10,000 superpages and 100 gatherers in at most 300 KB, hot pages included."""
    random = Random(1)
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randrange(3, 12))) for _ in range(5000)]

    def url():
        host = f"{random.choice(words)}.{random.choice(words)}.{random.choice(['com', 'org', 'net', 'de'])}"
        return f"https://{host}/" + "/".join(random.choices(words, k=random.randrange(1, 5)))

    cuts = (b"", *sorted({sort_key(url()) for _ in range(9_999)}))
    gatherers = tuple(f"gatherer-{n:03d}.{random.choice(words)}.internal" for n in range(100))
    hot = tuple(url() for _ in range(500))
    plan = Plan(7, gatherers, cuts, tuple(random.randrange(100) for _ in cuts), hot)
    data = plan.encode()
    assert len(cuts) > 9_990 and len(data) <= 300_000
    assert Plan.decode(data) == plan


@pytest.mark.parametrize(
    ("gatherers", "cuts", "owners"),
    [
        (("ada",), (b"a",), (0,)),
        (("ada",), (b"", b"a"), (0,)),
        (("ada",), (b"", b"b", b"a"), (0, 0, 0)),
        (("ada",), (b"",), (1,)),
        (("ada",), (b"",), (-1,)),
        (("ada", "ada"), (b"",), (0,)),
    ],
)
def test_impossible_plan_is_refused(gatherers, cuts, owners):
    with pytest.raises(ValueError, match=r"a plan needs|owned by nobody|two gatherers"):
        Plan(1, gatherers, cuts, owners)


def test_damaged_plan_is_refused():
    good = Plan(1, ("ada",), (b"",), (0,)).encode()
    for data in (b"", good[:-4], b"\x09" + good[1:]):
        with pytest.raises(CodecError, match="Plan"):
            Plan.decode(data)
