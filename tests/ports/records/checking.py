"""The oracle of the record store's tests: warcio reads the WARC files, and log and WARC must agree one to one."""

from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from gcs.ports.records.parquet import read_pages
from gcs.ports.records.record_log import exchange_of, frames

Place = tuple[str, int, int]


def warc_places(directory: Path) -> list[Place]:
    """Every response and revisit record, after every record of every file was read and its digests checked."""
    places: list[Place] = []
    for path in sorted(directory.glob("*.warc.gz")):
        kinds = []
        with path.open("rb") as file:
            records = ArchiveIterator(file, check_digests="raise")
            for record in records:
                record.content_stream().read()
                kind = record.rec_type
                offset, size = records.get_record_offset(), records.get_record_length()
                kinds.append(kind)
                if kind in ("response", "revisit"):
                    places.append((path.name, offset, size))
            assert file.read() == b""
        assert kinds[0] == "warcinfo", path
        assert kinds[1::2] == ["request"] * (len(kinds) // 2), path
        assert len(kinds) % 2 == 1, path
    return places


def logged_places(directory: Path, gatherer: str = "g1") -> list[Place]:
    """What the store says it has: Parquet rows (of pages only) and log frames, in order."""
    places: list[Place] = []
    for path in sorted(directory.glob("summaries/*.parquet")):
        places += [(page.warc_file, page.warc_offset, page.warc_bytes) for page in read_pages(path)]
    for path in sorted((directory / "state" / gatherer / "log").glob("*.log")):
        if (directory / "summaries" / f"{gatherer}-{path.stem}.parquet").exists():
            continue
        for frame in frames(path):
            if named := exchange_of(frame):
                places.append((named.warc_file, named.warc_offset, named.warc_bytes))
    return places


def check(directory: Path) -> int:
    """Assert that the WARC is valid and that it holds what the log names, once, and nothing else."""
    stored, logged = warc_places(directory / "warc"), logged_places(directory)
    assert stored == logged
    return len(stored)
