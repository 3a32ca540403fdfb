"""Images, by Pillow (the extra `images`): size and kind, EXIF (description, author, camera, date), a thumbnail.

Only the kinds in `_KINDS` are read, and only images of up to `_MAX_PIXELS` are decoded, for a thumbnail.
"""

import base64
import contextlib
import io
import warnings
from typing import Any

import msgspec

from gcs.core.page.values import THUMBNAIL_LENGTH, Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.formats import described, document_of, one_line

_KINDS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "ICO", "AVIF")
_MAX_PIXELS = 50_000_000
#: pixels of the longest side of a thumbnail at most
_MAX_EDGE = 512
#: tags of EXIF
_DESCRIPTION, _MAKE, _MODEL, _ARTIST, _DATE = 0x010E, 0x010F, 0x0110, 0x013B, 0x0132
_WEBP_QUALITY = 60


def summarise_image(source: Source) -> Document:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:  # the extra is not installed
        return Document()
    with warnings.catch_warnings(), contextlib.suppress(UnidentifiedImageError):
        warnings.simplefilter("ignore")  # of damaged metadata and large sizes, which are judged here
        with Image.open(io.BytesIO(source.content), formats=_KINDS) as image:
            tags: dict[int, Any] = {}
            with contextlib.suppress(Exception):  # damaged EXIF: Pillow raises whatever it stumbles over
                tags = dict(image.getexif())
            width, height = image.size
            camera = f"{_text(tags, _MAKE)} {_text(tags, _MODEL)}".strip()
            document = document_of(
                source,
                title=_text(tags, _DESCRIPTION),
                description=described(
                    f"{image.format} image",
                    f"{width} × {height} pixels",
                    _text(tags, _ARTIST) and f"by {_text(tags, _ARTIST)}",
                    camera,
                    _text(tags, _DATE),
                ),
            )
            edge = source.options.thumbnails
            if edge and width * height <= _MAX_PIXELS:
                return msgspec.structs.replace(document, thumbnail=_thumbnail(image, min(edge, _MAX_EDGE)))
            return document
    return Document()


def _text(tags: dict[int, Any], tag: int) -> str:
    value = tags.get(tag)
    return one_line(value)[:200] if isinstance(value, str) else ""


def _thumbnail(image: Any, edge: int) -> str:
    """The image as WebP in a data URL, no side longer than `edge` pixels; empty where it is damaged."""
    out = io.BytesIO()
    try:
        image.draft("RGB", (edge, edge))  # JPEG is decoded at a fraction of its size
        image.thumbnail((edge, edge))
        image.convert("RGBA" if "A" in image.mode or "transparency" in image.info else "RGB").save(
            out, "WEBP", quality=_WEBP_QUALITY
        )
    except Exception:  # Pillow raises whatever it stumbles over
        return ""
    url = "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode()
    return url if len(url) <= THUMBNAIL_LENGTH else ""
