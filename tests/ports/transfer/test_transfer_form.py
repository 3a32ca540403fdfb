"""What goes of a record whose base the central place has."""

import random

import msgspec
import pytest

from gcs.core.page.values import PageRecord
from gcs.ports.transfer.transfer_form import difference, encoded, fields_of, record_of, restored

TEXT = " ".join(random.Random(1).choices([f"word{number}" for number in range(500)], k=2_000))
OLD = PageRecord(
    url="http://a.org/",
    parent="",
    depth=1,
    status=200,
    fetched_at=1_700_000_000.123456,
    gatherer="g1",
    text=TEXT,
    outlinks=[f"http://a.org/{number}" for number in range(300)],
    etag="one",
    session=1,
)
CHANGES = {
    "nothing": {},
    "a word": {"text": TEXT.replace("word7 ", "other ", 1), "etag": "two", "session": 2},
    "all": {"text": TEXT[::-1], "outlinks": [], "status": 404, "failure": "", "fields": "{}"},
    "a link more": {"outlinks": [*OLD.outlinks, "http://b.org/"]},
    "gone": {"text": "", "etag": "", "outlinks": []},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_summary", [False, True])
def test_record_comes_back_from_its_difference(change: str, is_summary: bool) -> None:
    new = msgspec.structs.replace(OLD, **CHANGES[change])
    base, row = encoded(OLD, is_summary), encoded(new, is_summary)
    told = msgspec.msgpack.decode(msgspec.msgpack.encode(difference(row, base)))
    back = record_of(restored(told, base))
    assert encoded(back, is_summary) == row
    if not is_summary:
        assert back == new
    else:
        assert (back.text, back.outlinks) == ("", [])


def test_difference_of_a_long_text_is_short() -> None:
    new = msgspec.structs.replace(OLD, **CHANGES["a word"])
    told = difference(encoded(new, False), encoded(OLD, False))
    assert set(told) == {"text", "etag", "session"}
    assert len(told["text"]) < len(TEXT) / 50
    assert difference(encoded(OLD, False), encoded(OLD, False)) == {}


def test_new_text_goes_as_it_is() -> None:
    """The stream compresses it beside the others."""
    new = msgspec.structs.replace(OLD, text=TEXT[::-1])
    assert difference(encoded(new, False), encoded(OLD, False)) == {"text": TEXT[::-1]}


def test_columns_of_a_later_version_are_left_out() -> None:
    fields = fields_of(encoded(OLD, False)) | {"of-a-later-version": 1}
    assert record_of(fields) == OLD
