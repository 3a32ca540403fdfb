"""Bulletins are written when they are due, and stay small whatever the crawl does."""

import msgspec
import pytest

from gcs.core.messages.codec import encode
from gcs.core.messages.tuples import SuperpagePatch
from gcs.core.page.values import PageRecord
from gcs.core.report.counters import Counters
from gcs.core.report.report import Share
from gcs.core.report.workload import Workload
from gcs.roles.gatherer.team import bulletin
from gcs.roles.gatherer.team.bulletin import BULLETIN_S, HOSTS, PAGES, TREE_S, TROUBLES, BulletinSource, BulletinWriter


def record(url: str, failure: str = "", text: str = "x", at: float = 5.0) -> PageRecord:
    return PageRecord(
        url=url, final_url=url, parent="", depth=1, status=0 if failure else 200, fetched_at=at,
        content_type="text/html", bytes=10, language="en", title=text, summary=text, text=text,
        outlinks=["http://a.org/"] * 3, gatherer="g", failure=failure,
    )  # fmt: skip


class Crawl:
    """The contents of a bulletin; counts how often the tree was sampled."""

    def __init__(self) -> None:
        self.samples = 0

    def work(self, epoch: int = 1) -> BulletinSource:
        share = Share("g", Counters(pages=3), 10, 7, 3, 0.3, work=Workload(10, 7, 3, (0.3, 0.1, 0.5)))
        return BulletinSource(epoch, lambda: share, {"h": 4}, self._sample)

    def _sample(self, most: int) -> list[SuperpagePatch]:
        self.samples += 1
        return [SuperpagePatch(b"", 10, 7, 3, [(b"a", 1.0)] * most)]


def test_bulletin_shows_pages_failures_and_links():
    writer, crawl = BulletinWriter("g"), Crawl()
    writer.recorded(record("http://a.org/1"), 0.25)
    writer.recorded(record("http://b.org/1", "timeout"), 0.0)
    writer.recorded(record("http://b.org/2", "http-404"), 0.0)
    shown = writer.bulletin(0.0, crawl.work())
    assert shown is not None and (shown.gatherer, shown.epoch, shown.sent) == ("g", 1, {"h": 4})
    assert [(page.url, page.elapsed_s, page.outlinks) for page in shown.recent] == [("http://a.org/1", 0.25, 3)]
    assert [(each.host, each.failed, each.kind) for each in shown.troubles] == [("b.org", 2, "http-404")]
    assert msgspec.msgpack.decode(shown.share, type=Share).counters.pages == 3
    assert shown.explored == (0.3, 0.1, 0.5)


def test_bulletin_is_written_when_due_and_the_tree_is_sampled_less_often():
    writer, crawl = BulletinWriter("g"), Crawl()
    assert writer.bulletin(0.0, crawl.work()) and crawl.samples == 1
    assert writer.bulletin(BULLETIN_S - 0.1, crawl.work()) is None
    assert writer.bulletin(BULLETIN_S, crawl.work()) and crawl.samples == 1
    assert writer.bulletin(BULLETIN_S * 2, crawl.work(epoch=2)) and crawl.samples == 2  # superpages have changed
    assert writer.bulletin(BULLETIN_S * 2 + TREE_S, crawl.work(epoch=2)) and crawl.samples == 3


def test_bulletin_is_bounded_whatever_is_crawled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bulletin, "HOSTS", 50)
    writer, crawl = BulletinWriter("g"), Crawl()
    for number in range(300):
        writer.recorded(record(f"http://h{number}.org/" + "x" * 9_000, text="y" * 9_000), 0.1)
        for _ in range(3 if number == 7 else 1):
            writer.recorded(record(f"http://h{number}.org/" + "x" * 9_000, "timeout"), 0.1)
    shown = writer.bulletin(0.0, crawl.work())
    assert shown is not None
    assert len(shown.recent) == PAGES and len(shown.troubles) == TROUBLES
    assert shown.troubles[0].host == "h7.org" and shown.troubles[0].failed == 3
    assert len(writer._failures) == 50 < HOSTS
    assert len(encode(shown)) < 60_000


def test_bulletin_shows_all_of_few_pages_and_a_spread_of_many():
    writer, crawl = BulletinWriter("g"), Crawl()
    for number in range(PAGES):
        writer.recorded(record(f"http://a.org/{number}"), 0.1)
    assert len(writer.bulletin(0.0, crawl.work()).recent) == PAGES
    for number in range(10_000):  # in ten seconds
        writer.recorded(record(f"http://a.org/{number}", at=10.0 + number / 1_000), 0.1)
    times = [page.fetched_at for page in writer.bulletin(BULLETIN_S, crawl.work()).recent]
    assert len(times) == PAGES and times == sorted(times)
    assert times[-1] > 20.0 - 2 * bulletin.PAGE_S and times[-1] - times[0] > 0.9 * BULLETIN_S - bulletin.PAGE_S
    writer.recorded(record("http://a.org/", at=3.0), 0.1)  # the clock was set back
    assert writer.bulletin(2 * BULLETIN_S, crawl.work()).recent[-1].fetched_at == 3.0


def test_bulletin_clips_texts_between_words():
    writer, crawl = BulletinWriter("g"), Crawl()
    writer.recorded(record("http://a.org/", text="word " * 400), 0.1)
    [glance] = writer.bulletin(0.0, crawl.work()).recent
    assert glance.summary.endswith("word…") and len(glance.summary) <= bulletin.SUMMARY_CHARACTERS + 1
    assert glance.title.endswith("word…")
