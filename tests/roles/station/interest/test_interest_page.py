"""Search and profiles on the page, in a real browser: by keyboard, on a phone, with what strangers wrote as text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs.core.helpers.access import Role
from gcs.core.watch.profile import Match
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store
from gcs.ports.search.index_follower import IndexFollower
from gcs.ports.search.index_place import make_index
from gcs.ports.watch.watch_store import WatchStore
from tests.browsing import WIDTHS, browsing, judge, open_page
from tests.ports.records.pages import record
from tests.roles.station.stage import EVIL, TOKENS, Target, in_thread


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as browser:
        yield browser


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with Store.open(tmp_path, StoreSettings(), "g0") as store:
        for number in range(25):
            text = f"red thing number {number} \N{PILE OF POO} {EVIL} red"
            kind = "application/pdf" if number % 5 == 0 else "text/html"
            url = f"http://{'ab'[number % 2]}.example/{number}"
            store.add_page(record(url, title=f"{EVIL} {number}", text=text, content_type=kind, simhash=7 << 2 * number))
        store.flush()
    follower = IndexFollower([tmp_path], tmp_path, make_index(tmp_path / "index", "sqlite"))
    while follower.step(hurry=True):
        pass
    follower.close()
    return tmp_path


@pytest.fixture
def target(place: Path) -> Iterator[Target]:
    with in_thread(place=place) as target:
        yield target


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    found: list[str] = []
    yield found
    assert not found


def see(browser: Any, target: Target, complaints: list[str], view: str, **options: Any) -> Any:
    page = open_page(browser, f"{target.at.url}/#token={TOKENS[Role.CONTROL]}", complaints, **options)
    page.wait_for_selector("#views a")
    page.goto(f"{target.at.url}/#/crawl/test/{view}")
    return page


def test_page_searches_narrows_and_goes_on(browser: Any, target: Target, complaints: list[str]) -> None:
    page = see(browser, target, complaints, "search")
    page.fill("input[type=search]", "red")
    page.keyboard.press("Enter")
    page.wait_for_selector(".result")
    assert page.inner_text("#found") == "25 pages found, 1 to 10 shown"
    assert page.locator(".result mark").first.inner_text() == "red" and EVIL in page.inner_text(".results")
    page.click("text=More")
    page.wait_for_selector("text=11 to 20 shown")
    page.click(".facet >> text=pdf")
    page.wait_for_selector("text=5 pages found")
    page.reload()
    page.wait_for_selector("text=5 pages found")
    page.click("text=Tell me of new ones")
    page.wait_for_selector(".profile-form")
    assert 'type:"pdf"' in page.input_value("input[name=query]")


def test_page_says_what_is_wrong_with_a_query(browser: Any, target: Target) -> None:
    page = see(browser, target, [], "search?q=%22")  # the browser itself tells of the 400 on its console
    page.wait_for_selector("[role=alert]")
    assert "without its end" in page.inner_text("[role=alert]")


def test_profile_is_added_on_the_page_and_its_matches_arrive(
    browser: Any, target: Target, place: Path, complaints: list[str]
) -> None:
    page = see(browser, target, complaints, "profiles")
    page.fill("input[name=name]", "news")
    page.fill("input[name=query]", "red")
    page.fill("input[name=webhook]", "https://hooks.example/x")
    page.keyboard.press("Enter")
    page.wait_for_selector(".profile >> text=news")
    assert "whsec_" in page.inner_text(".profile-form [role=status]")
    with WatchStore(place) as store:
        made = Match("id1", "news", "changed", "http://a.example/1", EVIL, EVIL, "en", 1, 5.0, 1, 1, "- blue\n+ red")
        store.commit([made], [], {}, 10.0)
    page.wait_for_selector("#matches .result")
    told = page.inner_text("#matches")
    assert EVIL in told and "+ red" in told and "news · changed" in told
    assert page.locator("#matches ins").inner_text().strip() == "+ red"
    page.click("text=Remove")
    page.wait_for_selector("text=No profiles yet.")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("view", ["search?q=red", "profiles"])
def test_views_are_readable_and_accessible(
    browser: Any, target: Target, place: Path, complaints: list[str], view: str, width: int
) -> None:
    page = see(browser, target, complaints, view, viewport={"width": width, "height": 900})
    page.wait_for_selector(".result" if "red" in view else ".profile-form")
    assert judge(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
