"""A seed-server's decisions."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.plan.seed_domains import SeedServerSettings, Word, choose, domain_of, fair_moves, room, say

RULES = SeedServerSettings()
names = st.text("abcdef", min_size=1, max_size=2)


def test_domain_is_the_last_label_or_the_host() -> None:
    assert domain_of("http://www.cs.mit.edu/a", "top") == "edu"
    assert domain_of("http://www.cs.mit.edu:8080/a", "host") == "www.cs.mit.edu"
    assert domain_of("http://127.0.0.3:80/", "top") == "127.0.0.3"
    assert domain_of("http://[::1]:80/", "top") == "[::1]"


@given(st.integers(2, 64), st.integers(0, 10_000))
def test_word_keeps_connections_within_bounds_and_acts_against_what_is_held(connections: int, held: int) -> None:
    word, then = say(connections, held, RULES)
    assert RULES.least_connections <= then <= RULES.most_connections
    assert {Word.STEADY: then == connections, Word.HURRY_UP: then > connections, Word.SLOW_DOWN: then < connections}[
        word
    ]
    if word is Word.HURRY_UP:
        assert held > 8 * connections
    if word is Word.SLOW_DOWN:
        assert held < connections


@given(st.integers(2, 64), st.integers(0, 10_000))
def test_word_comes_to_rest(connections: int, held: int) -> None:
    """With the same seeds held, the connections settle: hurry and slow do not take turns."""
    seen = [connections]
    for _ in range(8):
        seen.append(say(seen[-1], held, RULES)[1])
    assert seen[-1] == seen[-2]
    assert seen == sorted(seen) or seen == sorted(seen, reverse=True)


def test_room_is_what_a_client_may_hold_more() -> None:
    assert room(8, 0, RULES) == 32
    assert room(8, 30, RULES) == 2
    assert room(2, 30, RULES) == 0


def test_domain_goes_by_hand_or_to_who_has_least() -> None:
    rules = SeedServerSettings(dsets=("com", "edu net org"))
    assert choose("net", ["a", "b", "c"], {}, rules) == "b"
    assert choose("net", ["a"], {}, rules) == "a"
    assert choose("biz", ["a", "b", "c"], {"a": 3, "b": 1, "c": 2}, rules) == "b"


@given(
    st.dictionaries(names, st.sampled_from("xyz"), max_size=12),
    st.dictionaries(names, st.integers(0, 50), max_size=12),
)
def test_moves_help_who_has_nothing_and_make_nobody_poor(owners: dict[str, str], held: dict[str, int]) -> None:
    moves = fair_moves(owners, held, "xyz", RULES)

    def loads(owners: dict[str, str]) -> dict[str, int]:
        return {client: sum(held.get(domain, 0) for domain in owners if owners[domain] == client) for client in "xyz"}

    before, after = loads(owners), loads(owners | moves)
    for domain, client in moves.items():
        assert before[client] == 0, "only who has nothing gets something"
        assert after[owners[domain]] > 0, "nobody gives all away"
    assert max(after.values()) <= max(before.values())
    if sum(before.values()) and min(before.values()) == 0 and not moves:
        rich = [client for client in "xyz" if sum(owners[d] == client and held.get(d, 0) > 0 for d in owners) > 1]
        best = max(before.values())
        assert not any(
            held.get(domain, 0) and 2 * held[domain] <= before[client]
            for domain, client in owners.items()
            if client in rich and before[client] == best
        )


def test_newcomer_gets_a_fair_share() -> None:
    owners = {f"d{number}": "x" if number % 2 else "y" for number in range(10)}
    moves = fair_moves(owners, dict.fromkeys(owners, 10), "xyz", RULES)
    assert set(moves.values()) == {"z"}
    assert 2 <= len(moves) <= 4
