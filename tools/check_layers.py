#!/usr/bin/env python3
"""Checks the layers (docs/conventions.md), as far as a text search can.

Prints one line per violation: file, line and reason. The rules:
  1. a file in folder A of src/ or include/smdebug/ includes only A and the
     folders that tools/layers.toml lists for A; the list has no cycle;
  2. a public header includes only public headers and the standard library;
  3. an edge (apps/, adapters/, bindings/, python/src/) includes only public
     headers of smdebug; an adapter only those of base, core, config and capture;
  4. a third-party header is included by one .cc of the tree, and by no header
     (except fmt and nanobind; a test may compare smdebug with a library);
  5. a subfolder ("room") of a folder includes itself and the rooms listed
     before it, and no other folder includes the last one;
  6. only certain folders use the environment, the system's clock and threads;
  7. a header that only tests include is called x_testing.h, and no product file
     includes one.
"""

import pathlib
import re
import sys
from collections.abc import Iterator

import tomllib

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
COMMENT = re.compile(r"//.*")
EDGES = ("apps", "adapters", "bindings", "python/src")
ADAPTER_MAY_SEE = {"base", "core", "config", "capture"}

# The headers of each library, by the start of their names.
LIBRARIES = {
    "CLI11": ("CLI/",),
    "FlatBuffers": ("flatbuffers/",),
    "Highway": ("hwy/",),
    "ISA-L": ("isa-l",),
    "PCRE2": ("pcre2",),
    "libcurl": ("curl/",),
    "nlohmann-json": ("nlohmann/",),
    "openssl": ("openssl/",),
    "protozero": ("protozero/",),
    "pugixml": ("pugixml",),
    "simdjson": ("simdjson",),
    "spdlog": ("spdlog/",),
    "SQLite": ("sqlite3",),
}

# Names that only some folders may use, outside tests and benchmarks.
PLACES = (
    (re.compile(r"\bgetenv\b"), ("src/base/",), "the environment is read"),
    (re.compile(r"\bsystem_clock::now\b|\bgettimeofday\b"), ("src/base/",), "the clock is read"),
    (
        re.compile(r"\bstd::j?thread\b(?!::)|\bpthread_create\b|\bstd::async\b"),
        ("src/base/", "src/capture/write_thread."),
        "threads are started",
    ),
)


def main() -> int:
    breaches = check(pathlib.Path(__file__).resolve().parent.parent)
    for breach in breaches:
        print(breach)
    return bool(breaches)


def check(root: pathlib.Path) -> list[str]:
    layers = tomllib.loads((root / "tools/layers.toml").read_text())
    rooms = layers.pop("rooms", {})
    breaches = [f"tools/layers.toml: cycle through {m}" for m in layers if m in reach(m, layers)]
    users: dict[str, list[str]] = {}
    includers: dict[str, list[str]] = {}
    for path in sources(root):
        where = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for breach in line_breaches(root, layers, where, line):
                breaches.append(f"{where}:{number}: {breach}")
            for breach in room_breaches(rooms, where, line):
                breaches.append(f"{where}:{number}: {breach}")
            note_library(users, where, line)
            note_includer(root, includers, where, line)
    for header, files in sorted(includers.items()):
        if not header.endswith("_testing.h") and all(map(is_test, files)):
            breaches.append(f"{header} is included only by tests: call it x_testing.h")
    for library, files in sorted(users.items()):
        if len(files) > 1:
            breaches.append(f"{library} is included by more than one file: {', '.join(files)}")
    return breaches


def sources(root: pathlib.Path) -> Iterator[pathlib.Path]:
    for tree in ("include", "src", *EDGES):
        for path in sorted((root / tree).rglob("*")):
            if path.suffix in {".h", ".cc"}:
                yield path


def line_breaches(root: pathlib.Path, layers: dict, where: str, line: str) -> Iterator[str]:
    include = INCLUDE.match(line)
    if not include:
        yield from place_breaches(where, line)
        return
    is_ours, name = include[1] == '"', include[2]
    public = name.startswith("smdebug/")
    target = name.removeprefix("smdebug/").split("/")[0] if "/" in name else ""
    folder = folder_of(where)

    if where.startswith("include/") and not public and (is_ours or re.search(r"[./]", name)):
        yield f"public header includes {name}, which is not public"
    elif folder in layers and target in layers and is_ours:
        if target != folder and target not in layers[folder]:
            yield f"{folder} may not include {target}"
    elif where.startswith(EDGES) and is_ours:
        yield from edge_breaches(root, where, name, target)
    if is_ours and name.endswith("_testing.h") and not is_test(where):
        yield f"{name} is only for tests"


def room_breaches(rooms: dict[str, list[str]], where: str, line: str) -> Iterator[str]:
    include = INCLUDE.match(line)
    folder, _, rest = include[2].partition("/") if include else ("", "", "")
    order, target = rooms.get(folder, []), rest.split("/")[0]
    if target not in order:
        return
    if not where.startswith(f"src/{folder}/"):
        if target == order[-1]:
            yield f"{include[2]} is for src/{folder} only"
        return
    room = where.split("/")[2]
    if room in order and order.index(target) > order.index(room):
        yield f"{folder}/{room} may not include {folder}/{target}"


def edge_breaches(root: pathlib.Path, where: str, name: str, target: str) -> Iterator[str]:
    if name.startswith("tests/support/") and is_test(where):
        return
    if not name.startswith("smdebug/"):
        if not (root / where).parent.joinpath(name).exists():
            yield f"an edge includes only include/smdebug/, not {name}"
    elif where.startswith("adapters/") and target not in ADAPTER_MAY_SEE:
        yield f"an adapter may not include {target}"


def place_breaches(where: str, line: str) -> Iterator[str]:
    if is_test(where):
        return
    code = COMMENT.sub("", line)
    for pattern, places, what in PLACES:
        found = pattern.search(code)
        if found and not where.startswith(places):
            yield f"{found[0]}: {what} only in {' and '.join(places)}"


def note_library(users: dict[str, list[str]], where: str, line: str) -> None:
    include = INCLUDE.match(line)
    if not include or is_test(where):
        return
    for library, starts in LIBRARIES.items():
        if include[2].startswith(starts) and where not in users.setdefault(library, []):
            users[library].append(where)


def note_includer(
    root: pathlib.Path, includers: dict[str, list[str]], where: str, line: str
) -> None:
    """Records the file that includes a private header."""
    include = INCLUDE.match(line)
    if not include or include[1] == "<":
        return
    for path in (root / "src" / include[2], (root / where).parent / include[2]):
        if path.is_file():
            includers.setdefault(path.relative_to(root).as_posix(), []).append(where)
            return


def folder_of(where: str) -> str:
    parts = where.split("/")
    return parts[2] if parts[0] == "include" else parts[1]


def is_test(where: str) -> bool:
    return re.search(r"_(test|bench|fuzz)\.cc$|_testing\.h$", where) is not None


def reach(start: str, graph: dict[str, list[str]]) -> set[str]:
    seen, todo = set(), list(graph[start])
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += graph[node]
    return seen


if __name__ == "__main__":
    sys.exit(main())
