"""PowerPoint presentations, made by python-pptx."""

import io

from pptx import Presentation

from gcs.ports.reader import Summarisers
from tests.packages import bears_damage

summarise = Summarisers().summarise
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def presentation() -> bytes:
    made = Presentation()
    made.core_properties.title = "Lighthouses"
    for number in range(12):  # slide10.xml must not come before slide2.xml
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number + 1}"
        slide.notes_slide.notes_text_frame.text = f"Say {number + 1}"
    run = made.slides[0].placeholders[1].text_frame.paragraphs[0].add_run()
    run.text = "Where they stand"
    run.hyperlink.address = "https://lights.example/map"
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def test_pptx_has_slides_in_order_notes_and_links() -> None:
    for content_type in (PPTX, "application/zip"):
        document = summarise(presentation(), content_type, "http://x/a.pptx", "fast")
        assert document.title == "Lighthouses"
        lines = document.text.splitlines()
        assert lines[:3] == ["Slide 1", "Where they stand", "Say 1"]
        assert [line for line in lines if line.startswith("Slide")] == [f"Slide {n}" for n in range(1, 13)]
        assert document.hrefs == ["https://lights.example/map"]


def test_pptx_bears_damage() -> None:
    bears_damage(presentation(), PPTX)
