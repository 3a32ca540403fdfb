from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.ports.summarise.encoding import as_text, as_utf8, codec_of, declared_encoding, encoding_of

SUITE = Path(__file__).parents[3] / ".." / "shared" / "suites" / "html5lib-encoding"


def suite_cases() -> list[tuple[str, bytes, str]]:
    cases = []
    for file in sorted(SUITE.glob("*.dat")):
        for number, case in enumerate(file.read_bytes().split(b"#data\n")[1:]):
            data, _, rest = case.partition(b"\n#encoding\n")
            cases.append((f"{file.stem}-{number}", data, rest.split(b"\n")[0].decode()))
    return cases


@pytest.mark.skipif(not SUITE.is_dir(), reason="the html5lib encoding suite is not there")
def test_encoding_of_agrees_with_the_html5lib_suite() -> None:
    """Two encodings that read the same text count as equal: ASCII pages are UTF-8 to us, windows-1252 there."""
    cases = suite_cases()
    wrong = []
    for name, data, label in cases:
        expected = codec_of(label)
        assert expected is not None
        if data.decode(encoding_of(data, ""), "replace") != data.decode(expected, "replace"):
            wrong.append(name)
    assert len(cases) == 82
    assert not wrong


@pytest.mark.skipif(not SUITE.is_dir(), reason="the html5lib encoding suite is not there")
def test_declared_encoding_agrees_with_the_html5lib_suite_in_the_window() -> None:
    """Where the suite wants something else than the default, and says so in the first 1,024 bytes."""
    declared = [
        (name, declared_encoding(data[:1024]), codec_of(label))
        for name, data, label in suite_cases()
        if codec_of(label) != "cp1252" and b"charset" in data[:1024].lower() and data[:1] != b"\xef"
    ]
    assert len(declared) > 20
    assert [case for case in declared if case[1] != case[2]] == []


RUSSIAN = "Привет, мир! Это страница на русском языке, и она довольно длинная."


@pytest.mark.parametrize(
    ("content", "content_type", "expected"),
    [
        (b"\xef\xbb\xbfx", "text/html; charset=windows-1251", "utf-8"),  # the mark goes before the header
        (b"\xff\xfex\0", "text/html; charset=utf-8", "utf-16-le"),
        (b"<meta charset=utf-8>", "text/html; charset=windows-1251", "cp1251"),  # and the header before the meta
        (b"<meta charset=koi8-r>", "text/html; charset=nonsense", "koi8-r"),
        (b"<meta charset=nonsense>", "text/html", "utf-8"),
        (b"<meta charset=utf-16>", "text/html", "utf-8"),
        (b"<meta charset=x-user-defined>", "text/html", "cp1252"),
        (b"<meta http-equiv='content-type' content='text/html; charset=\"gbk\"'>", "", "gb18030"),
        (b"<meta content='text/html; charset=gbk'>", "", "utf-8"),  # not without http-equiv
        (b"<!-- <meta charset=gbk> --><p>", "", "utf-8"),
        (b"<!--><meta charset=gbk>", "", "gb18030"),
        (b"<p title='<meta charset=gbk>'>", "", "utf-8"),
        (b"<?xml version='1.0' encoding='iso-8859-2'?><html>", "", "iso8859-2"),
        (b"x", 'text/html; CHARSET="Shift_JIS"', "cp932"),
        (b"x", "text/html; charset=latin1", "cp1252"),
        (RUSSIAN.encode(), "text/html", "utf-8"),
        (RUSSIAN.encode()[:-1], "text/html", "utf-8"),  # cut in the middle of a letter
        (RUSSIAN.encode("cp1251"), "text/html", "cp1251"),
        (("こんにちは、世界。これは日本語のページです。" * 5).encode("euc-jp"), "", "euc_jp"),
        (b"<p>" + b"x" * 2000 + b"<meta charset=koi8-r>" + RUSSIAN.encode("koi8-r"), "", "koi8-r"),
    ],
)
def test_encoding_of_follows_the_order_of_the_standard(content: bytes, content_type: str, expected: str) -> None:
    assert encoding_of(content, content_type) == expected


def test_as_utf8_leaves_utf8_alone() -> None:
    content = RUSSIAN.encode()
    assert as_utf8(content, "text/html; charset=utf-8") is content


def test_as_utf8_and_as_text_drop_the_mark() -> None:
    for encoding in ("utf-8-sig", "utf-16"):
        content = RUSSIAN.encode(encoding)
        assert as_utf8(content, "") == RUSSIAN.encode()
        assert as_text(content, "") == RUSSIAN


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "utf-16-le", "utf-16-be", "gb18030", "cp932"])
def test_as_utf8_reads_what_the_header_names(encoding: str) -> None:
    label = {"cp1251": "windows-1251", "cp932": "shift_jis"}.get(encoding, encoding.replace("utf-16-", "utf-16"))
    text = "мир" if encoding != "cp932" else "世界"
    assert as_utf8(text.encode(encoding), f"text/html; charset={label}").decode() == text


@given(st.binary(max_size=300), st.text(max_size=30))
def test_as_text_takes_anything(content: bytes, content_type: str) -> None:
    assert as_text(content, content_type).encode("utf-8", "replace") is not None
    assert isinstance(as_utf8(content, f"text/html; charset={content_type}"), bytes)


@given(
    st.lists(st.sampled_from([b"<", b"meta", b"charset", b"=", b'"', b"'", b">", b" ", b"/", b"!--", b"-->", b"gbk"]))
)
def test_declared_encoding_ends_on_any_markup(parts: list[bytes]) -> None:
    assert declared_encoding(b"".join(parts) + b"charset") in (None, "gb18030")
