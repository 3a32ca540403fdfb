"""The key directory of signed requests: anybody may ask for it, and nothing else is told to them."""

import json
import subprocess
from pathlib import Path

import pytest

from gcs.ports.fetch.request_signing import DIRECTORY_PATH, FILE_VARIABLE, KeyDirectory, SigningKey, signing_keys
from gcs.roles.station.station import ListenAddress
from tests.roles.station.stage import stage

OUTSIDE = ListenAddress("0.0.0.0", 0)


@pytest.fixture
def keys(tmp_path: Path) -> list[SigningKey]:
    path = tmp_path / "bot.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True)
    return signing_keys({FILE_VARIABLE: str(path)})


async def test_directory_needs_no_token_where_all_else_does(keys: list[SigningKey]) -> None:
    async with stage(OUTSIDE, empty=True, directory=KeyDirectory(keys)) as at:
        port = at.station.address.port
        answer = await at.call(DIRECTORY_PATH, headers={"Host": "crawler.example"})
        assert (answer.status, json.loads(await answer.read())["keys"][0]["kid"]) == (200, keys[0].id)
        assert answer.headers["Content-Type"] == "application/http-message-signatures-directory+json"
        assert 'tag="http-message-signatures-directory"' in answer.headers["Signature-Input"]
        assert answer.headers["Cache-Control"].startswith("max-age=")
        assert (await at.call("/api/status")).status == 401
        strange = await at.call(DIRECTORY_PATH, headers={"Host": f"a|b:{port}"})
        assert strange.status in (200, 400), "a Host that is none is no error of ours"


async def test_station_on_loopback_serves_it_under_the_name_of_its_proxy(keys: list[SigningKey]) -> None:
    async with stage(empty=True, directory=KeyDirectory(keys), names=["crawler.example"]) as at:
        assert (await at.call(DIRECTORY_PATH, headers={"Host": "crawler.example"})).status == 200
        assert (await at.call(DIRECTORY_PATH, headers={"Host": "evil.example"})).status == 421


async def test_station_without_keys_has_no_directory() -> None:
    async with stage(empty=True) as at:
        assert (await at.call(DIRECTORY_PATH)).status == 404
