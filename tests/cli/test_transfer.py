"""`gcs export --changed` and `gcs merge`: a central place gets what has changed, and ends with all that there is."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from gcs.core.page.values import PageRecord
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.transfer.transfer_form import TransferHead

Run = Callable[..., Any]
SPEC = FakeWebSpec.plain(hosts=6, pages=200, html_bytes=8_000, validators=True, changed_share=0.1, added_share=0.02)


def records(directory: Path) -> list[PageRecord]:
    """All rows, in an order that does not depend on where they lie; times as Parquet keeps them."""
    found = [msgspec.structs.replace(each, fetched_at=round(each.fetched_at, 6)) for each in read_records(directory)]
    return sorted(found, key=lambda each: (each.session, each.url, each.gatherer, each.fetched_at))


@pytest.fixture
def crawled(gcs: Run, tmp_path: Path) -> Any:
    """Crawls a session of a web that changes, by a team; returns the number of its records."""
    with FakeWebProcess(SPEC) as web:

        def session(number: int, *flags: str) -> int:
            web.set_session(number)
            again = ("--next",) if number > 1 else (*web.seeds, "-n", "2", "--coordination", "hash")
            done = gcs("crawl", *again, "-o", "docs", *flags, "--set", "team.hash_by=url", quick=True)
            assert done.code == 0, done.err
            return len(records(tmp_path / "docs"))

        yield session


def sent(call: Run, file: str, *flags: str) -> int:
    done = call("export", "docs", "--changed", *flags, "-o", file, "--json")
    assert done.code == 0, done.err
    return int(json.loads(done.out)["records"])


def test_transfers_one_after_the_other_restore_everything(crawled: Any, call: Run, tmp_path: Path) -> None:
    first = crawled(1)
    assert sent(call, "1") == first
    assert sent(call, "2") == 0
    second = crawled(2)
    assert sent(call, "3") == second - first
    third = crawled(3)
    assert sent(call, "4") == third - second
    for number in "1234":
        done = call("merge", "central", number)
        assert done.code == 0, done.err
    assert records(tmp_path / "central") == records(tmp_path / "docs")
    for place in ("docs", "central"):
        assert call("export", place, "--latest", "--fields", "url,text,title,digest", "-o", f"{place}.jsonl").code == 0
    here, there = (sorted((tmp_path / f"{place}.jsonl").read_text().splitlines()) for place in ("docs", "central"))
    assert here == there
    # what has changed is a small part of all, however well all is compressed
    everything = len(gzip.compress(b"".join(map(msgspec.msgpack.encode, records(tmp_path / "docs"))), 9))
    sizes = [(tmp_path / number).stat().st_size for number in "1234"]
    assert max(sizes[2:]) < 0.4 * sizes[0] < sizes[0] < everything


def test_all_since_a_session_for_a_place_that_has_the_sessions_before(crawled: Any, call: Run, tmp_path: Path) -> None:
    first = crawled(1)
    sent(call, "1")
    second = crawled(2)
    sent(call, "lost")
    assert sent(call, "again", "2") == second - first
    assert call("merge", "central", "1", "again").code == 0
    assert records(tmp_path / "central") == records(tmp_path / "docs")
    refused = call("merge", "central", "lost")
    assert refused.code == 2 and "apply them in order" in refused.err
    assert sent(call, "all", "1") == second
    refused = call("merge", "central", "all")
    assert refused.code == 2 and "sends all since then again" in refused.err
    assert call("merge", "new", "all").code == 0
    assert records(tmp_path / "new") == records(tmp_path / "docs")


def test_a_transfer_may_be_applied_again_and_none_may_be_left_out(crawled: Any, call: Run, tmp_path: Path) -> None:
    crawled(1)
    sent(call, "1")
    crawled(2)
    sent(call, "2")
    refused = call("merge", "central", "2")
    assert refused.code == 2 and "has had none: apply them in order" in refused.err
    for number in ("1", "1", "2", "2"):
        assert call("merge", "central", number).code == 0
    assert records(tmp_path / "central") == records(tmp_path / "docs")
    (tmp_path / "central" / "state" / "transfer").write_bytes(
        (tmp_path / "central" / "state" / "transfer").read_bytes()
    )


def test_summary_leaves_out_texts_and_links(crawled: Any, call: Run, tmp_path: Path) -> None:
    crawled(1)
    sent(call, "1", "--summary")
    crawled(2)
    sent(call, "2", "--summary")
    assert call("merge", "central", "1", "2").code == 0
    there, here = records(tmp_path / "central"), records(tmp_path / "docs")
    blank = {"text": "", "markdown": "", "outlinks": [], "anchors": [], "rels": [], "requisites": [], "headers": []}
    blank |= {"thumbnail": "", "usage_raw": ""}
    assert there == [msgspec.structs.replace(each, **blank) for each in here]
    assert any(each.summary or each.title for each in there)
    refused = call("export", "docs", "--changed", "-o", "3")
    assert refused.code == 2 and "was a summary" in refused.err


def test_what_is_no_transfer_or_a_damaged_one_is_refused(crawled: Any, call: Run, tmp_path: Path) -> None:
    crawled(1)
    sent(call, "1")
    good = (tmp_path / "1").read_bytes()
    strange = zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(TransferHead("a", "b", 1)))
    for bad in (b"", b"no transfer", good[: len(good) // 2], good[:400] + b"?" + good[401:], strange):
        (tmp_path / "bad").write_bytes(bad)
        refused = call("merge", "central", "bad")
        assert refused.code != 0 and "bad is damaged, or no transfer" in refused.err, refused
    assert not list((tmp_path / "central").glob("summaries/*.parquet"))
    assert call("export", "docs", "--changed").code == 2
    assert call("export", "docs", "--changed", "soon", "-o", "x").code == 2
