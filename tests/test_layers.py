"""The layers: cli, api → app → roles → ports → core; sim and fakeweb → core. Imports go one way, with no cycles."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcs.cli import COMMANDS

ROOT = Path(__file__).parents[1]
#: what each layer may import from the package; "" is the package itself
ALLOWED = {
    "core": {"core", "errors"},
    "ports": {"ports", "core", "errors", "events", "version"},
    "roles": {"roles", "ports", "core", "errors", "events", "settings", "version"},
    "fakeweb": {"fakeweb", "core", "errors", "events"},
    "sim": {"sim", "core", "errors", "events"},
    "app": {"app", "sim", "roles", "ports", "core", "errors", "events", "settings"},
    "api": {"api", "app", "roles", "ports", "core", "errors", "events", "settings"},
    "cli": {"cli", "app", "fakeweb", "sim", "roles", "ports", "core", "errors", "events", "settings", "version"},
    "testing": {"fakeweb"},  # for the tests of users
    "settings": {"ports", "core", "errors", "version"},
    "errors": set(),
    "events": {"errors"},
    "__main__": {"cli"},
    "version": set(),
    "": {
        "api",
        "core",
        "errors",
        "ports",
        "version",
    },  # the names of the library, for type checkers; loaded at their first use
}

#: imports inside of functions: what is slow to load, and not needed by every process that loads the importer
LAZY = {
    ("gcs.app.assembly", "gcs.ports.frontier.disk_queue"),  # numpy
    ("gcs.app.assembly", "gcs.ports.fetch.aio_engine"),
    ("gcs.app.assembly", "gcs.ports.fetch.browser"),  # Playwright
    ("gcs.app.assembly", "gcs.ports.fetch.curl_engine"),
    ("gcs.app.assembly", "gcs.ports.fetch.sources.source_engine"),
    ("gcs.app.assembly", "gcs.roles.gatherer.team.seed_client"),
    ("gcs.app.assembly", "gcs.roles.gatherer.team.team_member"),
    ("gcs.app.crawl_dir", "gcs.ports.records.reading"),  # pyarrow
    ("gcs.app.processes.local_team", "gcs.app.processes.station_process"),  # an HTTP server
    ("gcs.app.terminal", "gcs.ports.records.reading"),  # pyarrow
    ("gcs.cli.crawl", "gcs.app"),
    ("gcs.cli.crawl", "gcs.app.coordination"),  # numpy
    ("gcs.cli.crawl", "gcs.app.processes.local_team"),  # the client of Redis
    ("gcs.cli.crawl", "gcs.app.processes.named_runs"),  # the client of Redis
    ("gcs.cli.search", "gcs.app.find_crawl"),  # the client of Redis
    ("gcs.cli.search", "gcs.ports.search.team_search"),
    ("gcs.cli.status", "gcs.app"),
    ("gcs.cli.status", "gcs.app.station.store_source"),  # the catalogue, and what reads Parquet
    ("gcs.cli.status", "gcs.app.team_roster"),  # the client of Redis
    ("gcs.ports.sinks.sink_names", "gcs.ports.sinks.database_sinks"),  # DuckDB, PostgreSQL: extras
    ("gcs.ports.sinks.sink_names", "gcs.ports.sinks.file_sinks"),  # pyarrow
    ("gcs.ports.sinks.sink_names", "gcs.ports.sinks.markdown_files"),
    ("gcs.ports.sinks.sink_names", "gcs.ports.sinks.redis_sink"),  # the client of Redis
    ("gcs.ports.duplicates", "gcs.ports.minhash_groups"),  # rensa: an extra
    ("gcs.ports.sinks.sink_names", "gcs.ports.sinks.search_engines"),  # an HTTP client, and TLS
    ("gcs.ports.search.index_place", "gcs.ports.search.sqlite_engine"),
    ("gcs.ports.search.index_place", "gcs.ports.search.tantivy_engine"),  # an extra
    ("gcs.roles.leader.rebalance_rounds", "gcs.core.plan.rebalance"),  # numpy
    ("gcs.roles.leader.term", "gcs.core.plan.blueprint"),  # numpy
}

#: what the tests of a layer may import from the layers above it; assembly puts a gatherer or a helper together
TESTS_IMPORT = {
    "core": {"gcs.sim", "gcs.ports.frontier.url_rows"},  # graphs to measure the core on; keys as the frontier cuts them
    "ports": {"gcs.fakeweb", "gcs.settings"},
    "roles": {"gcs.fakeweb", "gcs.app.assembly", "gcs.app.processes.helper_process"},
}

#: more parameters of a constructor are a value of their own (a frozen dataclass)
MOST_PARAMETERS = 6
#: constructors that have more, for now. This set may only shrink.
LONG_CONSTRUCTORS: set[str] = set()

#: calls that change the whiteboard: what asks a question must not make them
POSTING = {"post", "post_if", "publish", "put", "out", "remove", "take", "ack", "begin", "commit"}


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / "gcs").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def layer(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(name: str) -> Iterator[tuple[str, bool]]:
    """Modules of the package that a module of it imports, and whether inside a function."""
    for target, hidden in imports_of(MODULES[name]):
        if target != name:
            yield target, hidden


def imports_of(path: Path) -> Iterator[tuple[str, bool]]:
    """Modules of the package that a file imports, and whether inside a function."""
    tree = ast.parse(path.read_text())
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in node.body
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.level > 0:  # tests do, inside their folder
                assert not path.is_relative_to(ROOT / "gcs"), f"{path}: write absolute imports"
                continue
            targets = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module or ""]
        elif isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            continue
        for target in targets:
            if target in MODULES:
                yield target, node.col_offset > 0 and node not in typing_only


@pytest.mark.parametrize("name", MODULES)
def test_module_imports_only_lower_layers(name: str) -> None:
    for target, hidden in imports(name):
        assert not hidden or (name, target) in LAZY, f"{name} imports {target} inside a function: put it on LAZY"
        assert layer(target) in ALLOWED[layer(name)], f"{name} must not import {target}"


def test_roles_do_not_import_one_another() -> None:
    for name in MODULES:
        if layer(name) == "roles" and name.count(".") > 1:
            role = name.split(".")[2]
            roles = (target for target, _ in imports(name) if layer(target) == "roles" and target.count(".") > 1)
            others = {target for target in roles if target.split(".")[2] != role}
            assert not others, f"{name} imports other roles: {others}"


def test_package_has_no_import_cycles() -> None:
    # importing from a package's __init__ is importing the package: an edge like any other
    edges = {name: {target for target, _ in imports(name)} for name in MODULES}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"import cycle: {' → '.join((*path, name))}"
        if name not in done:
            for target in edges[name]:
                visit(target, (*path, name))
            done.add(name)

    for name in MODULES:
        visit(name, ())


def test_core_reads_no_clock_and_no_global_random() -> None:
    for name, path in MODULES.items():
        if layer(name) != "core":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                call = f"{node.value.id}.{node.attr}"
                assert node.value.id not in ("time", "datetime", "socket", "asyncio"), f"{name} uses {call}"
                assert node.value.id != "random" or node.attr == "Random", f"{name} uses {call}"


def test_public_class_name_has_one_meaning() -> None:
    found: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(name)
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_module_name_has_one_meaning() -> None:
    """A command of the command line may be called as the part that it runs."""
    found: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        if path.name not in ("__init__.py", "__main__.py") and layer(name) != "cli":
            found.setdefault(path.stem, []).append(name)
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_folder_can_be_overlooked() -> None:
    """Commands and studies stand side by side, one file each."""
    sizes: dict[Path, int] = {}
    for name, path in MODULES.items():
        if path.name != "__init__.py" and layer(name) != "cli" and ".studies" not in name:
            sizes[path.parent] = sizes.get(path.parent, 0) + 1
    assert {str(folder): size for folder, size in sizes.items() if size > 16} == {}


def test_command_line_holds_commands_and_nothing_else() -> None:
    files = {name for name in MODULES if layer(name) == "cli" and name != "gcs.cli"}
    assert files == {module for module, _ in COMMANDS.values()}, "what commands share stands in app/ or below"


@pytest.mark.parametrize("folder", TESTS_IMPORT)
def test_tests_of_a_layer_import_no_higher_one(folder: str) -> None:
    """A test of a role must not need a command, nor a test of a port a role. Processes that tests start may be any."""
    for path in sorted((ROOT / "tests" / folder).rglob("*.py")):
        for target, _ in imports_of(path):
            named = TESTS_IMPORT[folder] & {target, f"gcs.{layer(target)}"}
            parent = any(each.startswith(f"{target}.") for each in TESTS_IMPORT[folder])  # from gcs.app import assembly
            allowed = layer(target) in ALLOWED[folder] or named or parent
            assert allowed, f"{path.relative_to(ROOT)} must not import {target}: move the test, or use the layer itself"


def functions() -> Iterator[tuple[str, str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Module, class ("" outside of one) and function, for every function of the package."""
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text())
        owners = {
            id(each): node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for each in node.body
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield name, owners.get(id(node), ""), node


def test_constructor_has_few_parameters() -> None:
    long = set()
    for _, owner, function in functions():
        if function.name == "__init__":
            given = function.args
            count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs) - 1
            if count + bool(given.vararg) + bool(given.kwarg) > MOST_PARAMETERS:
                long.add(owner)
    assert not long - LONG_CONSTRUCTORS, f"more than {MOST_PARAMETERS} parameters: pass a frozen dataclass instead"
    assert not LONG_CONSTRUCTORS - long, "these are short now: take them off LONG_CONSTRUCTORS"


def test_question_changes_nothing() -> None:
    """What is called is_… or has_… answers and does nothing else: who reads a condition expects no deed."""
    acting = set()
    for name, _, function in functions():
        if function.name.lstrip("_").startswith(("is_", "has_")):
            nodes = list(ast.walk(function))
            methods = [
                node.func for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            ]
            stored = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
            if stored or (
                isinstance(function, ast.AsyncFunctionDef)
                and any(method.attr.lstrip("_") in POSTING for method in methods)
            ):
                acting.add(f"{name}.{function.name}")
    assert not acting, "name them by what they do, or divide the question from the deed"


def test_nothing_is_set_by_its_name() -> None:
    """Neither mypy nor a reader sees what setattr sets. A frozen dataclass may set its own fields while it is made."""
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.Name) and node.id == "setattr"), f"{name} uses setattr"
