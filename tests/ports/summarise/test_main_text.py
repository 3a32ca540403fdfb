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


@pytest.mark.parametrize("depth", ["fast", "full"])
def test_main_text_has_no_words_for_pictures(depth: Depth) -> None:
    picture = (
        b"<p>More <img src=/x.png alt='a clock'> of it.</p><figure><img src=/y.png alt='a clock'></figure></article>"
    )
    text = read(PAGE.replace(b"</article>", picture), depth).text
    assert PARAGRAPHS[0] in text and "a clock" not in text


def test_summarise_fast_and_full_add_text_language_and_signature() -> None:
    for document in (read(PAGE), read(PAGE, "full")):
        assert document.hrefs == ["/home", "/news", "/imprint", "/contact", "/login"]
        assert document.language == "en"
        assert document.simhash == simhash(document.text) != 0


LONG = [" ".join((text, *PARAGRAPHS[:2])) for text in PARAGRAPHS]
TEASERS = "".join(
    f"<div class=card><a href=/t{number}>{text[:60]}</a><p>{text[60:]}</p></div>"
    for number, text in enumerate(PARAGRAPHS)
)


@pytest.mark.parametrize(
    "pieces",
    [
        "".join(f"<section id=s{number}><p>{text}</p></section>" for number, text in enumerate(LONG)),
        "".join(f"<div class=css-{number}><div><p>{text}</p></div></div>" for number, text in enumerate(LONG)),
        "".join(f"<div class=sect1><h2>A</h2><div><pre>{text}</pre></div></div>" for text in LONG),
        f"<ul>{''.join(f'<li><p>{text}</p></li>' for text in LONG)}</ul>",
        f"<ul><li><p>{LONG[0]}</p></li></ul>{''.join(f'<p>{text}</p>' for text in LONG[1:])}",
    ],
)
def test_main_text_of_an_article_in_pieces_has_all_of_them(pieces: str) -> None:
    text = read(f"<body><nav>{MENU}</nav><div id=all>{pieces}</div><footer>The end</footer>".encode()).text
    assert [paragraph for paragraph in LONG if " ".join(paragraph.split()) not in " ".join(text.split())] == []
    assert "imprint" not in text and "The end" not in text


def test_main_text_may_stand_beside_what_looks_like_one() -> None:
    """Lines broken by <br> are no paragraphs, and the teasers have some."""
    lines, teasers = "<br><br>".join(LONG * 3), f"<p>{'</p><p>'.join(PARAGRAPHS[2:])}, and so on.</p>"
    page = f"<div class=c1>{MENU}</div><div class=c2><div class=c4>{lines}</div></div><div class=c3>{teasers}</div>"
    text = read(f"<div class=all>{page}</div>".encode()).text
    assert all(paragraph in text for paragraph in LONG)
    assert "imprint" not in text and "and so on" not in text


@pytest.mark.parametrize(
    "beside",
    [
        f"<section><h2>More</h2>{TEASERS * 4}</section>",
        "<div class='comments'>" + "".join(f"<div><p>{text}</p></div>" for text in PARAGRAPHS * 3) + "</div>",
        f"<div class=menu>{MENU * 9}</div>",
        f"<div>{TEASERS * 4}</div>",
    ],
)
def test_main_text_is_not_joined_by_what_only_stands_beside_it(beside: str) -> None:
    article = "".join(f"<p>{text}</p>" for text in LONG)
    text = read(f"<body><main><div class=story>{article}</div>{beside}</main>".encode()).text
    assert all(paragraph in text for paragraph in LONG)
    assert len(text) < sum(map(len, LONG)) + 100


@pytest.mark.parametrize(
    "level", ["<div class=a><p>", "<section><ul><li>", "<article><pre>", "<div class=a1><table><tr><td>"]
)
def test_search_for_the_pieces_takes_little_time(level: str) -> None:
    piece = f"{level}{PARAGRAPHS[0]}{'<a href=/x>y</a>' * 20}"
    with cpu_limit(2.0):
        read((piece * 90 + "<p>" + PARAGRAPHS[1] + "</p><div class=a>" * 3).encode() * 20)
        read(f"<body>{(piece + '</div></section></article>' * 2) * 3_000}".encode())


def test_full_text_is_that_of_fast_where_trafilatura_loses_most_of_it() -> None:
    """It takes a box by the name of "tags" for a list of keywords."""
    lost = f"<div class=tags>{''.join(f'<p>{text}</p>' for text in LONG)}</div>"
    page = f"<body>{lost}<article><p>{PARAGRAPHS[0] * 3}</p></article></body>".encode()
    assert read(page, "full").text == read(page).text
    assert all(paragraph in read(page, "full").text for paragraph in LONG)


def test_full_text_has_no_marks_of_links_and_emphasis() -> None:
    linked = PAGE.replace(b"two years", b"<a href='/y'>two years</a>").replace(b"every four", b"<b>every</b> four")
    document = read(linked, "full")
    assert all(paragraph in document.text for paragraph in PARAGRAPHS)
    assert "[two years](" in document.markdown and "**every**" in document.markdown


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
