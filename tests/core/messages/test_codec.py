"""Round trips of every tuple type; other versions, other types and damage are told apart."""

import contextlib
from random import Random
from typing import get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.messages import tuples
from gcs.core.messages.codec import DEFLATE_BYTES, DEFLATED, decode, encode, pack, unpack
from gcs.core.messages.tuples import TUPLES, Control, CrawlState, HandOver, Link, Seeds, UrlBlock
from gcs.errors import CodecError

st.register_type_strategy(int, st.integers(-(1 << 63), (1 << 64) - 1))  # MessagePack has no longer ones
# hypothesis takes the factory of a default list for the default itself: name every field of the structs inside
for part in vars(tuples).values():
    if isinstance(part, type) and issubclass(part, msgspec.Struct) and part not in TUPLES and part.__struct_fields__:
        every_field = {
            name: st.from_type(hint) for name, hint in get_type_hints(part).items() if name in part.__struct_fields__
        }
        st.register_type_strategy(part, st.builds(part, **every_field))


@pytest.mark.parametrize("kind", TUPLES, ids=lambda kind: kind.name)
@settings(max_examples=25)
@given(data=st.data())
def test_codec_round_trip(kind, data):
    hints = get_type_hints(kind)
    item = kind(*(data.draw(st.from_type(hints[field])) for field in kind.__struct_fields__))
    payload = encode(item)
    assert encode(decode(payload)) == payload  # compared as bytes, since NaN does not equal itself
    assert repr(decode(payload)) == repr(item)


def test_codec_is_compact():
    block = UrlBlock(3, [Link(f"https://www.example.org/articles/{i:05d}.html") for i in range(100)])
    assert len(encode(block)) < len("".join(link.url for link in block.links)) / 3
    assert len(encode(Control(CrawlState.PAUSED))) < 16


def test_codec_deflates_only_what_becomes_smaller():
    short, long = Seeds(["http://a/"]), Seeds(["http://a/"] * DEFLATE_BYTES)
    noise = HandOver(1, b"", Random(1).randbytes(5000), True)
    assert encode(short)[1] == Seeds.version
    assert encode(long)[1] == Seeds.version | DEFLATED
    assert encode(noise)[1] == HandOver.version
    assert all(decode(encode(item)) == item for item in (short, long, noise))


def test_codec_reads_a_newer_writer_that_added_a_field_and_an_older_one_without():
    header = bytes((Control.code, Control.version))
    assert decode(header + msgspec.msgpack.encode(["paused", "me", "why", "detail", "added later", 5])) == Control(
        CrawlState.PAUSED, "me", "why", "detail"
    )
    assert decode(header + msgspec.msgpack.encode(["stopping"])) == Control(CrawlState.STOPPING)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no tuple: 0 bytes"),
        (b"\x01", "no tuple: 1 bytes"),
        (bytes((255, 1)) + b"\x90", "unknown tuple type 255"),
        (bytes((Seeds.code, 99)) + b"\x90", "seeds tuple of unknown version 99"),
        (bytes((Seeds.code, 99 | DEFLATED)) + b"\x90", "seeds tuple of unknown version 99"),
        (bytes((Seeds.code, 1)) + b"\x91\xa3abc", "damaged seeds tuple"),
        (bytes((Seeds.code, 1)) + b"\x91\x91\xa2\xff\xfe", "damaged seeds tuple"),
        (bytes((Seeds.code, 1 | DEFLATED)) + b"not deflated", "damaged seeds tuple"),
    ],
)
def test_codec_says_why_it_cannot_read(data, message):
    with pytest.raises(CodecError, match=message):
        decode(data)


@given(st.sampled_from(TUPLES), st.binary(max_size=60), st.booleans())
def test_codec_never_fails_in_another_way(kind, noise, deflated):
    data = bytes((kind.code, kind.version | (DEFLATED if deflated else 0))) + noise
    with contextlib.suppress(CodecError):
        assert type(decode(data)) is kind


class Value(msgspec.Struct):
    """Any value."""

    number: int
    text: str = ""


def test_pack_and_unpack_are_inverse():
    value = Value(3, "grand central")
    assert unpack(Value, 1, pack(1, value)) == value


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no bytes"),
        (pack(2, Value(1)), "version 2"),
        (b"\x01rubbish", "damaged"),
        (pack(1, Value(1))[:-6], "damaged"),
        (pack(1, {"number": "one"}), "damaged"),
    ],
)
def test_unpack_says_what_is_wrong(data, says):
    with pytest.raises(CodecError, match=says):
        unpack(Value, 1, data)
