"""The page in a real browser: what it shows, who may act, keyboard, phone, accessibility; a quiet console."""

import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from gcs.core.helpers.access import Role
from gcs.core.messages.tuples import Account, Control, CrawlState, Member, MemberState, PlanNote
from gcs.core.report.counters import Counters
from gcs.core.report.report import Share
from gcs.roles.station.station import ListenAddress
from tests.browsing import WIDTHS, browsing, judge, open_page
from tests.roles.station.stage import EVIL, TOKENS, Target, in_thread


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with in_thread() as target:
        yield target


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """Filled by the pages of the test; must be empty at its end."""
    found: list[str] = []
    yield found
    assert not found


def see(browser: Any, target: Target, complaints: list[str], role: Role | None = None, **options: Any) -> Any:
    key = f"#token={TOKENS[role]}" if role else ""
    page = open_page(browser, f"{target.at.url}/{key}", complaints, **options)
    page.wait_for_selector("#team tbody tr")
    page.wait_for_selector("#treemap .tile")
    return page


def test_page_shows_every_value(browser, target, complaints):
    page = see(browser, target, complaints)
    assert page.inner_text("#crawl") == "test" and page.inner_text("#state") == "running"
    assert page.inner_text("#explored") == "50 %"
    assert page.inner_text("#eta") == "at least 29 s left"
    assert page.inner_text("#why") == "limited by 2 hosts at 1 page/s each (--delay 1)"
    assert [row.inner_text().split()[0] for row in page.query_selector_all("#team tbody tr")] == ["g0", "g1"]
    assert "a.org/x" in page.inner_text("#treemap") and "b.org/y" in page.inner_text("#treemap")
    assert page.inner_text("#links tbody tr:nth-child(1)").split() == ["g0", "·", "5"]
    assert "40 % of the work moved" in page.inner_text("#rebalances")
    assert "lab@1" in page.inner_text("#helpers") and "berlin" in page.inner_text("#helpers")
    assert "c.org" in page.inner_text("#errors") and "timeout 6" in page.inner_text("#kinds")
    assert page.locator("#rate-chart polyline").count() == 1 and page.locator("#queue-chart polyline").count() == 2


def test_page_shows_what_strangers_wrote_as_text(browser, target, complaints):
    page = see(browser, target, complaints)
    assert EVIL in page.inner_text("#pages")
    assert page.locator("#pages script").count() == 0
    assert page.get_attribute("#pages a >> nth=0", "rel") == "noopener noreferrer nofollow"


def test_page_says_how_long_ago_it_was_though_nothing_happens(browser, target, complaints):
    """And its line of time goes on to now; a dot stays the dot that a pointer is over."""
    page = see(browser, target, complaints)
    for place in ("#pages [data-ago]", "#errors li > :last-child", "#timeline text:last-of-type"):
        said = page.text_content(f"{place} >> nth=0")
        page.wait_for_selector(f'{place}:not(:text-is("{said}"))')
    page.hover("#timeline circle >> nth=0")
    page.wait_for_selector("#tip:not([hidden])")
    ends = page.text_content("#timeline text:last-of-type")
    page.wait_for_selector(f'#timeline text:last-of-type:not(:text-is("{ends}"))')
    page.hover("#crumbs")
    page.wait_for_selector("#tip", state="hidden")


def test_page_lets_nobody_act_without_a_token_and_keeps_it_out_of_the_address(browser, target, complaints):
    page = see(browser, target, complaints)
    assert all(page.is_disabled(f"#{name}") for name in ("pause", "rebalance", "add-seeds", "stop"))
    page = see(browser, target, complaints, Role.CONTROL)
    page.wait_for_selector("#pause:not([disabled])")
    assert "token" not in page.url and page.inner_text("#key") == "Sign out"
    page.reload()
    page.wait_for_selector("#pause:not([disabled])")
    page.click("#key")
    page.wait_for_selector("#pause[disabled]")


def test_page_asks_for_a_token_outside_loopback(browser):
    complaints: list[str] = []
    with in_thread(ListenAddress("0.0.0.0", 0)) as target:
        page = open_page(browser, target.at.url, complaints)
        page.wait_for_selector("#banner:not([hidden])")
        assert "Sign in" in page.inner_text("#banner") and page.locator("#team tbody tr").count() == 0
        page.click("#key")
        page.fill("#key-text", "wrong")
        page.click("#key-send")
        page.wait_for_selector("#key-error:not(:empty)")
        page.fill("#key-text", TOKENS[Role.VIEW])
        page.click("#key-send")
        page.wait_for_selector("#team tbody tr")
        assert page.is_hidden("#banner") and page.is_disabled("#pause")
        page.close()
    assert [each for each in complaints if "401" not in each] == []  # the browser itself notes every refusal


def test_page_follows_the_board(browser, target, complaints):
    page = see(browser, target, complaints, Role.CONTROL)
    target.put(Control(CrawlState.PAUSED, "somebody else"))
    page.wait_for_selector("#state[data-state=paused]")
    assert page.inner_text("#pause") == "Resume"
    target.put(Control(CrawlState.RUNNING, "somebody else"))
    page.wait_for_selector("#state[data-state=running]")
    page.click("#pause")
    page.wait_for_selector("#state[data-state=paused]")
    page.click("#pause")
    page.wait_for_selector("#state[data-state=running]")


def test_page_tells_why_a_seed_is_refused(browser, target, complaints):
    page = see(browser, target, [], Role.CONTROL)
    page.wait_for_selector("#add-seeds:not([disabled])")
    page.click("#add-seeds")
    page.fill("#seeds-text", "ftp://a.org/")
    page.click("#seeds-send")
    page.wait_for_selector("#seeds-error:has-text('not an http')")
    page.fill("#seeds-text", "new.example.org")
    page.click("#seeds-send")
    page.wait_for_selector(".toast:has-text('https://new.example.org/')")
    assert not page.is_visible("#seeds-dialog")


def test_page_can_be_used_by_keyboard(browser, target, complaints):
    page = see(browser, target, complaints, Role.CONTROL)
    page.wait_for_selector("#pause:not([disabled])")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        if reached[-1].startswith("tile"):
            break
    assert {"skip", "pause", "rebalance", "add-seeds", "stop", "key", "theme"} <= set(reached)
    name = page.evaluate("document.activeElement.dataset.name")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#crumbs [aria-current]:has-text('{name}')")
    page.keyboard.press("Escape")
    page.wait_for_selector("#crumbs [aria-current]:has-text('the web')")
    page.focus("#stop")
    page.keyboard.press("Enter")
    assert page.is_visible("#stop-dialog")
    page.keyboard.press("Escape")
    assert not page.is_visible("#stop-dialog")


def test_page_theme_is_chosen_and_kept(browser, target, complaints):
    page = see(browser, target, complaints, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) == light
    page.click("#theme")
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark


def test_page_shows_what_moved_and_folds_what_did_not(browser, complaints):
    """What moved last is open; plans in a row that moved nothing are one row; the time line tells what a dot is."""
    with in_thread() as target:
        for epoch in (3, 4, 5):
            target.put(PlanNote(epoch, time.time() - 15 + epoch, "survey", 2, ["g0", "g1"], committed_at=time.time()))
        page = see(browser, target, complaints)
        rows = [row.inner_text().split("\n") for row in page.query_selector_all("#rebalances > li")]
        assert [(row[0], row[1]) for row in rows] == [
            ("3–5", "survey · nothing moved"),
            ("2", "idle: g1 · 40 % of the work moved"),
            ("1", "first plan · nothing moved"),
        ]
        assert "g0 → g1: 1 range" in page.inner_text("#rebalances") and "b.org" in page.inner_text("#rebalances")
        page.locator("#timeline circle").first.hover()
        assert "Plan 2" in page.inner_text("#tip") and "g0 → g1: 1 range" in page.inner_text("#tip")
        page.close()


@pytest.mark.parametrize(("state", "word"), [(CrawlState.RUNNING, "Pause"), (CrawlState.PAUSED, "Resume")])
def test_page_keeps_its_orders_on_one_line_on_a_phone(browser, complaints, state, word):
    with in_thread() as target:
        target.put(Control(state, "you"))
        page = see(browser, target, complaints, Role.CONTROL, viewport={"width": WIDTHS[0], "height": 900})
        page.wait_for_selector(f"#pause:has-text('{word}'):not([disabled])")
        orders = ("pause", "rebalance", "add-seeds", "stop")
        assert len({page.locator(f"#{name}").bounding_box()["y"] for name in orders}) == 1
        page.close()


def test_page_names_the_day_of_what_is_older_than_one(browser, complaints):
    with in_thread() as target:
        at = time.time() - 3 * 86400
        target.put(PlanNote(1, at, "first", 1, ["g0", "g1"], committed_at=at))
        page = see(browser, target, complaints, timezone_id="UTC")
        recent, old = (row.inner_text() for row in page.query_selector_all("#rebalances .when"))
        day = time.strftime("%d %b", time.gmtime(at)).lstrip("0")
        assert old.startswith(day) and not recent.startswith(day)
        page.close()


def test_page_shows_how_it_ended_and_offers_nothing_more(browser, complaints):
    with in_thread() as target:
        page = see(browser, target, complaints, Role.CONTROL)
        for name, pages in (("g0", 95), ("g1", 75)):
            share = Share(name, Counters(pages=pages, size_bytes=pages), pages, 0, pages, 1.0, epoch=2)
            target.put(Account(name, msgspec.msgpack.encode(share)))
            target.put(Member(name, "run", state=MemberState.GONE))
        target.put(Control(CrawlState.DONE, "g1"))
        page.wait_for_selector("#state[data-state=done]")
        assert (page.inner_text("#explored"), page.inner_text("#eta")) == ("100 %", "finished")
        assert "170" in page.inner_text("#figures") and page.locator("#team tr.gone").count() == 2
        assert "on average" in page.inner_text("#figures"), "the rate of the last second is over"
        assert page.locator("#treemap .tile").count() >= 2
        assert all(page.is_disabled(f"#{name}") for name in ("pause", "rebalance", "add-seeds", "stop"))
        page.close()


def test_page_before_the_crawl_says_what_to_do(browser, complaints):
    with in_thread(empty=True) as target:
        page = open_page(browser, f"{target.at.url}/#token={TOKENS[Role.CONTROL]}", complaints)
        page.wait_for_selector("#team-empty:has-text('gcs gatherer')")
        page.wait_for_selector("#key:has-text('Sign out')")
        assert (page.inner_text("#explored"), page.inner_text("#eta")) == ("–", "not started")
        assert all(page.is_disabled(f"#{name}") for name in ("pause", "rebalance", "add-seeds", "stop"))
        assert judge(page) == []
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_page_is_readable_and_accessible(browser, target, complaints, width, scheme, tmp_path):
    page = see(browser, target, complaints, Role.CONTROL, color_scheme=scheme, viewport={"width": width, "height": 900})
    page.wait_for_selector("#pause:not([disabled])")
    assert page.evaluate("document.documentElement.scrollWidth") <= width  # nothing hangs over the edge
    page.screenshot(path=tmp_path / f"{scheme}-{width}.png", full_page=True)
    assert judge(page) == []
    if width == WIDTHS[0]:
        page.click("#add-seeds")
        page.wait_for_selector("#seeds-dialog[open]")
        assert judge(page) == []
