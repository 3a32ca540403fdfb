from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.site_dates import (
    SiteTrust,
    Trust,
    believed,
    chance_by_age,
    claim,
    http_proof,
    kept_date,
    kept_moment,
    span_of,
    unavailable_after,
)

MAY = datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp()
DAY_S = 86_400


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("2026", "2026"),
        ("2026-05", "2026-05"),
        (" 2026-05-04\n", "2026-05-04"),
        ("2026-5-4", "2026-05-04"),
        ("2026-05-04T10:00:00+02:00", "2026-05-04T08:00:00Z"),
        ("2026-05-04T10:00:00.123Z", "2026-05-04T10:00:00Z"),
        ("2026-05-04 10:00", "2026-05-04T10:00:00Z"),
        ("2026-05-04T23:30-0100", "2026-05-05T00:30:00Z"),
        ("2026-02-30", ""),
        ("yesterday", ""),
        ("", ""),
        ("0001-01-01T00:00:00+14:00", ""),
        ("2026-05-04T10:00:00+99:99", "2026-04-30T05:21:00Z"),
        ("9" * 100_000, ""),
    ],
)
def test_date_is_kept_as_exactly_as_it_was_given(written: str, kept: str) -> None:
    assert kept_date(written) == kept


@given(st.text(max_size=80))
def test_whatever_is_written_is_a_date_or_none(text: str) -> None:
    kept = kept_date(text)
    assert (span_of(kept) is not None) == bool(kept)


@given(st.floats(-1e12, 1e12) | st.none())
def test_moment_is_kept_to_the_second(seconds: float | None) -> None:
    kept = kept_moment(seconds)
    if kept and not kept.startswith("-") and len(kept) == 20:
        assert seconds is not None
        assert span_of(kept) == (int(seconds), int(seconds))


@pytest.mark.parametrize(
    ("date", "copy_at_s", "has_changed"),
    [
        ("2026-05-04T12:00:01Z", MAY, True),
        ("2026-05-04T12:00:00Z", MAY, False),
        ("2026-05-04", MAY, None),  # that day, before or after noon
        ("2026-05-04", MAY + 2 * DAY_S, False),
        ("2026-05-04", MAY - 2 * DAY_S, True),
        ("2026-05", MAY, None),
        ("2026", MAY + 400 * DAY_S, False),
        ("", MAY, None),
        ("nonsense", MAY, None),
    ],
)
def test_claim_is_as_exact_as_the_date(date: str, copy_at_s: float, has_changed: bool | None) -> None:
    assert claim(date, copy_at_s) is has_changed


@given(st.lists(st.booleans(), max_size=500), st.floats(0, 1), st.booleans())
def test_site_is_believed_as_far_as_its_claims_proved_true(proofs: list[bool], chance: float, claimed: bool) -> None:
    trust = Trust()
    assert trust.belief == 0.5
    for proof in proofs:
        trust.note(proof)
    assert 0 < trust.belief < 1
    if len(proofs) <= 200:
        assert trust.belief == (sum(proofs) + 1) / (len(proofs) + 2)
    low, high = sorted((chance, float(claimed)))
    assert low - 1e-9 <= believed(chance, claimed, trust) <= high + 1e-9


def test_site_can_mend_its_ways() -> None:
    trust = Trust()
    for _ in range(1_000):
        trust.note(False)
    liar = trust.belief
    for _ in range(400):
        trust.note(True)
    assert liar < 0.01 and trust.belief > 0.7


def test_kinds_of_claims_are_believed_apart() -> None:
    """A sitemap that says "today" of every page is not believed in that, and still when it says that a page rests."""
    trust = SiteTrust()
    for _ in range(50):
        trust.listed(True).note(False)
        trust.listed(False).note(True)
    assert believed(0.5, True, trust.listed(True)) < 0.55
    assert believed(0.5, False, trust.listed(False)) < 0.05


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0, 1e9))
def test_old_pages_are_less_likely_to_have_changed(age_s: float, more_s: float, since_s: float) -> None:
    young, old = (chance_by_age(MAY - age, MAY, MAY + since_s) for age in (age_s, age_s + more_s))
    assert young is not None and old is not None
    assert 0 <= old <= young <= 1


def test_dates_that_cannot_be_say_nothing() -> None:
    assert chance_by_age(MAY + 1, MAY, MAY + 2) is None
    assert chance_by_age(MAY - 1, MAY, MAY - 2) is None


@pytest.mark.parametrize(
    ("before", "now", "has_changed", "is_true"),
    [("a", "a", False, True), ("a", "b", True, True), ("a", "b", False, False), ("a", "a", True, False)],
)
def test_last_modified_is_proved_by_the_payload(before: str, now: str, has_changed: bool, is_true: bool) -> None:
    assert http_proof(before, now, has_changed) is is_true
    assert http_proof("", now, has_changed) is None and http_proof(before, "", has_changed) is None


@pytest.mark.parametrize(
    ("directives", "at_s"),
    [
        ("unavailable_after: Mon, 04 May 2026 12:00:00 GMT", MAY),
        ("noarchive, Unavailable_After: 04 May 2026 12:00:00 GMT, nosnippet", MAY),
        ("unavailable_after:2026-05-04T12:00:00Z,noarchive", MAY),
        ("unavailable_after: 2026-05-04", MAY + DAY_S),  # the end of that day, wherever
        ("unavailable_after: never", None),
        ("noindex", None),
        ("unavailable_after: " + "," * 100_000, None),
    ],
)
def test_end_of_a_page_is_read_in_both_spellings(directives: str, at_s: float | None) -> None:
    assert unavailable_after(directives) == at_s
