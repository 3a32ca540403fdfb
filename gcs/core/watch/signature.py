"""How a webhook shows that a match comes from us: Standard Webhooks (https://www.standardwebhooks.com).

The receiver computes the same HMAC over id, time and body, and refuses what is older than a few minutes.
"""

import base64
import binascii
import hashlib
import hmac

from gcs.errors import UsageError

PREFIX = "whsec_"
#: bytes of a secret, at least and as we make it
_LEAST_BYTES, SECRET_BYTES = 24, 32


def make_secret(random: bytes) -> str:
    """A secret as receivers are given it."""
    return PREFIX + base64.b64encode(random).decode()


def key_of(secret: str) -> bytes:
    """The key that a secret stands for."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if len(key) < _LEAST_BYTES:
        raise UsageError(f"the secret of a webhook is {PREFIX} and at least {_LEAST_BYTES} bytes in base64")
    return key


def signed_headers(secret: str, identity: str, at: int, body: bytes) -> dict[str, str]:
    """The headers of one delivery; `at` in seconds since the epoch."""
    text = f"{identity}.{at}.".encode() + body
    signature = base64.b64encode(hmac.new(key_of(secret), text, hashlib.sha256).digest()).decode()
    return {"webhook-id": identity, "webhook-timestamp": str(at), "webhook-signature": f"v1,{signature}"}
