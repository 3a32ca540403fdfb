from random import Random

import pytest

from gcs.core.tree.tree import WHOLE, UrlTree, is_expansion, parse
from gcs.core.url.sortkey import sort_key
from gcs.errors import UsageError


def test_no_lines_are_the_whole_web():
    assert parse([]) == WHOLE == parse(["# only a remark", "", "   "])


def test_lines_name_nodes_by_url_or_by_tokens():
    by_url = parse(["https://www.Example.com/docs/"])
    assert by_url == parse(["com example www /https docs"])
    assert by_url == (b"", b"com\x00example\x00www\x00/https\x00docs", b"com\x00example\x00www\x00/https\x00docs\x01")


def test_expansion_puts_urls_into_their_superpages():
    lines = """
        # two domains, one directory of the first, and the rest of .com in two intervals
        com example
        https://www.example.com/docs
        edu
        < com m
    """.splitlines()
    cuts = parse(lines)
    assert is_expansion(cuts)
    tree = UrlTree(cuts, Random(1))

    def low(url):
        return cuts[tree.locate(sort_key(url))]

    assert low("https://www.example.com/docs/a/b") == low("https://www.example.com/docs")
    assert low("https://www.example.com/docs/a") != low("https://www.example.com/dot")
    assert low("http://a.edu/") == low("http://mit.edu/x") == b"edu"
    assert low("http://apple.com/") != low("http://mozilla.com/")
    assert low("http://nokia.com/") == low("http://zeta.com/") == b"com\x00m"
    assert low("http://example.com/") == b"com\x00example"


@pytest.mark.parametrize("line", ["ftp://example.com/", "http://", "http://a.com/?q=1", "com exämple", "<"])
def test_bad_line_is_named(line):
    with pytest.raises(UsageError, match="line 2"):
        parse(["com", line])
