import gzip
import json
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.errors import CodecError
from gcs.ports.records import cdxj
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.reading import warc_files
from gcs.ports.records.record_store import Store

from .pages import STARTED_AT, record, response
from .replay import pywb_program


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("crawl")
    exchanges = [
        response("http://www.example.com/b/", b"<p>original"),
        response("http://example.com/copy?z=1&a=2", b"<p>original", started_at=STARTED_AT + 5),
        response("http://example.com/moved", b"", status=301, reason="", headers=(("Location", "/b"),)),
        response("http://127.0.0.1:8080/untyped", b"untyped", headers=(), http_version="2"),
        response("http://example.com/large", random.Random(5).randbytes(300_000)),
    ]
    with Store.open(directory, StoreSettings(warc_bytes=1_500), "g1") as store:
        store.fetched(response("http://example.com/robots.txt", b"User-agent: *", headers=(("content-type", ""),)))
        for answer in exchanges:
            store.page(record(answer.request.url), answer)
            store.sync()
    return directory


def lines(directory: Path) -> list[bytes]:
    return [line for name, file in warc_files(directory) for line in cdxj.index(file, name)]


def test_index_is_that_of_pywb(crawl: Path) -> None:
    indexer = pywb_program("cdx-indexer")
    command = [indexer, "--cdxj", "--sort", *sorted((crawl / "warc").iterdir())]
    theirs = subprocess.run(command, capture_output=True, check=True).stdout.splitlines(keepends=True)
    ours = list(cdxj.merge(iter(lines(crawl))))
    assert ours == sorted(theirs)
    assert len(ours) == 6


def test_index_names_the_bytes_of_each_record(crawl: Path) -> None:
    for line in lines(crawl):
        fields = json.loads(line.split(b" ", 2)[2])
        data = (crawl / "warc" / fields["filename"]).read_bytes()[int(fields["offset"]) :][: int(fields["length"])]
        assert f"WARC-Target-URI: {fields['url']}\r\n".encode() in gzip.decompress(data)


def test_index_leaves_out_304_answers(tmp_path: Path) -> None:
    """pywb would replay the empty answer instead of the copy that it confirms."""
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.page(record(), response(body=b"copy"))
        store.page(record(), response(body=b"", status=304, started_at=STARTED_AT + 9))
        store.sync()
    (line,) = lines(tmp_path)
    assert line.startswith(b"com,example)/ 20251009085320 ")


def test_index_of_a_growing_file_ends_before_its_unfinished_record(crawl: Path, tmp_path: Path) -> None:
    path = sorted((crawl / "warc").iterdir())[0]
    (tmp_path / "cut.warc.gz").write_bytes(path.read_bytes()[:-3])
    with path.open("rb") as whole, (tmp_path / "cut.warc.gz").open("rb") as cut:
        assert list(cdxj.index(cut, path.name)) == list(cdxj.index(whole, path.name))[:-1]


def test_index_of_what_is_no_warc_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.warc.gz").write_bytes(b"no gzip at all, but long enough to be read as if")
    with (tmp_path / "x.warc.gz").open("rb") as file, pytest.raises(CodecError, match=r"x\.warc\.gz is damaged"):
        list(cdxj.index(file, "x.warc.gz"))


@given(st.lists(st.binary(max_size=5).map(lambda key: key.replace(b"\n", b"") + b"\n"), max_size=40))
def test_merge_sorts_by_bytes(unsorted: list[bytes]) -> None:
    assert list(cdxj.merge(iter(unsorted), run_lines=7)) == sorted(unsorted)
