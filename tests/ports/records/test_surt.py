import gzip
import subprocess
from pathlib import Path

import pytest

from gcs.core.url.join import canonical
from gcs.ports.records.cdxj import surt

from .replay import pywb_program

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
