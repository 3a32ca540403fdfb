"""Sound and film, made by hand: a wave file by the standard library, MP3 tags, MP4 boxes, Matroska elements."""

import io
import struct
import wave

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.ports.reader import Summarisers
from gcs.ports.summarise import DEFAULT, Source
from gcs.ports.summarise.formats.media import clock, summarise_media

summarise = Summarisers().summarise


def box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body) + 8) + kind + body


def mp4() -> bytes:
    header = box(b"mvhd", bytes(12) + struct.pack(">II", 1000, 187_000) + bytes(80))
    codec = box(b"stsd", bytes(8) + box(b"avc1", bytes(70)))
    track = box(b"trak", box(b"mdia", box(b"minf", box(b"stbl", codec))))
    tags = box(
        b"ilst",
        box(b"\xa9nam", box(b"data", bytes(8) + b"The Tide")) + box(b"\xa9ART", box(b"data", bytes(8) + b"Ada")),
    )
    about = box(b"udta", box(b"meta", bytes(4) + tags))
    return box(b"ftyp", b"isom" + bytes(4)) + box(b"moov", header + track + about) + box(b"mdat", bytes(100))


def element(kind: str, body: bytes) -> bytes:
    return bytes.fromhex(kind) + struct.pack(">Q", len(body) | 1 << 56) + body


def matroska() -> bytes:
    info = element("2AD7B1", b"\x0f\x42\x40") + element("4489", struct.pack(">d", 63_000.0)) + element("7BA9", b"Waves")
    tracks = element("AE", element("86", b"V_VP9")) + element("AE", element("86", b"A_OPUS"))
    segment = element("1549A966", info) + element("1654AE6B", tracks)
    return element("1A45DFA3", b"") + element("18538067", segment)


def sound() -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1), file.setsampwidth(1), file.setframerate(8000)
        file.writeframes(bytes(16_000))
    return out.getvalue()


def mp3() -> bytes:
    def frame(name: bytes, text: bytes) -> bytes:
        return name + struct.pack(">I", len(text) + 1) + b"\0\0\3" + text

    tags = frame(b"TIT2", b"Harbour song") + frame(b"TPE1", b"The Gulls") + frame(b"TALB", b"Shore")
    return (
        b"ID3\3\0\0" + bytes((0, 0, len(tags) >> 7, len(tags) & 127)) + tags + (b"\xff\xfb\x90\x00" + bytes(413)) * 50
    )


@pytest.mark.parametrize(
    ("content", "title", "description"),
    [
        (mp4(), "The Tide", "film, by Ada, 3:07, avc1"),
        (matroska(), "Waves", "film, 1:03, VP9/OPUS"),
        (sound(), "", "sound, 0:02, Wave"),
        (mp3(), "Harbour song", "sound, by The Gulls, Shore, 0:01, ID3"),
    ],
    ids=["mp4", "matroska", "wav", "mp3"],
)
def test_media_has_title_artist_length_and_codec(content: bytes, title: str, description: str) -> None:
    document = summarise(content, "application/octet-stream", "http://x/", "fast")
    assert (document.title, document.description) == (title, description)


@pytest.mark.parametrize("make", [mp4, matroska, sound, mp3])
def test_media_bears_damage(make) -> None:
    content = make()

    @given(st.integers(0, len(content)), st.binary(max_size=20))
    def bears(at: int, change: bytes) -> None:
        damaged = content[:at] + change + content[at + len(change) :]
        summarise_media(Source(damaged, "", "http://x/", "fast", DEFAULT))

    bears()


def test_clock() -> None:
    assert [clock(s) for s in (0, 5, 187, 3723, float("nan"), float("inf"))] == ["", "0:05", "3:07", "1:02:03", "", ""]
