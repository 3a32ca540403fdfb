"""Sort keys as LMDB can hold them."""

import xxhash

#: LMDB's own limit is 511 bytes; longer sort keys end in a hash of the whole
MAX_KEY_BYTES = 480


def short(key: bytes) -> bytes:
    """The key, or its beginning and a hash. A cut key keeps its order against shorter ones: ranges need no more."""
    if len(key) <= MAX_KEY_BYTES:
        return key
    return key[: MAX_KEY_BYTES - 18] + b"\x00#" + xxhash.xxh3_64_hexdigest(key).encode()
