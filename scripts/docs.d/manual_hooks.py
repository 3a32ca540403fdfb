"""Hooks of MkDocs: the pages of the reference, made from the code, and links that lead out of docs/."""

import inspect
import re
import sys
from pathlib import Path
from typing import Any, get_type_hints

import click

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import gcs  # noqa: E402 - the checkout's, not an installed one
import gcs.ports.sinks  # noqa: E402
import gcs.testing  # noqa: E402
from gcs.app.crawl_input import FLAGS  # noqa: E402
from gcs.cli import COMMANDS  # noqa: E402
from gcs.cli import gcs as command_line  # noqa: E402
from gcs.core.ordering import Found  # noqa: E402
from gcs.core.page.values import Document  # noqa: E402
from gcs.ports.summarise import Source, Summariser  # noqa: E402
from gcs.settings import documentation  # noqa: E402

#: a link to a file of the repository that is no page of the manual
_OUT = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?!docs/)([^)#]+)(#[^)]*)?\)")
#: a longer signature has a line for each parameter
_LINE_LETTERS = 76
_ARCHITECTURE = "gcs/ARCHITECTURE.md"
#: that of the station, too
_ICON = ROOT / "gcs" / "roles" / "station" / "static" / "icon.svg"


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    pages = {"commands": commands(), "settings": settings(), "api": api(), "architecture": architecture()}
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    files.append(File.generated(config, "img/icon.svg", content=_ICON.read_text()))
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
    section, flags = "", {key: flag for flag, key in FLAGS.items()}
    for key, default, text in documentation():
        head, _, name = key.partition(".")
        if head != section:
            section = head
            parts.append(f"## {head}\n\n| setting | default | what it does |\n|---|---|---|")
        shown = "" if default in (None, "", ()) else f"`{default}`"
        flag = f" (`{flags[key]}`)" if key in flags else ""
        parts[-1] += f"\n| `{name}` | {_cell(shown)} | {_cell(text)}{flag} |"
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def api() -> str:
    """What `import gcs` offers, with signatures and docstrings."""
    parts = ["# Python API", "Everything here is typed; `gcs` is checked by mypy in its strict mode."]
    for name in ("crawl", "Crawl", "CrawlOptions", "Page", "open", "StoredCrawl", "Report", "ReadPage", "GcsError"):
        parts += _described(f"gcs.{name}", getattr(gcs, name))
    parts += ["## Modules for your own code", "### gcs.ports.plugins", _text(sys.modules["gcs.ports.plugins"])]
    parts += ["### gcs.ports.sinks", _text(gcs.ports.sinks), "### gcs.testing", _text(gcs.testing)]
    for kind in (Found, Source, Summariser, Document):
        parts += [f"### {kind.__module__}.{kind.__name__}", _text(kind), _fields(kind)]
    return "\n\n".join(parts) + "\n"


def _described(name: str, what: Any) -> list[str]:
    if inspect.isfunction(what):
        return [f"## {name}", _signature(what), _text(what)]
    parts = [f"## {name}", _text(what)]
    if getattr(what, "__total__", None) is not None:  # a TypedDict: its keys are keywords
        told, texts = inspect.getdoc(what) or "", {key: text for key, _, text in documentation()}
        of_flags = {flag[2:].replace("-", "_"): _cell(texts[key]) for flag, key in FLAGS.items()}
        meant = of_flags | {key: _cell(found[1]) for key in what.__annotations__ if (found := _meaning(key, told))}
        rows = (f"| `{key}` | `{_cell(_kind(kind))}` | {meant[key]} |" for key, kind in what.__annotations__.items())
        intro = told.split("\n\n")[:2]
        return [parts[0], *intro, "| keyword | type | what it does |\n|---|---|---|\n" + "\n".join(rows)]
    if hasattr(what, "__struct_fields__"):
        return [*parts, _fields(what)]
    if what is gcs.Crawl and (told := inspect.getdoc(what.__init__)):
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


def _meaning(keyword: str, told: str) -> re.Match[str] | None:
    """What a docstring says behind "keyword:", alone or as one of several."""
    return re.search(rf"(?m)^(?:[\w, ]+, )?{keyword}(?:, [\w, ]+)?: (.*)", told)


def _fields(kind: Any) -> str:
    """The fields of a struct, with the comment of each."""
    rows, text, types = [], list[str](), get_type_hints(kind)  # without the bounds of hostile input
    for line in map(str.strip, inspect.getsource(kind).splitlines()):
        name = line.partition(":")[0]
        if line.startswith("#:"):
            text.append(line[2:].strip())
        elif name in inspect.get_annotations(kind) and line.startswith(f"{name}: "):
            rows.append(f"| `{name}` | `{_cell(_kind(types[name]))}` | {_cell(' '.join(text))} |")
            text = []
    return "| field | type | what it is |\n|---|---|---|\n" + "\n".join(rows)


def _kind(kind: Any) -> str:
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return _plain(text)


def _signature(function: Any, name: str = "") -> str:
    """A line, or a line for each parameter where it would be long."""
    signature = inspect.signature(function)
    given = [_plain(str(each)) for each in signature.parameters.values() if each.name != "self"]
    told = signature.return_annotation
    ends = f") -> {_kind(told)}" if told is not inspect.Signature.empty and told is not None else ")"
    head = f"{name or function.__name__}("
    line = f"{head}{', '.join(given)}{ends}"
    if len(line) > _LINE_LETTERS:
        line = f"{head}\n" + "".join(f"    {each},\n" for each in given) + ends
    return f"```text\n{line}\n```"


def _plain(text: str) -> str:
    """A type without the modules of its names."""
    text = re.sub(r"\*?<class '([\w.]+)'>", r"\1", text).replace("'", "")
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", text)


def _text(what: Any) -> str:
    """A docstring as Markdown: what is indented stands as it is."""
    told = inspect.getdoc(what) or ""
    return re.sub(r"(?m)^ {4}(?=\S)", "    ", told)
