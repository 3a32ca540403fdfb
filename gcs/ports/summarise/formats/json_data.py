"""JSON: the texts in it, in their order; its title or name; the entries of a JSON feed as links."""

from collections.abc import Iterator
from typing import Any

import msgspec

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.encoding import as_text
from gcs.ports.summarise.formats import document_of

#: bytes that are read: values take many times as much memory
_MAX_BYTES = 4 << 20
_FEED = "https://jsonfeed.org/version/"
_TITLES = ("title", "name", "headline")


def summarise_json(source: Source) -> Document:
    """The Document of JSON; what is no JSON, or too long, is read as plain text."""
    text = as_text(source.content[:_MAX_BYTES], source.content_type)
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return document_of(source, text[: source.options.max_text_bytes].splitlines())
    top = value if isinstance(value, dict) else {}
    hrefs: list[str] = []
    if str(top.get("version", "")).startswith(_FEED) and isinstance(items := top.get("items"), list):
        urls = (item.get("url") or item.get("external_url") for item in items if isinstance(item, dict))
        hrefs = [url for url in (top.get("home_page_url"), top.get("next_url"), *urls) if isinstance(url, str)]
    title = next((top[name] for name in _TITLES if isinstance(top.get(name), str)), "")
    language = top.get("language")
    return document_of(
        source,
        _texts(value),
        hrefs,
        title=title,
        description=top["description"] if isinstance(top.get("description"), str) else "",
        language=language if isinstance(language, str) else "",
    )


def _texts(value: Any) -> Iterator[str]:
    """All strings that are values, without recursion."""
    stack = [iter((value,))]
    while stack:
        for each in stack[-1]:
            if isinstance(each, str):
                yield each
            elif isinstance(each, (dict, list)):
                stack.append(iter(each.values() if isinstance(each, dict) else each))
                break
        else:
            stack.pop()
