"""Images, made by Pillow."""

import base64
import io

import pytest
from PIL import Image

from gcs.ports.reader import Summarisers
from gcs.ports.summarise import Options

summarise = Summarisers().summarise


def image(kind: str, size: tuple[int, int] = (640, 480), **options: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, (200, 30, 60)).save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "TIFF"])
def test_image_has_its_size(kind: str) -> None:
    document = summarise(image(kind), "application/octet-stream", "http://x/", "fast")
    assert document.description == f"{kind} image, 640 × 480 pixels"
    assert document.thumbnail == ""


def test_image_has_what_exif_says() -> None:
    exif = Image.Exif()
    exif[0x010E], exif[0x013B], exif[0x010F], exif[0x0110] = "The pier at dawn", "Ada Marsh", "Kodak", "One"
    document = summarise(image("JPEG", exif=exif), "image/jpeg", "http://x/", "fast")
    assert document.title == "The pier at dawn"
    assert document.description == "JPEG image, 640 × 480 pixels, by Ada Marsh, Kodak One"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_thumbnail_is_a_small_webp(kind: str) -> None:
    document = summarise(image(kind), "image/png", "http://x/", "fast", Options(thumbnails=96))
    head, _, data = document.thumbnail.partition(",")
    assert head == "data:image/webp;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as small:
        assert (small.format, small.size) == ("WEBP", (96, 72))
        assert abs(small.convert("RGB").getpixel((40, 40))[0] - 200) < 12


def test_damaged_image_has_no_thumbnail_and_raises_nothing() -> None:
    whole = image("PNG", (3000, 3000))
    for end in range(30, len(whole) // 2, 100):
        assert summarise(whole[:end], "image/png", "http://x/", "fast", Options(thumbnails=96)).thumbnail == ""


def test_image_of_too_many_pixels_is_not_decoded() -> None:
    bomb = image("PNG", (9000, 9000))
    document = summarise(bomb, "image/png", "http://x/", "fast", Options(thumbnails=96))
    assert (document.description, document.thumbnail) == ("PNG image, 9000 × 9000 pixels", "")
