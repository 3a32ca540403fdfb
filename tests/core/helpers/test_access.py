"""Tokens: known again by their hash only, each for its role."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gcs.core.helpers.access import SECRET_BYTES, Role, allowed, digest, entry, holder, new_token
from gcs.core.messages.tuples import Access

SECRETS = st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES)


@given(
    st.lists(st.tuples(SECRETS, st.sampled_from(Role)), unique_by=lambda pair: pair[0], min_size=1, max_size=5), SECRETS
)
def test_holder_finds_each_token_and_no_other(pairs, other):
    entries = [entry(new_token(secret), role) for secret, role in pairs]
    for (secret, role), kept in zip(pairs, entries):
        found = holder(new_token(secret), entries, now=0.0)
        assert found is kept and role in allowed(found)
    if other not in [secret for secret, _ in pairs]:
        assert holder(new_token(other), entries, now=0.0) is None


@given(SECRETS, st.integers(0, 200), st.characters())
@example(bytes(SECRET_BYTES), 0, "\ud800")
def test_holder_refuses_what_is_nearly_right(secret, at, character):
    token = new_token(secret)
    near = token[: at % len(token)] + character + token[at % len(token) + 1 :]
    kept = [entry(token, Role.CONTROL)]
    assert (holder(near, kept, now=0.0) is not None) == (near == token)
    assert holder("", kept, now=0.0) is None
    assert holder(token[:-1], kept, now=0.0) is None


def test_holder_looks_at_every_entry(monkeypatch):
    """Where the right one stands, or how much of it is right, cannot be told by the time that it takes."""
    calls = []
    monkeypatch.setattr("gcs.core.helpers.access.hmac.compare_digest", lambda a, b: calls.append(1) or a == b)
    tokens = [new_token(random.Random(n).randbytes(SECRET_BYTES)) for n in range(5)]
    entries = [entry(token, Role.VIEW) for token in tokens]
    for token in (tokens[0], tokens[4], "wrong"):
        calls.clear()
        holder(token, entries, now=0.0)
        assert len(calls) == 5


def test_holder_refuses_what_has_expired():
    kept = [entry("a token of ours that is long", Role.VIEW, created_at=10, expires_at=20)]
    assert holder("a token of ours that is long", kept, now=19.9)
    assert holder("a token of ours that is long", kept, now=20) is None


def test_entry_keeps_no_token():
    token = new_token(bytes(range(SECRET_BYTES)))
    kept = entry(token, Role.HELPER, label="night")
    assert kept.digest == digest(token) and kept.digest.hex().startswith(kept.id)
    assert token not in repr(kept) and token[4:] not in repr(kept)


def test_allowed_gives_a_helper_nothing_but_helping():
    assert allowed(entry("t" * 20, Role.HELPER)) == {Role.HELPER}
    assert allowed(entry("t" * 20, Role.VIEW)) == {Role.VIEW}
    assert allowed(entry("t" * 20, Role.CONTROL)) == {Role.VIEW, Role.CRAWL, Role.CONTROL}
    assert allowed(entry("t" * 20, Role.CRAWL)) == {Role.VIEW, Role.CRAWL}
    assert allowed(Access("1", "owner of the world", b"")) == frozenset()


def test_new_token_needs_enough_chance():
    with pytest.raises(ValueError, match="32 random bytes"):
        new_token(b"short")
