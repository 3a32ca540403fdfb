"""Quarantine: what is believed of a stranger, and when it is cut off."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.helpers.page_compare import PageView
from gcs.core.helpers.trust import Quarantine, TrustSettings, Verdict
from gcs.errors import SettingsError

#: what we find: a page, none, or (a word) another answer
Sight = PageView | str | None
SETTINGS = TrustSettings(share=0.1, probation=3, lot_pages=20, lot_s=3.0, check_s=60.0, lies=2)


def page(url: str) -> PageView:
    return PageView(frozenset({f"sha1:{url}"}), frozenset({f"{url}/1", f"{url}/2"}), url)


def lie(url: str) -> PageView:
    return PageView(frozenset({f"sha1:{url}"}), frozenset({"http://evil.test/"}), url)


def test_quarantine_has_room_for_so_much_and_again_when_it_is_judged():
    quarantine: Quarantine[str] = Quarantine(TrustSettings(held_mb=1.0, probation=2), Random(1))
    for number in range(2):
        assert quarantine.has_room(400_000)
        quarantine.hold("anna", f"http://a.test/{number}", page(f"http://a.test/{number}"), "", 0.0, 400_000)
    assert not quarantine.has_room(400_000)
    assert quarantine.has_room(200_000)
    drawn, _ = quarantine.tick(0.0)
    assert len(drawn) == 2
    assert not quarantine.has_room(400_000), "they are there until we have looked at them"
    quarantine.looked("http://a.test/0", page("http://a.test/0"))
    assert quarantine.has_room(400_000)


class Trial:
    """A helper that brings pages, and a gatherer that looks at what is drawn; every page leaves once."""

    def __init__(self, settings: TrustSettings = SETTINGS, seed: int = 1) -> None:
        self.quarantine: Quarantine[str] = Quarantine(settings, Random(seed))
        self.now = 0.0
        self.brought = 0
        self.believed: list[str] = []
        self.refused: list[str] = []
        self.fetched: list[str] = []
        self.caught = 0
        self.cut_off = False

    def bring(self, pages: int, tell: Callable[[str], PageView] = page, see: Callable[[str], Sight] = page) -> None:
        for _ in range(pages):
            if self.cut_off:
                return
            self.brought += 1
            url = f"http://a.test/{self.brought}"
            self.quarantine.hold("anna", url, tell(url), url, self.now)
            self.tick(see)

    def tick(self, see: Callable[[str], Sight] = page) -> None:
        drawn, verdicts = self.quarantine.tick(self.now)
        for verdict in verdicts:
            self._take(verdict)
        for url in drawn:
            self.fetched.append(url)
            while self.quarantine.is_drawn(url):
                seen = see(url)
                answered = isinstance(seen, str)
                verdict = self.quarantine.unseen(url, True) if answered else self.quarantine.looked(url, seen)
                self._take(verdict)
                if not verdict.again:
                    break

    def _take(self, verdict: Verdict[str]) -> None:
        self.believed += verdict.believed
        self.refused += verdict.refused
        self.caught += bool(verdict.lie)
        self.cut_off |= verdict.cut_off

    def end(self, see: Callable[[str], Sight] = page) -> None:
        self.now += SETTINGS.lot_s
        self.tick(see)


def test_honest_helper_is_believed_but_for_what_is_drawn() -> None:
    trial = Trial()
    trial.bring(203)
    trial.end()
    assert len(trial.fetched) == 3 + 20  # the probation, then two of each twenty
    assert len(trial.believed) == 180
    assert not trial.refused and not trial.caught


def test_helper_that_always_lies_has_nothing_believed() -> None:
    trial = Trial()
    trial.bring(100, tell=lie)
    assert trial.cut_off and trial.caught == SETTINGS.lies
    assert not trial.believed
    assert trial.brought == 6


def test_helper_that_turns_liar_loses_the_lot() -> None:
    trial = Trial()
    trial.bring(63)
    believed = len(trial.believed)
    trial.bring(100, tell=lie)
    assert trial.cut_off
    assert len(trial.believed) == believed
    assert len(trial.refused) == 18  # of the first false lot; then it is on probation again, and all are fetched


@given(st.integers(0, 2**32), st.sampled_from([0.05, 0.2, 0.5]), st.integers(0, 50))
def test_every_page_leaves_once(seed: int, lying: float, last: int) -> None:
    """As believed, refused or fetched; no lie is believed from a lot in which one was drawn."""
    trial, chance = Trial(seed=seed), Random(seed)
    trial.bring(50 + last, tell=lambda url: lie(url) if chance.random() < lying else page(url))
    trial.end()
    left = trial.quarantine.clear()
    assert not len(trial.quarantine)
    everything = [*trial.believed, *trial.refused, *trial.fetched, *left]
    assert sorted(everything) == sorted(f"http://a.test/{n + 1}" for n in range(trial.brought))


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("lying", [0.02, 0.2])
def test_lies_that_are_believed_stay_under_the_bound(share: float, lying: float) -> None:
    """On average over helpers that behave well through the probation, and then lie now and then."""
    settings = TrustSettings(share=share, probation=3, lies=2)
    believed = 0
    for seed in range(60):
        trial, chance = Trial(settings, seed), Random(seed)
        trial.bring(3)
        lies: set[str] = set()

        def tell(url: str, chance: Random = chance, lies: set[str] = lies) -> PageView:
            if chance.random() < lying:
                lies.add(url)
                return lie(url)
            return page(url)

        trial.bring(3000, tell=tell)
        assert trial.cut_off
        believed += len(lies.intersection(trial.believed))
    assert believed / 60 <= settings.lies * (1 - share) / share


@pytest.mark.parametrize("lying", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("moved", [False, True])
def test_lies_that_leave_us_unsure_are_a_small_share_of_what_is_believed(lying: float, moved: bool) -> None:
    """As if the page had changed since, or of a URL that sends us elsewhere: it accuses nobody, but we look at more."""
    brought = believed = 0
    for seed in range(8):
        trial, chance = Trial(seed=seed), Random(seed)
        lies: set[str] = set()

        def tell(url: str, chance: Random = chance, lies: set[str] = lies) -> PageView:
            if chance.random() >= lying:
                return page(url)
            lies.add(url)
            return PageView(frozenset({"sha1:x"}), page(url).links | {"http://evil.test/"}, url)

        def see(url: str, lies: set[str] = lies) -> PageView | str:
            return "moved" if moved and url in lies else page(url)

        trial.bring(3000, tell=tell, see=see)
        assert not trial.cut_off
        brought += trial.brought
        believed += len(lies.intersection(trial.believed))
    assert believed / brought <= SETTINGS.share / 4


def test_all_are_looked_at_where_the_share_is_one() -> None:
    trial = Trial(TrustSettings(share=1.0))
    trial.bring(40)
    assert not trial.believed and len(trial.fetched) == 40 - len(trial.quarantine)


def test_page_that_changes_from_look_to_look_accuses_nobody() -> None:
    """But its lot is not believed."""
    looks = iter(range(1000))

    def see(url: str) -> PageView:
        return PageView(frozenset({f"sha1:{next(looks)}"}), frozenset({f"{url}/{next(looks)}"}), str(next(looks)))

    trial = Trial()
    trial.bring(30, tell=page, see=see)
    assert not trial.caught and not trial.cut_off and not trial.believed
    assert trial.quarantine.evidence["anna"].unsure


def test_page_that_is_not_there_is_a_lie() -> None:
    trial = Trial()
    trial.bring(30, see=lambda _: None)
    assert trial.cut_off and not trial.believed


def test_lot_is_closed_by_age_and_given_up_when_nobody_looks() -> None:
    trial = Trial()
    trial.bring(2)
    assert trial.quarantine.next_at() == SETTINGS.lot_s
    drawn, _ = trial.quarantine.tick(SETTINGS.lot_s)
    assert len(drawn) == 2
    assert trial.quarantine.next_at() == SETTINGS.lot_s + SETTINGS.check_s
    _, verdicts = trial.quarantine.tick(SETTINGS.lot_s + SETTINGS.check_s)
    assert [verdict.believed for verdict in verdicts] == [()]
    assert not trial.quarantine.is_drawn(drawn[0]) and trial.quarantine.next_at() is None


def test_look_that_failed_says_nothing() -> None:
    trial = Trial()
    trial.bring(3)
    for number in range(20):
        trial.quarantine.hold("anna", f"u{number}", page("u"), f"u{number}", 0.0)
    drawn, _ = trial.quarantine.tick(0.0)
    verdict = trial.quarantine.unseen(drawn[0])
    assert len(verdict.refused) == 18 and not verdict.lie
    assert trial.quarantine.evidence["anna"].false == 0


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_share_must_be_one(share: float) -> None:
    with pytest.raises(SettingsError, match=r"trust\.share"):
        TrustSettings(share=share)


STATES = [PageView(frozenset({f"sha1:{n}"}), frozenset(f"l{i}" for i in range(40)) - {f"l{n}"}, "t") for n in range(4)]


def verdict(claim: PageView, *looks: PageView) -> tuple[int, int, int]:
    """Of one drawn page: true, false, unsure."""
    trial = Trial(TrustSettings(probation=1))
    seen = iter(looks)
    trial.bring(1, tell=lambda _: claim, see=lambda _: next(seen))
    evidence = trial.quarantine.evidence["anna"]
    assert next(seen, None) is None
    return evidence.true, evidence.false, evidence.unsure


def test_page_that_changed_is_judged_by_how_much_it_changes() -> None:
    one, two, three, _ = STATES
    assert verdict(one, one) == (1, 0, 0)
    assert verdict(one, two, one) == (1, 0, 0)  # it has two states
    assert verdict(one, two, three) == (1, 0, 0)  # no two looks are the same, and no more so than ours
    evil = PageView(frozenset({"sha1:x"}), one.links | {f"evil{n}" for n in range(8)}, "t")
    assert verdict(evil, two, three) == (0, 0, 1)  # too much of a change, but a change it may be
    assert verdict(evil, two, two) == (0, 0, 1)
    assert verdict(PageView(frozenset({"sha1:x"}), two.links, "t"), two, two) == (
        0,
        0,
        1,
    )  # other bytes than all others see
    assert verdict(PageView(one.digests, evil.links, "t"), one) == (0, 1, 0)  # of these bytes we know
    assert verdict(PageView(frozenset({"sha1:x"}), frozenset({"evil"}), "t"), two, three) == (0, 1, 0)
