"""GCS as a later version would be: `python -m tests.chaos.newer …` is `python -m gcs …`, but writes blocks and parts of
ranges in a version that the present one does not know. It reads both.
"""

import runpy

from gcs.core.messages import codec
from gcs.core.messages.tuples import HandOver, UrlBlock


def speak() -> None:
    """Let this process speak the later version. Before the whiteboard's modules are loaded."""
    for kind in (UrlBlock, HandOver):
        later = tuple(
            bytes((kind.code, version)) for version in (kind.version + 1, (kind.version + 1) | codec.DEFLATED)
        )
        for before, header in zip(codec._headers[kind], later, strict=True):
            codec._decoders[header] = codec._decoders[before]
        codec._headers[kind] = later[0], later[1]
    codec.DIALECT = "newer"


if __name__ == "__main__":
    speak()
    runpy.run_module("gcs", run_name="__main__")
