"""Signed requests as a site meets them: every request of a crawl is verified with the keys that a station serves."""

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gcs.ports.fetch.request_signing import DIRECTORY_PATH, FILE_VARIABLE
from tests.cli.conftest import QUICK
from tests.judges import ask
from tests.ports.fetch.test_request_signing import AGENT, VERIFIES, question_of
from tests.roles.gatherer.strange_site import html, strange_site

ROBOTS = (200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /no")


def recording(answer: Any, seen: list[dict[str, str]]) -> Callable[[dict[str, str]], Any]:
    def give(asked: dict[str, str]) -> Any:
        seen.append(asked)
        return answer(asked) if callable(answer) else answer

    return give


async def test_every_request_of_a_crawl_is_signed_with_a_key_that_the_station_serves(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    key = tmp_path / "bot.pem"
    await asyncio.to_thread(subprocess.run, ["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    seen: dict[str, list[dict[str, str]]] = {path: [] for path in ("/robots.txt", "/", "/a", "/b")}
    directory: dict[str, Any] = {}

    def busy_until_the_keys_are_known(_: dict[str, str]) -> Any:
        return html() if directory else (503, {}, b"")

    answers = {"/robots.txt": ROBOTS, "/": html("/a", "/b", "/no"), "/a": html(), "/b": busy_until_the_keys_are_known}
    async with strange_site({path: recording(answers[path], seen[path]) for path in answers}) as site:
        command = [sys.executable, "-m", "gcs", "crawl", f"{site.origin}/", "-o", "out", "-n", "2", *QUICK]
        command += ["--set", f"fetch.signature_agent={AGENT}", "--station", "--listen", "127.0.0.1:0"]
        command += ["--set", "politeness.tries=10000", "--set", "politeness.max_pause_s=0.2"]
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=tmp_path,
            env=environment | {FILE_VARIABLE: str(key)},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr
        said = b""
        try:
            async with asyncio.timeout(120):
                while not (found := re.search(rb"station: (http://[^/\s]+)/", said)):
                    line = await process.stderr.readline()
                    assert line, said.decode()
                    said += line
                served = await asyncio.to_thread(urllib.request.urlopen, found[1].decode() + DIRECTORY_PATH)
                directory |= json.loads(served.read())
                said += await process.stderr.read()
                assert await process.wait() == 0, said.decode()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        assert served.headers["Content-Type"] == "application/http-message-signatures-directory+json"
        assert all(seen.values()), seen
        messages = [question_of(site.origin + path, asked) for path, requests in seen.items() for asked in requests]
        kid = directory["keys"][0]["kid"]
        assert ask("http-message-sig", VERIFIES, {"directory": directory, "messages": messages}) == [kid] * len(
            messages
        )
    secret = key.read_bytes().split(b"\n")[1]
    for kept in (tmp_path / "out").rglob("*"):
        assert not kept.is_file() or secret not in kept.read_bytes(), f"{kept} holds the key"


def test_crawl_without_its_key_ends_in_one_line(gcs: Callable[..., Any]) -> None:
    done = gcs("crawl", "http://127.0.0.1:9/", "--allow-private", "--set", f"fetch.signature_agent={AGENT}")
    assert done.code == 2
    assert done.err.count("\n") == 1 and FILE_VARIABLE in done.err
