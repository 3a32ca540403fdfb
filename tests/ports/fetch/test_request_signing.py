"""Signed requests: every signature is checked by another implementation than the one that made it."""

import base64
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gcs.core.page.values import Request
from gcs.errors import SettingsError, UsageError
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.request_signing import (
    DIRECTORY_PATH,
    FILE_VARIABLE,
    SIGNATURE_S,
    KeyDirectory,
    RequestSigner,
    signing_keys,
)
from gcs.settings import load, terms
from tests.judges import ask

AGENT = "https://crawler.example"
#: http-message-sig (RFC 9421 in TypeScript): which of the messages have a sound signature, by keys of the directory
VERIFIES = """
import { verifySignature, component, webcrypto } from "http-message-sig";
const keys = new Map(question.directory.keys.map((key) => [key.kid, key]));
const answers = [];
for (const { message, label, components, tag } of question.messages) {
  try {
    const found = await verifySignature(message, {
      label,
      policy: {
        algorithms: ["ed25519"],
        requiredComponents: components.map(([name, parameters]) => component(name, parameters)),
        requiredParameters: ["created", "expires", "keyid", "nonce", "tag"],
        clockSkew: 5,
        validate: (signature) => signature.parameters.tag === tag,
      },
      async resolveVerifier(candidate) {
        const { kty, crv, x } = keys.get(candidate.parameters.keyid);
        const key = await crypto.subtle.importKey("jwk", { kty, crv, x }, { name: "Ed25519" }, true, ["verify"]);
        return webcrypto.verifier(key);
      },
    });
    answers.push(found.parameters.keyid);
  } catch (error) {
    answers.push(`${error.code}: ${error.message}`);
  }
}
console.log(JSON.stringify(answers));
"""


def question_of(url: str, headers: Mapping[str, str]) -> dict:
    """What the other implementation is asked about a request."""
    return {
        "message": {"kind": "request", "method": "GET", "targetUri": url, "fields": fields(headers)},
        "label": "sig1",
        "components": [["@authority", {}], ["signature-agent", {"key": "sig1"}]],
        "tag": "web-bot-auth",
    }


def fields(headers: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name.lower(), "value": value} for name, value in headers.items() if name]


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """Two keys, one after the other."""
    path = tmp_path / "bot.pem"
    made = ["openssl", "genpkey", "-algorithm", "ed25519"]
    path.write_bytes(b"".join(subprocess.run(made, check=True, capture_output=True).stdout for _ in range(2)))
    return path


@pytest.fixture
def sign(key_file: Path) -> Callable[[str], dict[str, str]]:
    """The headers of a signed request for a URL."""
    signer = RequestSigner(AGENT, signing_keys({FILE_VARIABLE: str(key_file)})[0])
    return lambda url: dict(signer.signed(Request(url)).headers)


URLS = ("http://example.com/", "https://example.com:8443/a?b=c", "http://127.0.0.1:8080/", "https://[::1]/x")


def test_another_implementation_believes_signatures_and_refuses_others(
    key_file: Path, sign: Callable[[str], dict[str, str]]
) -> None:
    keys = signing_keys({FILE_VARIABLE: str(key_file)})
    directory = json.loads(KeyDirectory(keys).body)
    true = [question_of(url, sign(url)) for url in URLS]
    signed = sign("http://example.com/")
    elsewhere = question_of("http://other.example/", signed)
    renamed = question_of("http://example.com/", signed | {"Signature-Agent": 'sig1="https://evil.example"'})
    longer = signed["Signature-Input"].replace("expires=", "expires=9")
    later = question_of("http://example.com/", signed | {"Signature-Input": longer})
    asked = {"directory": directory, "messages": [*true, elsewhere, renamed, later]}
    answers = ask("http-message-sig", VERIFIES, asked)
    assert answers[: len(true)] == [keys[0].id] * len(true)
    assert all(answer.startswith("VerificationFailed") for answer in answers[len(true) :]), answers


def test_directory_proves_that_it_holds_each_key(key_file: Path) -> None:
    keys = signing_keys({FILE_VARIABLE: str(key_file)})
    directory, url = KeyDirectory(keys), f"{AGENT}{DIRECTORY_PATH}"
    answer = {
        "kind": "response",
        "status": 200,
        "fields": fields(directory.headers(url)),
        "request": {"kind": "request", "method": "GET", "targetUri": url, "fields": []},
    }
    messages = [
        {"message": answer, "label": label, "components": [["@authority", {"req": True}]], "tag": tag}
        for label in ("sig1", "sig2")
        for tag in ("http-message-signatures-directory",)
    ]
    asked = {"directory": json.loads(directory.body), "messages": messages}
    assert ask("http-message-sig", VERIFIES, asked) == [key.id for key in keys]


def test_signature_is_what_the_rfc_says(key_file: Path, sign: Callable[[str], dict[str, str]]) -> None:
    """Checked by hand, from the headers alone: the base of RFC 9421, and the key's thumbprint as its name."""
    headers = sign("https://Example.com:443/path")
    said = headers["Signature-Input"].removeprefix("sig1=")
    base = f'"@authority": example.com\n"signature-agent";key="sig1": "{AGENT}"\n"@signature-params": {said}'
    [known] = [key for key in signing_keys({FILE_VARIABLE: str(key_file)}) if f'keyid="{key.id}"' in said]
    signature = base64.b64decode(headers["Signature"].removeprefix("sig1=").strip(":"))
    public = Ed25519PublicKey.from_public_bytes(known.public)
    public.verify(signature, base.encode())
    with pytest.raises(InvalidSignature):
        public.verify(signature, base.replace("example.com", "example.org", 1).encode())
    times = {name: int(value) for name, value in re.findall(r"(created|expires)=(\d+)", said)}
    assert SIGNATURE_S <= times["expires"] - times["created"] <= SIGNATURE_S + 5
    assert sign("https://example.com/path")["Signature-Input"] != headers["Signature-Input"], "each has its own nonce"


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (["openssl", "genpkey", "-algorithm", "RSA"], "no unencrypted private key of Ed25519"),
        (["openssl", "genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:x"], "no unencrypted private key"),
        (["echo", "nonsense"], "no PEM block"),
    ],
)
def test_what_is_no_key_is_refused_in_one_line(tmp_path: Path, made: list[str], why: str) -> None:
    path = tmp_path / "bot.pem"
    path.write_bytes(subprocess.run(made, check=True, capture_output=True).stdout)
    with pytest.raises(UsageError, match=why) as refused:
        signing_keys({FILE_VARIABLE: str(path)})
    assert "\n" not in str(refused.value) and "openssl genpkey" in str(refused.value)
    with pytest.raises(UsageError, match="cannot be read"):
        signing_keys({FILE_VARIABLE: str(tmp_path / "absent")})
    assert signing_keys({}) == []


def test_neither_the_key_nor_its_place_goes_to_helpers_or_into_settings(key_file: Path) -> None:
    settings = load(None, {FILE_VARIABLE: str(key_file)}, {"fetch.signature_agent": AGENT})
    assert str(key_file) not in repr(settings)
    assert terms(settings).fetch.signature_agent == ""
    [key, _] = signing_keys({FILE_VARIABLE: str(key_file)})
    assert "private" not in repr(key)


@pytest.mark.parametrize("agent", ["crawler.example", 'https://a"b', "https://a b", "ftp://a", "https://a\\b"])
def test_agent_that_cannot_stand_in_the_header_is_refused(agent: str) -> None:
    with pytest.raises(SettingsError, match="key directory"):
        FetchSettings(signature_agent=agent)
