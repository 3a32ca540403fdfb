import msgspec
import pytest

from gcs.core.messages.codec import pack, unpack
from gcs.errors import CodecError


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
