"""Rich Text Format: its words, the title of its information group, the addresses of its hyperlinks.

Written here: it takes one pass of one pattern.

Invariant: time is linear in the length of the file, memory is bounded; nothing raises.
"""

import re
from itertools import islice

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.encoding import codec_of
from gcs.ports.summarise.formats import document_of

#: a group begins or ends; a control word with its number; a byte; a symbol; plain characters
_TOKEN = re.compile(rb"([{}])|\\([a-z]{1,32})(-?[0-9]{1,9})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([^\\{}\r\n]+)", re.I)
#: groups that hold no words of the document
_UNREAD = frozenset(
    b"fonttbl colortbl stylesheet listtable listoverridetable rsidtbl generator pict object themedata "
    b"colorschememapping datastore latentstyles xmlnstbl wgrffmtfilter private author operator company".split()
)
_BREAKS = {b"par": "\n", b"line": "\n", b"sect": "\n", b"page": "\n", b"row": "\n", b"cell": "\t", b"tab": "\t"}
_CHARACTERS = {b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”"}
_CHARACTERS |= {b"bullet": "•", b"~": "\xa0", b"{": "{", b"}": "}", b"\\": "\\", b"_": "-"}
_HYPERLINK = re.compile(r'HYPERLINK\s+"([^"]{1,4000})"')
_MAX_DEPTH = 1_000
#: tokens that are read; the largest honest documents have some hundred thousand
_MAX_TOKENS = 1_000_000
_BODY, _TITLE, _FIELD, _NOWHERE = range(4)


def summarise_rtf(source: Source) -> Document:
    reader = _RtfReader()
    reader.feed(source.content, source.options.max_text_bytes)
    body, title, fields = ("".join(reader.parts[where]) for where in (_BODY, _TITLE, _FIELD))
    return document_of(source, body.split("\n"), _HYPERLINK.findall(fields), title=title)


class _RtfReader:
    """Takes tokens in; `parts` holds what was found in the body, in the title, and in instructions of fields."""

    def __init__(self) -> None:
        self.parts: tuple[list[str], ...] = ([], [], [], [])
        self._codec = "cp1252"
        #: where the text of the present group goes, and how many characters stand in for one in Unicode
        self._where, self._stand_ins = _BODY, 1
        self._groups: list[tuple[int, int]] = []
        #: stand-ins that are still to be passed over
        self._skip = 0

    def feed(self, content: bytes, room: int) -> None:
        room *= 4
        for token in islice(_TOKEN.finditer(content), _MAX_TOKENS):
            group, word, number, code, symbol, plain = token.groups(b"")
            if plain or code:
                data = plain or bytes((int(code, 16),))
                if self._skip:
                    data, self._skip = data[self._skip :], max(0, self._skip - len(data))
                self._put(data.decode(self._codec, "replace"))
                room -= len(data)
            elif group == b"{":
                if len(self._groups) < _MAX_DEPTH:
                    self._groups.append((self._where, self._stand_ins))
            elif group:
                if self._groups:
                    self._where, self._stand_ins = self._groups.pop()
            elif symbol == b"*":
                self._where = _NOWHERE
            else:
                self._control((word or symbol).lower() if word else symbol, int(number or 0), bool(number))
            if room <= 0:
                break

    def _control(self, word: bytes, number: int, has_number: bool) -> None:
        if word == b"u" and has_number:
            code = number % 0x10000
            self._put(chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd")
            self._skip = self._stand_ins
        elif word == b"uc":
            self._stand_ins = min(max(number, 0), 8)
        elif word == b"ansicpg":
            self._codec = codec_of(f"windows-{number}") or self._codec
        elif word in _BREAKS or word in _CHARACTERS:
            self._put(_BREAKS.get(word) or _CHARACTERS[word])
        elif word == b"title":
            self._where = _TITLE
        elif word == b"fldinst":
            self._where = _FIELD
        elif word in _UNREAD or word == b"info":
            self._where = _NOWHERE

    def _put(self, text: str) -> None:
        if self._where != _NOWHERE:
            self.parts[self._where].append(text)
