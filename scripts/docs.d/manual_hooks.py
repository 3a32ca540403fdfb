"""Hooks of MkDocs: the pages of the reference, made from the code, and links that lead out of docs/."""

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import gcs  # noqa: E402 - the checkout's, not an installed one
import gcs.ports.sinks  # noqa: E402
import gcs.testing  # noqa: E402
from gcs.cli import COMMANDS  # noqa: E402
from gcs.cli import gcs as command_line  # noqa: E402
from gcs.settings import documentation  # noqa: E402

#: a link to a file of the repository that is no page of the manual
_OUT = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?!docs/)([^)#]+)(#[^)]*)?\)")
_ARCHITECTURE = "gcs/ARCHITECTURE.md"


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    pages = {"commands": commands(), "settings": settings(), "api": api(), "architecture": architecture()}
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A file of the repository is named, not linked; the architecture is a page."""
    depth = page.file.src_path.count("/")

    def link(found: re.Match[str]) -> str:
        text, path, anchor = found.groups()
        if path == _ARCHITECTURE:
            return f"[{text}]({'../' * depth}reference/architecture.md{anchor or ''})"
        return text if text.startswith("`") else f"{text} (`{path}`)"

    return _OUT.sub(link, markdown)


def architecture() -> str:
    """`gcs/ARCHITECTURE.md`, with links that lead from its new place."""
    return (ROOT / _ARCHITECTURE).read_text().replace("](../docs/", "](../")


def commands() -> str:
    """Each command as its --help says it."""
    parts = ["# Commands", "Every command says the same with `--help`."]
    context = click.Context(command_line, info_name="gcs")
    for name in sorted(COMMANDS):
        command = command_line.get_command(context, name)
        assert command is not None
        parts += [f"## gcs {name}", *_help(command, context, name)]
    return "\n\n".join(parts) + "\n"


def _help(command: click.Command, parent: click.Context, name: str) -> list[str]:
    with click.Context(command, info_name=name, parent=parent, max_content_width=100, terminal_width=100) as context:
        parts = [f"```text\n{command.get_help(context)}\n```"]
        if isinstance(command, click.Group):
            for each in command.list_commands(context):
                inner = command.get_command(context, each)
                assert inner is not None
                parts += [f"### gcs {name} {each}", *_help(inner, context, each)]
    return parts


def settings() -> str:
    """Each setting, its default and what it means."""
    parts = [
        "# Settings",
        "As a file: `gcs settings > crawl.toml`, then `gcs crawl -c crawl.toml …`. As environment: "
        "`GCS_POLITENESS_DELAY_S=2`. As a flag: `--set politeness.delay_s=2`. In Python: "
        '`settings={"politeness.delay_s": 2}`. File < environment < flags. A key that does not exist is an error.',
    ]
    section = ""
    for key, default, text in documentation():
        head, _, name = key.partition(".")
        if head != section:
            section = head
            parts.append(f"## {head}\n\n| setting | default | what it does |\n|---|---|---|")
        shown = "" if default in (None, "", ()) else f"`{default}`"
        parts[-1] += f"\n| `{name}` | {_cell(shown)} | {_cell(text)} |"
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def api() -> str:
    """What `import gcs` offers, with signatures and docstrings."""
    parts = ["# Python API", "Everything here is typed; `gcs` is checked by mypy in its strict mode."]
    for name in ("crawl", "Crawl", "CrawlOptions", "Page", "open", "StoredCrawl", "ReadPage", "GcsError"):
        parts += _described(f"gcs.{name}", getattr(gcs, name))
    parts += ["## Modules for users", "### gcs.ports.plugins", _text(sys.modules["gcs.ports.plugins"])]
    parts += ["### gcs.ports.sinks", _text(gcs.ports.sinks), "### gcs.testing", _text(gcs.testing)]
    return "\n\n".join(parts) + "\n"


def _described(name: str, what: Any) -> list[str]:
    if inspect.isfunction(what):
        return [f"## {name}", _signature(what), _text(what)]
    parts = [f"## {name}", _text(what)]
    if getattr(what, "__total__", None) is not None:  # a TypedDict: its keys are keywords
        rows = (f"| `{key}` | `{_kind(kind)}` |" for key, kind in what.__annotations__.items())
        return [*parts, "| keyword | type |\n|---|---|\n" + "\n".join(rows)]
    if "__init__" in vars(what) and (told := inspect.getdoc(what.__init__)):
        parts += [_signature(what.__init__, name), told]
    for key, member in vars(what).items():
        if key.startswith("_"):
            continue
        if isinstance(member, property) or hasattr(member, "attrname"):
            getter = member.fget if isinstance(member, property) else member.func
            kind = inspect.get_annotations(getter).get("return", "")
            parts += [f"### {name}.{key}", f"`{_kind(kind)}`", _text(member)]
        elif inspect.isfunction(member):
            parts += [f"### {name}.{key}", _signature(member), _text(member)]
    return [part for part in parts if part]


def _kind(kind: Any) -> str:
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return text.replace("collections.abc.", "").replace("typing.", "")


def _signature(function: Any, name: str = "") -> str:
    text = (
        str(inspect.signature(function)).replace("collections.abc.", "").replace("typing.", "").replace("pathlib.", "")
    )
    text = text.replace("(self, ", "(").replace("(self)", "()").replace("'", "")
    return f"```text\n{name or function.__name__}{text}\n```"


def _text(what: Any) -> str:
    """A docstring as Markdown: what is indented stands as it is."""
    told = inspect.getdoc(what) or ""
    return re.sub(r"(?m)^ {4}(?=\S)", "    ", told)
