"""Events: a stable name and fields, as text for a person or as JSON for a program, on stderr."""

import json
import logging
import sys

import pytest

from gcs import events
from gcs.events import Events


def emit_all() -> None:
    part = Events("part")
    part.debug("looked", at="http://a.test/")
    part.info("began", pages=3)
    part.warning("slowed", by="b.test", error=ValueError("no\nway"))
    part.error("lost", file="x")


@pytest.mark.parametrize(("level", "count"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_events_below_the_level_are_silent(capsys: pytest.CaptureFixture[str], level: str, count: int) -> None:
    assert level in events.LEVELS
    events.set_up_log(level, as_json=True)
    emit_all()
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == count


def test_events_as_text_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    events.set_up_log("info", as_json=False)
    emit_all()
    began, slowed, lost = capsys.readouterr().err.splitlines()
    assert began.split(maxsplit=1)[1] == "INFO    part.began pages=3"
    assert slowed.split(maxsplit=1)[1] == "WARNING part.slowed by=b.test error=no way"
    assert lost.endswith("ERROR   part.lost file=x")


def test_events_as_json_keep_their_fields(capsys: pytest.CaptureFixture[str]) -> None:
    events.set_up_log("info", as_json=True)
    emit_all()
    began, slowed, _ = map(json.loads, capsys.readouterr().err.splitlines())
    assert began.pop("time") > 0
    assert began == {"level": "info", "event": "part.began", "pages": 3}
    assert slowed["error"] == "no\nway"


def test_events_are_set_up_anew_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    events.set_up_log("info", as_json=False)
    events.set_up_log("info", as_json=False)
    Events("part").info("began")
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_events_as_text_command_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    events.set_up_log("info", as_json=False)
    Events("part").info("hello", agent="\x1b]0;mine\x07 caf\xe9\x9b2J \u200d")
    assert capsys.readouterr().err.rstrip().endswith("part.hello agent=\ufffd]0;mine\ufffd caf\xe9\ufffd2J \u200d")


def test_text_log_turns_no_line_round_and_commands_no_terminal() -> None:
    try:
        raise ValueError("a\u202eb\x1b[2J")
    except ValueError:
        record = logging.LogRecord("gcs.x", logging.INFO, "", 1, "x.y\u2066", (), sys.exc_info())
    record.fields = {"url": "http://a/\u202etxt.exe\u2028new", "title": "\x9b1m"}
    line = events.TextFormatter().format(record)
    assert not {ord(each) for each in line} & set(events.COMMANDS)
    assert "ValueError" in line


@pytest.mark.parametrize("as_json", [False, True])
def test_events_name_their_fields_before_the_traceback_of_their_cause(capsys, as_json: bool) -> None:
    events.set_up_log("info", as_json=as_json)
    try:
        raise KeyError("gone")
    except KeyError as error:
        Events("part").warning("failed", url="http://a.test/", cause=error)
    err = capsys.readouterr().err
    if as_json:
        entry = json.loads(err)
        assert (entry["url"], entry["traceback"].splitlines()[-1]) == ("http://a.test/", "KeyError: 'gone'")
    else:
        assert err.splitlines()[0].endswith("part.failed url=http://a.test/")
        assert err.splitlines()[-1] == "KeyError: 'gone'"
