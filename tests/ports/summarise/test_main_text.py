import pytest

from gcs.core.page.simhash import simhash
from gcs.core.page.values import Document
from gcs.ports.summarise import DEFAULT, Depth, Options, Source
from gcs.ports.summarise.html import summarise_html
from tests.limits import cpu_limit

PARAGRAPHS = [
    "The station was built in two years by men who had never built one before, and it has stood ever since.",
    "Trains leave it every four minutes in the morning, every ten at noon, and hardly at all in the night.",
    "Nobody who waits under its clock has ever agreed with anybody else about who is late, and why that is.",
    "In the winter its halls are warm, which is why the pigeons, the students and the chess players stay there.",
]
MENU = "".join(f"<li><a href='/{word}'>{word}</a></li>" for word in ("home", "news", "imprint", "contact", "login"))
PAGE = f"""<!DOCTYPE html><html><head><title>The station</title><script>var tracker = 1</script></head><body>
<header><nav class="menu"><ul>{MENU}</ul></nav></header>
<main><article><h1>The station</h1>{"".join(f"<p>{text}</p>" for text in PARAGRAPHS)}</article></main>
<footer class="footer"><p>Copyright notice</p></footer></body></html>""".encode()


def read(page: bytes, depth: Depth = "fast", options: Options = DEFAULT) -> Document:
    return summarise_html(Source(page, "text/html; charset=utf-8", "http://x/", depth, options))


@pytest.mark.parametrize("depth", ["fast", "full"])
def test_main_text_is_the_article_and_nothing_else(depth: Depth) -> None:
    text = read(PAGE, depth).text
    assert all(paragraph in text for paragraph in PARAGRAPHS)
    assert "imprint" not in text
    assert "tracker" not in text


def test_summarise_fast_and_full_add_text_language_and_signature() -> None:
    for document in (read(PAGE), read(PAGE, "full")):
        assert document.hrefs == ["/home", "/news", "/imprint", "/contact", "/login"]
        assert document.language == "en"
        assert document.simhash == simhash(document.text) != 0


def test_summarise_fast_takes_all_links_but_only_the_first_text_of_a_large_page() -> None:
    page = PAGE.replace(b"</article>", b"<p>late words <a href='/late'>late</a></p></article>")
    document = read(page, options=Options(max_text_bytes=400))
    assert document.hrefs[-1] == "/late"
    assert PARAGRAPHS[0] in document.text
    assert "late words" not in document.text


def test_summarise_fast_of_a_deep_page_gives_all_its_text() -> None:
    """The search for the main part would take seconds here, so there is none."""
    page = b"<div>" * 3000 + PAGE + b"</div>" * 3000
    text = read(page).text
    assert PARAGRAPHS[0] in text
    assert "imprint" in text


def test_full_text_falls_back_to_fast_where_trafilatura_finds_nothing() -> None:
    page = b"<html><body><p>Too short.</p></body></html>"
    assert read(page, "full").text == "Too short."


@pytest.mark.parametrize("page", [b"", b"\0" * 500, b"<", b"\xff" * 100, b"<svg>" * 200, b"<p>" + b"a" * 5000])
def test_full_text_takes_anything(page: bytes) -> None:
    assert isinstance(read(page, "full").text, str)


@pytest.mark.parametrize("depth", ["fast", "full"])
def test_text_tells_the_language_where_the_page_declares_another(depth: Depth) -> None:
    """A template that says "en" on every page of a German site is not believed; where nothing is said, it is."""
    german = "Der Bahnhof wurde in zwei Jahren gebaut, und seitdem steht er dort, und niemand weiß, warum er so ist."
    page = f"<html lang=en-US><title>t</title><article>{f'<p>{german}</p>' * 9}</article>".encode()
    assert read(page, depth).language == "de"
    assert read(b"<html lang=da-DK><p>Fig. 1</p>", depth).language == "da"


def test_page_of_one_long_class_takes_no_time() -> None:
    """The search for the main part looks for words in each class: 16 MB held a gatherer for 12 s."""
    page = b"<p class='" + b"a " * 6_000_000 + b"'>Words</p>"
    with cpu_limit(3.0):
        assert read(page).text == "Words"
