"""CDXJ: the index of WARC files, and the keys of its lines, as the tools of web archives make them."""

import gzip
import io
import json
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.canonical import canonical
from gcs.errors import CodecError
from gcs.ports.records import cdxj
from gcs.ports.records.cdxj import surt
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.reading import warc_files
from gcs.ports.records.record_store import Store
from gcs.ports.records.warc import Original

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
            store.add_page(record(answer.request.url), answer)
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


def test_index_names_the_copy_that_a_304_confirms(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        copy = store.add_page(record(), response(body=b"copy"))
        confirmed = response(body=b"", status=304, started_at=STARTED_AT + 9)
        store.add_page(record(digest=copy.digest), confirmed, Original(copy.url, STARTED_AT))
        store.sync()
    first, again = (json.loads(line.split(b" ", 2)[2]) for line in lines(tmp_path))
    assert (again["mime"], again["digest"], "status" in again) == ("warc/revisit", first["digest"], False)


def test_index_leaves_out_304_answers_as_older_versions_kept_them(tmp_path: Path) -> None:
    """pywb would replay the empty answer instead of the copy that it confirms."""
    head = b"WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Target-URI: http://example.com/\r\nWARC-Date: 2025-10-09T08:53:20Z"
    old = gzip.compress(head + b"\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n\r\n\r\n")
    assert list(cdxj.index(io.BytesIO(old), "old.warc.gz")) == []


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


SESSION = "0123456789abcdef0123456789ABCDEF"
ASP = "4hqa0555fwsecu455xqckv45"
URLS = [
    "http://example.com/",
    "http://example.com",
    "https://www.example.com:443/A/b/",
    "http://www2.example.com:8080/?",
    "http://www.www.example.com./x",
    "http://ipmwww.example.com/",
    "http://user:secret@example.com/",
    "http://127.0.0.1:8080/x",
    "http://[2001:db8::1]:8080/a",
    "http://example.com//a///b//",
    "http://example.com/%2e%2e/x/%2e/y",
    "http://example.com/%7Efoo/%41%2fb%20c%25",
    "http://example.com/%zz%e4%BC%2541",
    "http://example.com/x%3fy?z",
    "http://example.com/|x^y`{}",
    "http://example.com/a;b=c?B=2&a=%41&a&A=&&",
    "http://example.com/?q=a+b%20c&r=1%262",
    "http://example.com/?a=1?b=2&c=?",
    f"http://example.com/?sid={SESSION}",
    f"http://example.com/?b=1&jsessionid={SESSION}",
    f"http://example.com/?PHPSESSID={SESSION}&b=1",
    f"http://example.com/?phpsessid={SESSION}0&b=1",
    "http://example.com/?sid=short&b=1",
    "http://example.com/?ASPSESSIONIDAQBSDSRT=EOHBLBDDPFCLHKPGGKLILNAM&b=1",
    "http://example.com/?b=2&CFID=1169580&CFTOKEN=48630702",
    f"http://example.com/(S({ASP}))/page.aspx",
    f"http://example.com/a/({ASP})/page.aspx?x=1",
    f"http://example.com/(S({ASP}))/page.html",
    "http://example.com/a#fragment",
    "http://xn--bcher-kva.example/ü",
]


def oracle(urls: list[str]) -> list[str]:
    """The keys that pywb itself makes."""
    script = "import sys, surt\nfor url in sys.stdin.read().splitlines(): print(surt.surt(url))"
    python = pywb_program("python")
    command = [python, "-W", "ignore", "-c", script]
    done = subprocess.run(command, input="\n".join(urls), capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_surt_is_the_key_of_pywb() -> None:
    assert list(map(surt, URLS)) == oracle(URLS)


@pytest.mark.parametrize("graph", ["epa", "hollins"])
def test_surt_is_the_key_of_pywb_for_real_urls(graph: str) -> None:
    file = Path(__file__).parents[3] / ".." / "shared" / "data" / graph / "urls.txt.gz"
    if not file.exists():
        pytest.skip(f"the shared data are not here: {file}")
    with gzip.open(file, "rt") as lines:
        found = (canonical(line.strip()) for line in lines)
        urls = [url for url in found if url]
    assert len(urls) > 4_000
    assert [(url, surt(url)) for url in urls] == list(zip(urls, oracle(urls)))


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.Example.com:80/a//B/?z=1&a=2", "com,example)/a/b?a=2&z=1"),
        ("http://127.0.0.1:8080/x", "1,0,0,127:8080)/x"),
        ("https://example.com/?", "com,example)/"),
    ],
)
def test_surt_folds_spellings(url: str, key: str) -> None:
    assert surt(url) == key
