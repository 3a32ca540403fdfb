"""From a stored record to matches: which events, against what the page said before, under which ids."""

import pytest

from gcs.core.page.values import PageRecord
from gcs.core.search.searchable import Searchable
from gcs.core.watch.atom import atom_feed
from gcs.core.watch.page_matches import Profiles
from gcs.core.watch.profile import Match, Profile
from gcs.core.watch.push_target import PushTarget
from gcs.core.watch.signature import key_of, make_secret, signed_headers
from gcs.errors import UsageError


def stored(change: str, text: str = "", session: int = 2) -> PageRecord:
    status = 404 if change == "gone" else 200
    failure = "http-404" if change == "gone" else ""
    return PageRecord(
        url="http://a.example/1", parent="", depth=0, status=status, fetched_at=1.0, gatherer="g0", failure=failure,
        change=change, text=text, session=session, content_type="text/html",
    )  # fmt: skip


def found(profiles: list[Profile], record: PageRecord, past: str | None = None) -> list[Match]:
    made = Profiles()
    made.replace([profile.check() for profile in profiles])
    before = None if past is None else Searchable(record.url, "a.example", "", past)
    return list(made.matches(record, Searchable.of(record, 20240101), before))


def test_events_that_were_asked_for() -> None:
    profiles = [Profile("news", "red"), Profile("gone", "red", ("gone",)), Profile("blue", "blue")]
    assert [match.profile for match in found(profiles, stored("new", "red"))] == ["news"]
    assert [match.profile for match in found(profiles, stored("changed", "red"), "x")] == ["news"]
    assert [match.profile for match in found(profiles, stored("gone"), "red")] == ["gone"]
    assert found(profiles, stored("same", "red"), "red") == []
    assert found(profiles, stored("gone"), None) == []


def test_least_words_and_diff() -> None:
    profiles = [Profile("many", "red", least_words=3), Profile("diff", "red", with_diff=True)]
    (match,) = found(profiles, stored("changed", "red blue"), "red green")
    assert (match.profile, match.words_added, match.words_removed) == ("diff", 1, 1)
    assert match.diff == "- red green\n+ red blue"
    assert [each.profile for each in found(profiles, stored("changed", "red a b c"), "red")] == ["diff", "many"]


def test_page_that_lost_its_word_is_told_of_by_those_who_know_what_it_said() -> None:
    profiles = [Profile("plain", "red"), Profile("diff", "red", with_diff=True)]
    assert [match.profile for match in found(profiles, stored("changed", "blue"), "red")] == ["diff"]


def test_ids_are_the_same_when_a_page_comes_again_and_differ_else() -> None:
    one = found([Profile("a", "red"), Profile("b", "red")], stored("new", "red"))
    assert [match.id for match in one] == [
        match.id for match in found([Profile("a", "red"), Profile("b", "red")], stored("new", "red"))
    ]
    assert one[0].id != one[1].id != found([Profile("b", "red")], stored("changed", "red", 3))[0].id


@pytest.mark.parametrize(
    "profile",
    [
        *(Profile(name, "red") for name in ("", "../x", "a b", "A", "x" * 65)),
        Profile("a", ""),
        Profile("a", "red", ("often",)),
        Profile("a", "red", ()),
        Profile("a", "red", least_words=-1),
    ],
)
def test_profile_that_cannot_be_is_refused(profile: Profile) -> None:
    with pytest.raises(UsageError):
        profile.check()


def test_receivers_show_no_secret() -> None:
    for address in (
        "https://user:pass@hooks.example/secret-path?token=t0ken",
        "smtp://user:pass@mail.example:587/?to=me@example.org&every=60",
        "rediss://:pass@redis.example/0?stream=s",
    ):
        target = PushTarget.parse(address)
        for secret in ("pass", "user", "secret-path", "t0ken"):
            assert secret not in target.shown and secret not in target.key
    assert PushTarget.parse("smtp://h/?to=a@b&every=60").every_s == 60
    for bad in ("ftp://h/x", "https://", "smtp://h/", "hook", "http://h/\n", "http://[", "smtp://h/?to=a&every=x"):
        with pytest.raises(UsageError, match="--push"):
            PushTarget.parse(bad)


def test_signature_is_that_of_the_standard() -> None:
    """The example of the specification of Standard Webhooks."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    headers = signed_headers(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert key_of(make_secret(bytes(range(32)))) == bytes(range(32))
    with pytest.raises(UsageError):
        key_of("whsec_short")


def test_feed_is_well_formed_whatever_pages_say() -> None:
    import xml.etree.ElementTree as ET

    match = Match(
        "1", "p", "new", 'http://a.example/?a=1&b="2"', "<b>\0&\ud800", "]]> \x07", "en", 1, 0.0, diff="+ <x>"
    )
    feed = atom_feed("p", "crawl & co", [match], ["2024-01-01T00:00:00Z"], "2025-01-01T00:00:00Z")
    root = ET.fromstring(feed)
    atom = "{http://www.w3.org/2005/Atom}"
    assert root.findtext(f"{atom}updated") == "2024-01-01T00:00:00Z"
    entry = root.find(f"{atom}entry")
    assert entry is not None and entry.find(f"{atom}link").attrib["href"] == match.url  # type: ignore[union-attr]
    assert entry.findtext(f"{atom}content") == "]]> \n\n+ <x>"
