"""Pages with articles, as sites of nine kinds would print them, and the text that a reader came for.

Equal numbers give equal pages. The prose has function words, commas and names, so that what weighs text (density,
commas, stop words) finds what it finds on the web. Around it stands what stands around articles: menus, crumbs, share
buttons, teasers with sentences of their own, comments, cookie notices, scripts.
"""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

_FUNCTION_WORDS = (
    *("the", "of", "and", "to", "in", "is", "that", "for", "it", "as", "was", "with", "be", "by", "on", "not", "he"),
    *("his", "but", "at", "are", "this", "have", "from", "or", "had", "an", "they", "which", "one", "you", "were"),
    *("all", "she", "there", "would", "their", "we", "him", "been", "has", "when", "who", "will", "more", "no", "if"),
)
_SYLLABLES = [first + second for first in "bcdfghklmnprstvw" for second in ("a", "e", "i", "o", "u", "an", "er", "or")]
#: bytes of scripts that stand before the text of the heavy kind
_HEAVY_BYTES = 640 * 1024


class ArticlePage(NamedTuple):
    """A page, and the truth about it."""

    kind: str
    html: str
    #: what the reader came for, without the headline
    text: str


class Writer:
    """Prose, and the furniture of pages."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.words = ["".join(self.random.choices(_SYLLABLES, k=self.random.randint(1, 4))) for _ in range(600)]

    def phrase(self, count: int) -> str:
        pick = self.random
        words = [
            pick.choice(_FUNCTION_WORDS) if pick.random() < 0.42 else pick.choice(self.words) for _ in range(count)
        ]
        return " ".join(words)

    def sentence(self) -> str:
        words = self.phrase(self.random.randint(7, 24)).split()
        for at in range(5, len(words) - 2, self.random.randint(5, 9)):
            words[at] += ","
        return " ".join(words).capitalize() + self.random.choice("....?")

    def paragraph(self, least: int = 2, most: int = 6) -> str:
        return " ".join(self.sentence() for _ in range(self.random.randint(least, most)))

    def title(self) -> str:
        return self.phrase(self.random.randint(4, 9)).capitalize()

    def link(self, text: str) -> str:
        return f'<a href="/{self.phrase(2).replace(" ", "-")}-{self.random.randint(1, 9999)}.html">{text}</a>'

    def links(self, count: int, tag: str = "li") -> str:
        return "".join(
            f"<{tag}>{self.link(self.phrase(self.random.randint(1, 3)).title())}</{tag}>" for _ in range(count)
        )

    def teasers(self, count: int) -> str:
        """Boxes that lead to other articles, each with a sentence of text."""
        return "".join(
            f'<div class="card"><img src="/t{n}.jpg" alt="{self.phrase(5)}"><h3>{self.link(self.title())}</h3>'
            f'<p class="dek">{self.sentence()}</p></div>'
            for n in range(count)
        )

    def comments(self, count: int) -> str:
        return "".join(
            f'<li class="comment"><b>{self.phrase(2).title()}</b> <time>{n + 1} May</time>'
            f"<p>{self.paragraph(1, 3)}</p><a href='#r{n}'>Reply</a></li>"
            for n in range(count)
        )

    def inline(self, text: str) -> str:
        """The paragraph with a link and emphasis in it, whose words stay the same."""
        words = text.split()
        at = self.random.randrange(len(words) - 4)
        words[at : at + 3] = [self.link(" ".join(words[at : at + 3]))]
        words[-2] = f"<em>{words[-2]}</em>"
        return " ".join(words)

    def script(self, size: int) -> str:
        line = "window.q=window.q||[];q.push({{'k{0}':'{1}','u':'https://cdn.example/{0}.js'}});\n"
        return "".join(line.format(n, self.phrase(3)) for n in range(size // 110))


Kind = Callable[[Writer, str, list[str]], tuple[str, list[str]]]


def _page(write: Writer, title: str, body: str, head: str = "") -> str:
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} - {write.phrase(2).title()}</title>'
        f'<meta name="description" content="{write.sentence()}"><style>.a{{margin:0}}</style>{head}</head><body>{body}'
        f"<script>{write.script(3_000)}</script></body></html>"
    )


def _furniture(write: Writer) -> tuple[str, str]:
    """What stands above and below."""
    above = (
        f'<div id="cookies" role="dialog"><p>We use cookies to give you the best of our site. {write.sentence()}</p>'
        f"<button>Accept</button></div><header><a href='/'><img src=/logo.png alt='Logo of the site'></a>"
        f"<nav><ul>{write.links(14)}</ul></nav></header>"
    )
    below = (
        f"<footer><div><h4>About</h4><ul>{write.links(9)}</ul></div><p>&copy; 2026. All rights reserved. "
        f"{write.sentence()}</p><form><label>Newsletter</label><input name=mail><button>Sign up</button></form>"
        "</footer>"
    )
    return above, below


def _news(write: Writer, title: str, texts: list[str]) -> tuple[str, list[str]]:
    above, below = _furniture(write)
    parts = []
    for number, text in enumerate(texts):
        parts.append(f"<p>{write.inline(text) if number % 2 else text}</p>")
        if number == 1:
            parts.append(f'<aside class="promo"><h4>Read more</h4><ul>{write.links(3)}</ul></aside>')
        if number == 2:
            parts.append(f'<figure><img src="/f.jpg" alt="{write.phrase(6)}"></figure>')
    buttons = "".join(f'<li><a href="#{name[0]}">{name}</a></li>' for name in ("Share", "Post", "Mail"))
    share = f'<ul class="share">{buttons}</ul>'
    body = (
        f'{above}<main><article><h1>{title}</h1><p class="byline">By <a href="/a">{write.phrase(2).title()}</a>, '
        f"<time datetime=2026-05-04>4 May</time></p>{share}{''.join(parts)}{share}</article>"
        f'<section class="related"><h2>Related</h2>{write.teasers(6)}</section></main>{below}'
    )
    return _page(write, title, body), texts


def _blog(write: Writer, title: str, texts: list[str]) -> tuple[str, list[str]]:
    above, below = _furniture(write)
    heading = write.title()
    middle = len(texts) // 2
    paragraphs = [f"<p>{text}</p>" for text in texts]
    content = "".join([*paragraphs[:middle], f"<h2>{heading}</h2>", *paragraphs[middle:]])
    body = (
        f'{above}<div id="wrap"><div id="content"><div class="post hentry"><h1 class="entry-title">{title}</h1>'
        f'<div class="entry-content">{content}</div><p class="tags">Tags: {write.links(4, "span")}</p></div>'
        f'<div id="comments"><h3>Comments</h3><ol>{write.comments(8)}</ol></div></div>'
        f'<div id="sidebar"><h3>Archive</h3><ul>{write.links(24)}</ul></div></div>{below}'
    )
    return _page(write, title, body), [*texts[:middle], heading, *texts[middle:]]


def _soup(write: Writer, title: str, texts: list[str]) -> tuple[str, list[str]]:
    """A page of <div>s with names that say nothing, and lines that are broken by <br>."""
    menu = "".join(f'<div class="x{n % 7}">{write.link(write.phrase(2).title())}</div>' for n in range(20))
    body = (
        f'<div class="c1"><div class="c2">{menu}</div><div class="c3"><div class="c4"><b>{title}</b></div>'
        f'<div class="c5">{"<br><br>".join(texts)}</div></div><div class="c6">{write.teasers(5)}</div>'
        f'<div class="c7">{write.links(12, "div")}</div></div>'
    )
    return _page(write, title, body), texts


def _manual(write: Writer, title: str, texts: list[str]) -> tuple[str, list[str]]:
    """Documentation: headings, lists, a table, code."""
    parts, said = [], []
    for number, text in enumerate(texts):
        if number % 3 == 1:
            heading = write.title()
            parts.append(f'<h2 id="s{number}">{heading}</h2>')
            said.append(heading)
        parts.append(f"<p>{text}</p>")
        said.append(text)
        if number % 4 == 2:
            items = [write.sentence() for _ in range(4)]
            parts.append(f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>")
            said += items
        if number % 5 == 3:
            code = "\n".join(
                f"{write.random.choice(write.words)} = f({n}, '{write.random.choice(write.words)}')" for n in range(4)
            )
            parts.append(f"<pre><code>{code}</code></pre>")
            said.append(code)
        if number % 6 == 4:
            rows = [[write.phrase(2), write.phrase(5)] for _ in range(4)]
            parts.append(f"<table>{''.join(f'<tr><td>{a}</td><td>{b}</td></tr>' for a, b in rows)}</table>")
            said += [cell for row in rows for cell in row]
    body = (
        f'<div class="navbar"><ul>{write.links(6)}</ul></div>'
        f'<div class="sidebar" role="navigation"><ul>{write.links(40)}</ul></div>'
        f'<div class="document"><div class="body" role="main"><h1>{title}</h1>{"".join(parts)}</div></div>'
        f'<div class="footer">Made with a tool. {write.links(3, "span")}</div>'
    )
    return _page(write, title, body), said


def _wiki(write: Writer, title: str, texts: list[str]) -> tuple[str, list[str]]:
    headings = [write.title() for _ in texts]
    content, said = [], []
    for number, (heading, text) in enumerate(zip(headings, texts)):
        if number % 2:
            content.append(
                f'<h2><span id="h{number}">{heading}</span><span class="edit">[<a href="/e">edit</a>]</span></h2>'
            )
            said.append(heading)
        content.append(f"<p>{write.inline(text)}</p>")
        said.append(text)
    contents = "".join(f'<li><a href="#h{n}">{heading}</a></li>' for n, heading in enumerate(headings) if n % 2)
    body = (
        f'<div id="content"><h1 id="firstHeading">{title}</h1><div id="bodyContent"><div class="mw-parser-output">'
        f'{content[0]}<div class="toc" role="navigation"><h2>Contents</h2><ul>{contents}</ul></div>'
        f'{"".join(content[1:])}</div></div><div id="catlinks">Categories: {write.links(5, "span")}</div></div>'
        f'<div id="mw-navigation"><ul>{write.links(30)}</ul></div>'
        f'<div id="footer"><ul><li>This page was last edited on 4 May.</li>{write.links(5)}</ul></div>'
    )
    return _page(write, title, body), said


def _tables(write: Writer, title: str, texts: list[str]) -> tuple[str, list[str]]:
    """The layout of 1999."""
    paragraphs = "".join(f"<p><font face=serif>{text}</font>" for text in texts)
    body = (
        f'<table width="100%"><tr><td colspan=3><font size=5>{write.phrase(2).title()}</font></td></tr><tr>'
        f"<td width=150 valign=top>{'<br>'.join(write.link(write.phrase(2)) for _ in range(18))}</td>"
        f"<td valign=top><font size=4><b>{title}</b></font>{paragraphs}</td>"
        f"<td width=150 valign=top>{'<br>'.join(write.link(write.title()) for _ in range(9))}</td></tr></table>"
    )
    return _page(write, title, body), texts


def _brief(write: Writer, title: str, texts: list[str]) -> tuple[str, list[str]]:
    """A short notice among many teasers."""
    above, below = _furniture(write)
    texts = texts[:2]
    body = (
        f'{above}<main><div class="grid">{write.teasers(4)}</div><article class="story"><h1>{title}</h1>'
        f'<div class="story-body">{"".join(f"<p>{text}</p>" for text in texts)}</div></article>'
        f'<section class="more">{write.teasers(12)}</section></main>{below}'
    )
    return _page(write, title, body), texts


def _minified(write: Writer, title: str, texts: list[str]) -> tuple[str, list[str]]:
    """What a script framework leaves: wrappers in wrappers, names of letters and numbers, data in the page."""
    content = "".join(
        f'<div class="css-1a2b{n}"><div><p class="css-9z">{text}</p></div></div>' for n, text in enumerate(texts)
    )
    data = f'<script id="__DATA__" type="application/json">{{"body":"{" ".join(texts)}"}}</script>'
    body = (
        f'<div id="root"><div><div class="css-h"><nav>{write.links(12, "div")}</nav></div>'
        f'<div class="css-m"><div><h1>{title}</h1></div><section name="articleBody">{content}</section></div>'
        f'<div class="css-r">{write.teasers(5)}</div></div></div>{data}'
    )
    return _page(write, title, body), texts


def _heavy(write: Writer, title: str, texts: list[str]) -> tuple[str, list[str]]:
    """News behind more than half a megabyte of script."""
    html, said = _news(write, title, texts)
    return html.replace("</head>", f"<script>{write.script(_HEAVY_BYTES)}</script></head>", 1), said


KINDS: dict[str, Kind] = {
    "news": _news,
    "blog": _blog,
    "soup": _soup,
    "manual": _manual,
    "wiki": _wiki,
    "tables": _tables,
    "brief": _brief,
    "minified": _minified,
    "heavy": _heavy,
}


def articles(count: int) -> list[ArticlePage]:
    """So many pages, of all kinds by turns."""
    pages = []
    for number in range(count):
        kind, make = list(KINDS.items())[number % len(KINDS)]
        write = Writer(number)
        title = write.title()
        html, said = make(write, title, [write.paragraph() for _ in range(write.random.randint(5, 24))])
        pages.append(ArticlePage(kind, html, "\n".join(said)))
    return pages
