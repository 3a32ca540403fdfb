"""`gcs doctor`: what is missing, each with its remedy."""

import importlib.metadata
import json
import os
import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.system.checkup import NEEDED

Run = Callable[..., Any]


def states(done: Any) -> dict[str, str]:
    return {each["what"]: each["state"] for each in json.loads(done.out)}


def test_doctor_finds_nothing_wrong_here(call: Run, tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "space")
    url = server.start()
    try:
        done = call("doctor", "--space", url, "--json")
        assert done.code == 0
        found = states(done)
        assert found["packages"] == found["redis"] == found["disk"] == found["whiteboard"] == "ok"
        text = call("doctor").out
        assert "ok" in text and "allowed" in text
    finally:
        server.stop()
    assert list(tmp_path.iterdir()) == [tmp_path / "space"], "it leaves nothing"


def test_doctor_names_each_problem_and_its_remedy(call: Run, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("gcs.ports.system.checkup.binaries", lambda: iter(()))
    monkeypatch.setattr("gcs.ports.system.checkup.NEEDED", ("gcs", "no_such_package"))
    monkeypatch.setattr("gcs.ports.system.checkup.LEAST_FREE", 1 << 62)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    try:
        done = call("doctor", "--space", "redis://127.0.0.1:1", "--json", PATH=os.devnull)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert done.code == 1
    wrong = {each["what"]: each for each in json.loads(done.out) if each["state"] == "problem"}
    assert set(wrong) == {"packages", "redis", "disk", "open files", "whiteboard"}
    assert all(each["remedy"] for each in wrong.values())
    assert "no_such_package" in wrong["packages"]["detail"]
    assert states(done)["chromium"] == "note"


def test_doctor_looks_for_packages_that_are_dependencies() -> None:
    """One that is none is missing on every other machine."""
    wanted = importlib.metadata.requires("gcs-crawler") or []
    assert set(NEEDED) <= {re.split(r"[<>=; ]", each)[0].replace("-", "_") for each in wanted}
