"""The sites that the manual crawls, in the place of docs.example.org and shop.example.org."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gcs.testing import Answer, serve

_WORDS = (
    "A crawler asks for pages and keeps what it finds. It waits between two requests to a host, so that the host "
    "has time for its readers. What it has stored stays stored, also when the machine loses power. "
)


def page(title: str, body: str) -> str:
    nav = "<nav><a href=/>Home</a> <a href=/guide/install.html>Install</a> <a href=/guide/use.html>Use</a></nav>"
    head = f"<title>{title}</title><meta name=description content='About: {title}'>" if title else ""
    main = f"<main><h1>{title.partition(' | ')[0]}</h1>{body}</main>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{nav}{main}</body></html>"


def docs() -> dict[str, Answer]:
    text = f"<p>{_WORDS * 3}</p>"
    found: dict[str, Answer] = {
        "/": page(
            "Example Docs",
            f"{text}<a href=/guide/>Guide</a> <a href=/old.html>Old</a> <a href=/gone.html>Gone</a>"
            " <a href=/news.html>News</a> <a href=/untitled.html>More</a> <a href='https://elsewhere.example/'>Friends</a>",
        ),
        "/guide/": page("Guide", text + "".join(f"<a href=/guide/part{n}.html>Part {n}</a> " for n in range(12))),
        "/guide/install.html": page("Install", f"{text}<h2>With pip</h2><pre><code>pip install it</code></pre>{text}"),
        "/guide/use.html": page("Use", f"{text}<h2>Begin</h2>{text}<h2>Go on</h2>{text}<h3>Details</h3>{text}"),
        "/old.html": (301, {"Location": "/guide/use.html"}, ""),
        "/untitled.html": page("", text),
        "/copy.html": page("Use", f"{text}<h2>Begin</h2>{text}<h2>Go on</h2>{text}<h3>Details</h3>{text}"),
        "/robots.txt": "User-agent: *\nAllow: /\nSitemap: /sitemap.xml\n",
        "/lonely.html": page("Lonely", text),
    }
    for number in range(12):
        other = f"<a href=/guide/part{(number + 5) % 12}.html>Next</a> <a href=/copy.html>Copy</a>"
        found[f"/guide/part{number}.html"] = page(f"Part {number}", f"{text}<h2>Of part {number}</h2>{text}{other}")
    listed = ["/", "/guide/", "/lonely.html"]
    found["/sitemap.xml"] = (
        '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        + "".join(f"<url><loc>{path}</loc></url>" for path in listed)
        + "</urlset>"
    )
    return found


def shop() -> dict[str, Answer]:
    goods = {"chair": "49.00", "table": "120.00", "lamp": "15.50"}
    found: dict[str, Answer] = {
        "/": page(
            "Shop", "".join(f"<a href=/goods/{name}.html>{name}</a> " for name in goods) + "<a href=/cart>Cart</a>"
        ),
        "/cart": page("Cart", "<p>Nothing yet.</p>"),
    }
    for name, price in goods.items():
        body = f"<span class=price>{price}</span><p>A {name} of wood. {_WORDS}</p><ul><li>wood<li>paint</ul>"
        found[f"/goods/{name}.html"] = page(f"{name.title()} | The Shop", body)
    found["/soup.recipe"] = (200, {"Content-Type": "application/x-recipe"}, "Soup\nWater and salt.\n")
    return found


class Changing(dict[str, Answer]):
    """A page says something else each time."""

    asked = 0

    def get(self, path: str, default: Answer | None = None) -> Answer:  # type: ignore[override]
        if path == "/news.html":
            self.asked += 1
            return page("News", f"<p>Edition {self.asked}. {_WORDS}</p>")
        return super().get(path, default or "")


@contextmanager
def sites() -> Iterator[dict[str, str]]:
    """What to write in place of what the manual says."""
    with serve(Changing(docs())) as docs_url, serve(shop()) as shop_url:
        yield {"https://docs.example.org/": docs_url, "https://shop.example.org/": shop_url}


if __name__ == "__main__":  # for scripts/walkthrough: until standard input ends
    with sites() as places:
        print(json.dumps(places), flush=True)
        sys.stdin.read()
