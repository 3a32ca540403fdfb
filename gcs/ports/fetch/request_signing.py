"""Signed requests (Web Bot Auth): a site can check who crawls it, whatever the address and the User-Agent.

A gatherer signs the requests of its own engine by RFC 9421 with an Ed25519 key, as
draft-ietf-webbotauth-httpsig-protocol-00 says. `fetch.signature_agent` names the place whose key directory lists the
key; a station serves that directory (draft-meunier-webbotauth-httpsig-directory-00):

    Signature-Agent: sig1="https://crawler.example"
    Signature-Input: sig1=("@authority" "signature-agent";key="sig1");created=…;expires=…;keyid=…;nonce=…;tag=…
    Signature: sig1=:…:

The key comes from the file that GCS_SIGNATURE_KEY_FILE names: never from a command line, a setting or the whiteboard. A
file may hold several keys, one PEM block after the other: the first one signs, and all are in the directory, so that a
key can be replaced while caches still hold the old directory.

Invariants: each signature holds for one host and SIGNATURE_S seconds; no message holds a part of a key. Helpers sign
nothing: a signature that another machine makes or carries would speak in the crawl's name.
"""

import base64
import hashlib
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from gcs.core.page.values import Request
from gcs.errors import UsageError

FILE_VARIABLE = "GCS_SIGNATURE_KEY_FILE"
#: where the directory is, below the signature agent, and its media type
DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
DIRECTORY_TYPE = "application/http-message-signatures-directory+json"
#: seconds for which a signature of a request, and one of the directory, hold
SIGNATURE_S, DIRECTORY_S = 300, 86_400
#: seconds that a signature is dated back: the clocks of servers differ
_BACK_S = 5
_LABEL = "sig1"
_MOST_BYTES, _NONCE_BYTES = 64 << 10, 64
_PEM = re.compile(rb"-----BEGIN [A-Z ]{1,40}-----[^-]{1,4000}-----END [A-Z ]{1,40}-----")
_ADVICE = "make one with: openssl genpkey -algorithm ed25519 -out bot.pem"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 key, and the name by which the directory lists it."""

    private: Any = field(repr=False)
    #: the raw public key
    public: bytes
    #: thumbprint of the public key (RFC 7638, RFC 8037)
    id: str

    @property
    def jwk(self) -> dict[str, str]:
        return {"kty": "OKP", "crv": "Ed25519", "kid": self.id, "x": _base64url(self.public), "use": "sig"}


@dataclass(slots=True)
class _Message:
    """What the library signs: a request, or with `status_code` the answer to one."""

    url: str
    headers: dict[str, str]
    method: str = "GET"


@dataclass(slots=True)
class _Answer:
    status_code: int
    request: _Message
    headers: dict[str, str]


def signing_keys(environment: Mapping[str, str]) -> list[SigningKey]:
    """The keys of the file that the environment names; none if it names no file."""
    name = environment.get(FILE_VARIABLE, "")
    if not name:
        return []
    try:
        with Path(name).open("rb") as file:
            text = file.read(_MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{FILE_VARIABLE}={name}: the key cannot be read ({error.strerror}); {_ADVICE}") from None
    keys = [_key_of(block, name) for block in _PEM.findall(text)]
    if not keys:
        raise UsageError(f"{FILE_VARIABLE}={name}: there is no PEM block in it; {_ADVICE}")
    return keys


class RequestSigner:
    """Signs the requests of one gatherer."""

    def __init__(self, agent: str, key: SigningKey, clock: Callable[[], float] = time.time) -> None:
        self._agent, self._key, self._clock = agent, key, clock
        self._signer = _signer(key)

    def signed(self, request: Request) -> Request:
        """The request with the headers of its signature."""
        message = _Message(request.url, {"Signature-Agent": f'{_LABEL}="{self._agent}"'})
        now = int(self._clock())
        self._signer.sign(
            message,
            key_id=self._key.id,
            created=_moment(now - _BACK_S),
            expires=_moment(now + SIGNATURE_S),
            nonce=base64.b64encode(secrets.token_bytes(_NONCE_BYTES)).decode(),
            label=_LABEL,
            tag="web-bot-auth",
            covered_component_ids=("@authority", f'"signature-agent";key="{_LABEL}"'),
        )
        return msgspec.structs.replace(request, headers=(*request.headers, *message.headers.items()))


class KeyDirectory:
    """The public keys, as sites ask for them; signed with each of the keys, which proves that they are held here."""

    def __init__(self, keys: list[SigningKey], clock: Callable[[], float] = time.time) -> None:
        self._keys, self._clock = keys, clock
        self.body = msgspec.json.encode({"keys": [key.jwk for key in keys]})

    def headers(self, url: str) -> dict[str, str]:
        """The headers of the answer to a request for this URL. Raises UsageError for a URL that nobody can ask for."""
        answer = _Answer(200, _Message(url, {}), {"Content-Type": DIRECTORY_TYPE})
        now = int(self._clock())
        for number, key in enumerate(self._keys, 1):
            try:
                _signer(key).sign(
                    answer,
                    key_id=key.id,
                    created=_moment(now - _BACK_S),
                    expires=_moment(now + DIRECTORY_S),
                    nonce=base64.b64encode(secrets.token_bytes(_NONCE_BYTES)).decode(),
                    label=f"sig{number}",
                    tag="http-message-signatures-directory",
                    covered_component_ids=('"@authority";req',),
                    append_if_signature_exists=True,
                )
            except _library().HTTPMessageSignaturesException as error:
                raise UsageError(f"the key directory cannot be had at {url[:200]!r}: {error}") from None
        return {**answer.headers, "Cache-Control": f"max-age={DIRECTORY_S // 2}"}


def _signer(key: SigningKey) -> Any:
    library = _library()
    resolver = library.MappingKeyResolver(public_keys={}, private_keys={key.id: key.private})
    return library.HTTPMessageSigner(signature_algorithm=library.algorithms.ED25519, key_resolver=resolver)


def _library() -> Any:
    try:
        import http_message_signatures
        import http_message_signatures.algorithms
    except ImportError:
        raise UsageError("signed requests need a library: pip install 'gcs-crawler[signing]'") from None
    return http_message_signatures


def _key_of(block: bytes, name: str) -> SigningKey:
    _library()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        private = serialization.load_pem_private_key(block, password=None)
    except (ValueError, TypeError):  # TypeError: it is encrypted
        private = None
    if not isinstance(private, Ed25519PrivateKey):
        raise UsageError(f"{FILE_VARIABLE}={name}: a PEM block is no unencrypted private key of Ed25519; {_ADVICE}")
    public = private.public_key().public_bytes_raw()
    thumbprint = hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{_base64url(public)}"}}'.encode()).digest()
    return SigningKey(private, public, _base64url(thumbprint))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
