from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.plan.blueprint import hashed
from gcs.core.plan.keyspace import Keyspace, contains, even_cuts, intersect, subtract, unite
from gcs.core.plan.plan import Bloom, ExchangeMode, Plan
from gcs.core.tree.tree import is_expansion
from gcs.core.url.sortkey import host_of_key, sort_key
from gcs.ports.frontier.url_rows import short

urls = st.builds("http://{}.example/{}".format, st.sampled_from("abcd"), st.text("abc/", max_size=900))
keys = urls.map(sort_key)


@given(keys, keys)
def test_a_host_is_one_point_by_site_hash_and_many_by_url_hash(left, right):
    assert Keyspace.TREE.place(left) == left
    same_host = host_of_key(left) == host_of_key(right)
    assert same_host == (Keyspace.SITE_HASH.place(left) == Keyspace.SITE_HASH.place(right))
    if left[:400] != right[:400]:
        assert Keyspace.URL_HASH.place(left) != Keyspace.URL_HASH.place(right)


def test_domain_hash_keeps_a_top_level_domain_together_and_spreads_domains():
    plan = hashed("domain-hash", 8).plan(tuple("abcdefgh"), ExchangeMode.EXCHANGE, 1)
    assert plan.static and not plan.shares_all_hosts and plan.shared_hosts() == {}
    owners = {}
    for domain in ("org", "com", "de", "it", "fr", "jp", "nl", "se", "ch", "at", "pl", "br"):
        found = {plan.owner_of(sort_key(f"http://h{n}.{n % 7}.{domain}/p{n}")) for n in range(50)}
        assert len(found) == 1
        owners[domain] = found.pop()
    assert len(set(owners.values())) >= 4


@given(keys, st.sampled_from(Keyspace))
def test_the_place_of_a_key_is_that_of_what_the_frontier_keeps_of_it(key, space):
    if space is not Keyspace.TREE:
        assert space.place(short(key)) == space.place(key)


@given(st.integers(1, 500), keys)
def test_even_cuts_divide_hashed_keyspace(pieces, key):
    cuts = even_cuts(pieces)
    assert len(cuts) == pieces and is_expansion(cuts)
    plan = Plan(1, ("ada",), cuts, (0,) * pieces, keyspace=Keyspace.URL_HASH)
    low, *high = cuts[plan.locate(key) : plan.locate(key) + 2]
    assert low <= Keyspace.URL_HASH.place(key) < (high[0] if high else b"\xff")


def test_hashed_pages_are_spread_evenly():
    plan = Plan(1, tuple("abcdefgh"), even_cuts(64), tuple(at % 8 for at in range(64)), keyspace=Keyspace.URL_HASH)
    found = [plan.owner_of(sort_key(f"http://host.example/{page}")) for page in range(8_000)]
    assert all(880 < found.count(name) < 1_120 for name in plan.gatherers)


@given(st.sets(st.binary(max_size=20)))
def test_bloom_knows_what_it_was_given(keys):
    bloom = Bloom.of(keys, len(keys))
    assert all(key in bloom for key in keys)
    assert b"anything" not in Bloom()


def test_bloom_is_seldom_wrong():
    bloom = Bloom.of((b"%d" % number for number in range(10_000)), 10_000)
    assert sum(b"-%d" % number in bloom for number in range(10_000)) < 200


def test_what_is_not_listed_belongs_to_whoever_finds_it():
    known, new = sort_key("http://a.example/known"), sort_key("http://a.example/new")
    elsewhere = sort_key("http://b.example/new")
    plan = Plan(1, ("ada", "bob"), (b"",), (0,))
    assert not plan.is_finders(new) and not plan.shares_all_hosts
    pages = Plan(1, ("ada", "bob"), (b"",), (0,), listed=Bloom.of([known], 1))
    assert [pages.is_finders(key) for key in (known, new, elsewhere)] == [False, True, True]
    hosts = Plan(1, ("ada", "bob"), (b"",), (0,), listed=Bloom.of([host_of_key(known)], 1), lists_hosts=True)
    assert [hosts.is_finders(key) for key in (known, new, elsewhere)] == [False, False, True]
    independent = Plan(1, ("ada", "bob"), (b"",), (0,), mode=ExchangeMode.INDEPENDENT)
    assert independent.is_finders(known)
    assert pages.shares_all_hosts and hosts.shares_all_hosts and independent.shares_all_hosts


KEYS = [bytes([number]) for number in range(16)]
pieces = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS)).map(lambda pair: tuple(sorted(pair))))


def members(ranges: Any) -> set[bytes]:
    return {key for key in KEYS if any(low <= key < high for low, high in ranges)}


def is_normal(ranges: tuple[tuple[bytes, bytes], ...]) -> bool:
    flat = [key for pair in ranges for key in pair]
    return flat == sorted(flat) and all(low < high for low, high in ranges)


@given(pieces, pieces)
def test_ranges_are_sets_of_keys(one: list, other: list) -> None:
    first, second = unite(one), unite(other)
    assert is_normal(first)
    assert members(first) == members(one)
    for result, wanted in (
        (subtract(first, second), members(one) - members(other)),
        (intersect(first, second), members(one) & members(other)),
    ):
        assert is_normal(result)
        assert members(result) == wanted
    assert {key for key in KEYS if contains(first, key)} == members(one)
