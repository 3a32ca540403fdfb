"""The seal of a tuple."""

import pytest

from gcs.core.messages.codec import encode
from gcs.core.messages.seal import HEAD, MAC_BYTES, MARK, Seal, place_of
from gcs.core.messages.tuples import TUPLES, Control, CrawlState, Link, UrlBlock
from gcs.errors import SealError

KEY, OTHER = b"k" * 32, b"x" * 32
STREAM = "{gcs:crawl:g0}:urls"
BLOCK = encode(UrlBlock(3, [Link(f"http://a.example/{number}") for number in range(200)]))
HERE = place_of(STREAM, b"g1", b"7")


def test_sealed_tuple_is_read_with_the_same_key_at_the_same_place() -> None:
    assert Seal(KEY).open(Seal(KEY).close(BLOCK, HERE), HERE) == BLOCK
    assert Seal(KEY).close(BLOCK, HERE) == Seal(KEY).close(BLOCK, HERE)  # conditions on the board compare the bytes


def test_without_a_key_tuples_are_as_the_codec_makes_them() -> None:
    assert Seal().close(BLOCK, HERE) == BLOCK
    assert Seal().open(BLOCK, HERE) == BLOCK


@pytest.mark.parametrize(
    "place",
    [
        place_of("{gcs:other:g0}:urls", b"g1", b"7"),
        place_of("{gcs:crawl:g2}:urls", b"g1", b"7"),
        place_of("{gcs:crawl:g0}:finds", b"g1", b"7"),
        place_of(STREAM, b"g2", b"7"),
        place_of(STREAM, b"g1", b"8"),
        place_of(STREAM, b"g17", b""),
        place_of(STREAM),
    ],
)
def test_tuple_that_was_copied_to_another_place_is_refused(place: bytes) -> None:
    with pytest.raises(SealError, match="wrong seal"):
        Seal(KEY).open(Seal(KEY).close(BLOCK, HERE), place)


def test_bytes_cannot_be_moved_between_place_and_tuple() -> None:
    item = encode(Control(CrawlState.RUNNING))
    sealed = Seal(KEY).close(item, place_of("s", b"ab", b"1"))
    for sender, number in ((b"a", b"b1"), (b"ab1", b""), (b"", b"ab1")):
        with pytest.raises(SealError):
            Seal(KEY).open(sealed, place_of("s", sender, number))


def test_every_changed_byte_is_refused() -> None:
    sealed = Seal(KEY).close(encode(Control(CrawlState.RUNNING, "me")), HERE)
    for at in range(len(sealed)):
        with pytest.raises(SealError):
            Seal(KEY).open(sealed[:at] + bytes((sealed[at] ^ 1,)) + sealed[at + 1 :], HERE)
        with pytest.raises(SealError):
            Seal(KEY).open(sealed[:at], HERE)


def test_each_mixture_of_keys_says_what_to_do() -> None:
    with pytest.raises(SealError, match="this process has none: set GCS_SPACE_KEY"):
        Seal().open(Seal(KEY).close(BLOCK, HERE), HERE)
    with pytest.raises(SealError, match="has no seal"):
        Seal(KEY).open(BLOCK, HERE)
    with pytest.raises(SealError, match="another team key"):
        Seal(OTHER).open(Seal(KEY).close(BLOCK, HERE), HERE)


def test_hostile_bytes_are_refused() -> None:
    for data in (b"", HEAD, HEAD + bytes(MAC_BYTES), bytes(100), b"\xfe", b"\xff" * 50):
        with pytest.raises(SealError):
            Seal(KEY).open(data, HERE)


def test_mark_is_the_code_of_no_tuple() -> None:
    assert MARK not in {kind.code for kind in TUPLES}
