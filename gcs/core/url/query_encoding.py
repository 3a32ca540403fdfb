"""The query of a link on a page in a legacy encoding: browsers send its letters as bytes of that encoding.

By the WHATWG standards: only the query, only letters beyond ASCII; what the encoding has no bytes for becomes a numeric
character reference. Everything else of a URL is in UTF-8 on every page. So `?q=日` on a Shift_JIS page asks for
`?q=%93%FA`. Pure; what is no legacy encoding changes nothing.
"""

import re

#: Python's codecs for the encodings of the standard that write queries in their own bytes (UTF-16 writes UTF-8).
#: A page of GB2312 is read as GB18030, but written as GBK
_CODECS = {
    **{each: each for each in ("big5hkscs", "cp949", "cp932", "euc_jp", "iso2022_jp", "koi8-r", "koi8-u", "ibm866")},
    **{f"iso8859-{number}": f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"cp{number}": f"cp{number}" for number in (874, 1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258)},
    "mac-roman": "mac-roman",
    "mac-cyrillic": "mac-cyrillic",
    "gb18030": "gbk",
    "gbk": "gbk",
}
_NAMES = {name.replace("-", "").replace("_", ""): codec for name, codec in _CODECS.items()}
#: schemes whose URLs have no such query
_OTHER = re.compile(r"\s*(?!https?:)[A-Za-z][A-Za-z0-9+.-]*:", re.I)
#: a byte in a query: an escape, or itself where it is ASCII that queries may hold (the second byte of a letter may be)
_ESCAPED = [chr(byte) if 0x20 < byte < 0x7F and chr(byte) not in "\"#<>'" else f"%{byte:02X}" for byte in range(256)]
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


def in_page_encoding(href: str, encoding: str) -> str:
    """The link with the query that a browser would ask for, on a page in that encoding (a codec of Python)."""
    if href.isascii():
        return href
    codec = _NAMES.get(encoding.replace("-", "").replace("_", "").lower())
    url, hash_mark, fragment = href.partition("#")
    path, mark, query = url.partition("?")
    if codec is None or query.isascii() or _OTHER.match(href):
        return href
    written = _BEYOND_ASCII.sub(lambda letters: _written(letters[0], codec), query)
    return f"{path}{mark}{written}{hash_mark}{fragment}"


def _written(letters: str, codec: str) -> str:
    try:
        return "".join(map(_ESCAPED.__getitem__, letters.encode(codec)))
    except UnicodeEncodeError:
        pass
    if len(letters) == 1:
        return f"%26%23{ord(letters)}%3B"
    return "".join(_written(letter, codec) for letter in letters)
