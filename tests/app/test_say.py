"""What commands print."""

import ast
import io
import json
from pathlib import Path

import msgspec
import pytest

from gcs.app.say import say
from gcs.events import COMMANDS, tame

GCS = Path(__file__).parents[2] / "gcs"
#: right-to-left override, isolate, escape, C1, line separator, a tag
EVIL = "a\u202ecod\u2066.exe\x1b[2J\x9b1m\u2028\U000e0041\u200f"


def test_line_holds_no_character_that_commands_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say(EVIL)
    say(f"{EVIL}\ud800", err=True)
    shown = capsys.readouterr()
    assert not {ord(each) for each in shown.out + shown.err} & set(COMMANDS)
    assert "a\N{REPLACEMENT CHARACTER}cod" in shown.out


def test_json_loses_nothing_and_commands_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    say(msgspec.json.encode({"title": EVIL, "text": "\x7f ü 漢 👩‍👧"}))
    shown = capsys.readouterr().out
    assert not {ord(each) for each in shown} & set(COMMANDS)
    assert json.loads(shown) == {"title": EVIL, "text": "\x7f ü 漢 👩‍👧"}


def test_honest_text_stays_as_it_is() -> None:
    for text in ("plain\ttab\nline", "שלום عربي हिन्दी 漢字", "👩‍👧 emoji with a joiner", "Ünïcödé"):
        assert tame(text) == text


def test_commands_print_by_say_only() -> None:
    """`print` is for constant words; `click.echo` is not used elsewhere."""
    for path in [*(GCS / "cli").glob("*.py"), *(GCS / "app").glob("*.py")]:
        if path.name == "say.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            assert name not in ("click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write") or (
                path.name == "export.py" and "tame(" in ast.unparse(node)
            ), f"{path}: print by gcs.app.say.say"
            assert name != "print" or isinstance(node.args[0], ast.Constant), f"{path}: print by gcs.app.say.say"


def test_long_lines_go_on_from_word_to_word_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.setenv("COLUMNS", "24")
    say("a line of more words than fit; to go on: gcs crawl -o docs")
    say("a-table  of  two  columns  that  is  too  wide")
    say(b'{"json": "is one line, however long it may become"}')
    assert shown.getvalue().splitlines() == [
        "a line of more words",
        "  than fit; to go on:",
        "  gcs crawl -o docs",
        "a-table  of  two  columns  that  is  too  wide",
        '{"json": "is one line, however long it may become"}',
    ]
