"""Archives: what is taken out of them, within limits; and how the registry reads them, as the crawl does."""

import bz2
import gzip
import io
import lzma
import os
import random
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import Document
from gcs.ports.reader import Summarisers
from gcs.ports.summarise import Options
from gcs.ports.summarise.archive import LIMITS, ArchiveLimits, ArchiveMember, gunzip, members, summarise_members
from tests.limits import cpu_limit

summarise = Summarisers().summarise

FILES = {
    "index.html": b"<title>inside</title><a href='sub/page.html'>x</a>",
    "sub/page.html": b"<title>page</title>",
    "notes.txt": b"words",
    "data.bin": os.urandom(3000),
    "empty": b"",
}


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.mkdir("folder")
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        folder, link, device = tarfile.TarInfo("folder"), tarfile.TarInfo("link"), tarfile.TarInfo("null")
        folder.type, link.type, device.type = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE
        link.linkname = "/etc/passwd"
        for special in (folder, link, device):
            archive.addfile(special)
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


ARCHIVES = {
    "zip": zipped(FILES),
    "zip stored": zipped(FILES, zipfile.ZIP_STORED),
    "tar": tarred(FILES),
    "tar.gz": gzip.compress(tarred(FILES)),
    "tar.bz2": bz2.compress(tarred(FILES)),
    "tar.xz": lzma.compress(tarred(FILES)),
}


@pytest.mark.parametrize("archive", ARCHIVES.values(), ids=ARCHIVES)
def test_members_are_the_files_in_the_archive(archive: bytes) -> None:
    assert {member.name: member.content for member in members(archive)} == FILES


def test_members_know_their_type_and_can_be_summarised() -> None:
    found = {member.name: member for member in members(ARCHIVES["zip"])}
    page = found["index.html"]
    assert page.content_type == "text/html"
    assert found["data.bin"].content_type in ("", "application/octet-stream")
    assert summarise(page.content, page.content_type, "http://x/a.zip!/index.html", "links").hrefs == ["sub/page.html"]


def test_members_of_a_bare_gzip_is_its_content() -> None:
    (only,) = members(gzip.compress(b"one file"))
    assert (only.name, only.content) == ("", b"one file")


@pytest.mark.parametrize("archive", ARCHIVES.values(), ids=ARCHIVES)
def test_members_are_bounded(archive: bytes) -> None:
    assert [member.name for member in members(archive, ArchiveLimits(members=2))] == ["index.html", "sub/page.html"]
    assert "data.bin" not in [member.name for member in members(archive, ArchiveLimits(member_bytes=100))]
    assert len(list(members(archive, ArchiveLimits(member_bytes=100)))) == len(FILES) - 1
    assert sum(len(member.content) for member in members(archive, ArchiveLimits(total_bytes=60))) <= 60


BOMB = {"first.txt": b"before", **{f"{number}.txt": bytes(1_000_000) for number in range(30)}}


@pytest.mark.parametrize(
    "bomb",
    [zipped(BOMB), gzip.compress(tarred(BOMB)), bz2.compress(tarred(BOMB)), lzma.compress(tarred(BOMB))],
    ids=["zip", "gz", "bz2", "xz"],
)
def test_members_of_a_bomb_end_at_the_ratio(bomb: bytes) -> None:
    found = list(members(bomb, ArchiveLimits(ratio=20)))
    assert sum(len(member.content) for member in found) <= max(20 * len(bomb), 64 * 1024)
    assert len(found) < len(BOMB)


def test_members_believe_no_size_that_a_zip_claims() -> None:
    honest = zipped({"a.txt": bytes(100_000)})
    size = (100_000).to_bytes(4, "little")
    liar = honest.replace(size, (10).to_bytes(4, "little"))
    assert liar != honest
    assert sum(len(member.content) for member in members(liar)) <= 10


def test_members_of_overlapping_entries_are_counted_each_time() -> None:
    """A zip whose directory names one file many times."""
    once = zipped({"a.txt": bytes(200_000)})
    end = once.rindex(b"PK\x05\x06")
    start = int.from_bytes(once[end + 16 : end + 20], "little")
    directory = once[start:end]
    entry = directory[directory.rindex(b"PK\x01\x02") :]
    many = entry * 500
    tail = bytearray(once[end:])
    tail[8:10] = tail[10:12] = (500).to_bytes(2, "little")
    tail[12:16] = len(many).to_bytes(4, "little")
    bomb = once[:start] + many + bytes(tail)
    total = sum(len(member.content) for member in members(bomb, ArchiveLimits(total_bytes=1_000_000, ratio=10_000)))
    assert 0 < total <= 1_000_000


def test_members_skip_what_is_encrypted_or_packed_oddly() -> None:
    locked = bytearray(zipped({"a.txt": b"secret"}, zipfile.ZIP_STORED))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = bytes(locked).rindex(signature) + offset
        locked[at] |= 1
    assert list(members(bytes(locked))) == []
    assert list(members(zipped({"a.txt": b"text"}, zipfile.ZIP_LZMA))) == []


@pytest.mark.parametrize("seed", range(120))
def test_members_of_a_damaged_archive_never_raise(seed: int) -> None:
    chance = random.Random(seed)
    archive = bytearray(chance.choice(list(ARCHIVES.values())))
    for _ in range(chance.randint(1, 20)):
        archive[chance.randrange(len(archive))] = chance.randrange(256)
    cut = bytes(archive[: chance.randint(len(archive) // 2, len(archive))])
    assert len(list(members(cut))) <= 2 * len(FILES)


@given(st.sampled_from([b"PK\x03\x04", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", b""]), st.binary(max_size=700))
def test_members_of_anything_never_raise(magic: bytes, rest: bytes) -> None:
    assert all(len(member.content) <= 200 * 1024 for member in members(magic + rest))


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5), st.integers(0, 2000))
def test_gunzip_joins_files_and_stops_at_the_limit(parts: list[bytes], limit: int) -> None:
    packed = b"".join(gzip.compress(part) for part in parts)
    whole = b"".join(parts)
    assert gunzip(packed, 10_000) == whole
    assert whole.startswith(gunzip(packed, limit))
    assert len(gunzip(packed, limit)) <= limit


def test_gunzip_keeps_what_comes_before_the_damage() -> None:
    content = random.Random(1).randbytes(300_000)
    packed = gzip.compress(content)
    half = gunzip(packed[: len(packed) // 2], 1_000_000)
    assert len(half) > 100_000
    assert content.startswith(half)
    assert gunzip(b"no gzip", 100) == b""


PAGE = b"""<html lang=en><title>Inside</title><body><p>The whiteboard stands in the middle of the station.</p>
<a href="https://other.example/a">one</a> <a href="local.html">two</a></body></html>"""
DOCUMENTS = {
    "docs/page.html": PAGE,
    "notes.txt": b"Plain notes about trains.\nMore of them.",
    "logo.png": b"\x89PNG\r\n\x1a\n",
}


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (zipped(DOCUMENTS), "application/zip"),
        (zipped(DOCUMENTS), "application/java-archive"),
        (tarred(DOCUMENTS), "application/x-tar"),
        (gzip.compress(tarred(DOCUMENTS)), "application/gzip"),
        (gzip.compress(tarred(DOCUMENTS)), "application/octet-stream"),
    ],
)
def test_archive_says_what_its_members_say(content: bytes, content_type: str) -> None:
    document = Summarisers().summarise(content, content_type, "http://a.example/x", "fast")
    assert document.hrefs == ["https://other.example/a"]
    assert document.title == "Inside"
    assert "docs/page.html\n" in document.text
    assert "whiteboard stands" in document.text
    assert "notes.txt\nPlain notes about trains." in document.text
    assert document.simhash


def test_archive_inside_an_archive_is_read_and_one_inside_of_that_is_passed_over() -> None:
    third = zipped({"deep.txt": b"abyss", "shallow.zip": zipped({"x.txt": b"bottom"})})
    inner = zipped({"second.txt": b"cellar", "third.zip": third})
    content = zipped({"inner.zip": inner, "inner.tgz": gzip.compress(tarred({"t.txt": b"tape"})), "a.txt": b"words"})
    document = Summarisers().summarise(content, "application/zip", "http://a.example/x.zip", "fast")
    assert document.text == "inner.zip\nsecond.txt\ncellar\n\ninner.tgz\nt.txt\ntape\n\na.txt\nwords"


def test_archives_inside_of_an_archive_share_its_limits() -> None:
    """A hundred archives of a hundred small archives' worth of text: all of it counts to one budget."""
    inner = zipped({f"{number}.txt": b"word " * 40_000 for number in range(20)})
    content = zipped({f"{number}.zip": inner for number in range(60)}, zipfile.ZIP_STORED)
    taken = [0]

    def count(member: ArchiveMember) -> Document:
        for inside in members(member.content, LIMITS, member.budget):
            taken[0] += len(inside.content)
        return Document(hrefs=[])

    summarise_members(members(content, LIMITS), Options(), count)
    assert 0 < taken[0] <= LIMITS.total_bytes
    many = zipped({f"{number}.txt": b"x" for number in range(400)})
    taken = [0]
    summarise_members(members(zipped({f"{n}.zip": many for n in range(9)}), LIMITS), Options(), count)
    assert 0 < taken[0] <= LIMITS.members


def test_archive_is_bounded_and_damage_is_no_error() -> None:
    bomb = zipped({f"{number}.txt": b"word " * 800_000 for number in range(40)})
    document = Summarisers().summarise(
        bomb, "application/zip", "http://a.example/x.zip", "fast", Options(max_text_bytes=5_000)
    )
    assert 0 < len(document.text) < 6_000
    half = zipped(DOCUMENTS)
    for cut in range(0, len(half), 50):
        Summarisers().summarise(half[:cut], "application/zip", "http://a.example/x.zip", "fast")


def test_tar_with_an_extended_header_of_digits_takes_no_time() -> None:
    """Python before 3.11.10 looks for its end from each digit: 300 KB took minutes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.html"))
        header = tarfile.TarInfo("h")
        header.type, header.size = tarfile.XHDTYPE, 300_000
        archive.addfile(header, io.BytesIO(b"1" * 300_000))
        archive.addfile(tarfile.TarInfo("b.html"))
    with cpu_limit(5.0):
        assert [member.name for member in members(out.getvalue())] == ["a.html"]


def test_tar_with_extended_headers_is_read() -> None:
    out = io.BytesIO()
    name = "folder/" * 30 + "ä.html"
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo(name))
    assert [member.name for member in members(out.getvalue())] == [name]
