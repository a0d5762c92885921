"""A model of what a disk keeps when the machine loses power, fed by a log of recorded_files.c."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import random
from collections.abc import Callable, Iterator

# Whether a change that is not synced is on the disk nevertheless: of a "name" or of "content".
Decision = Callable[[str], bool]


@dataclasses.dataclass(frozen=True)
class Call:
    """A call that succeeded. `paths` are relative to the folder that was recorded."""

    thread: int
    name: str
    paths: tuple[str, ...]
    written: bytes = b""


@dataclasses.dataclass
class File:
    content: bytes = b""
    kept: bytes = b""  # at the last sync


@dataclasses.dataclass
class Folder:
    names: dict[str, File | Folder] = dataclasses.field(default_factory=dict)
    kept: dict[str, File | Folder] = dataclasses.field(default_factory=dict)


def read_calls(log: pathlib.Path, written: pathlib.Path, below: pathlib.Path) -> Iterator[Call]:
    content = written.read_bytes()
    for line in log.read_text().splitlines():
        thread, name, path, more = line.split("\t")
        paths = [os.path.relpath(path, below)]
        size = 0
        if name in ("rename", "link"):
            paths.append(os.path.relpath(more, below))
        elif name == "write":
            size = int(more)
        yield Call(int(thread), name, tuple(paths), content[:size])
        content = content[size:]


class Disk:
    """Begins with an empty folder, which a power failure keeps."""

    def __init__(self) -> None:
        self.top = Folder()

    def _find(self, path: str) -> File | Folder:
        node: File | Folder = self.top
        for part in pathlib.PurePath(path).parts:
            assert isinstance(node, Folder)
            node = node.names[part]
        return node

    def _names(self, path: str) -> tuple[dict[str, File | Folder], str]:
        """The names beside `path`, and its own."""
        folder = self._find(os.path.dirname(path))
        assert isinstance(folder, Folder)
        return folder.names, os.path.basename(path)

    def apply(self, call: Call) -> None:
        if call.name in ("write", "sync"):
            self._change_content(call)
            return
        names, name = self._names(call.paths[0])
        if call.name == "create":
            names[name] = File()
        elif call.name == "mkdir":
            names[name] = Folder()
        elif call.name == "unlink":
            del names[name]
        else:
            others, other = self._names(call.paths[1])
            others[other] = names[name]
            if call.name == "rename":
                del names[name]

    def _change_content(self, call: Call) -> None:
        node = self._find(call.paths[0])
        if isinstance(node, Folder):
            node.kept = dict(node.names)
        elif call.name == "write":
            node.content += call.written
        else:
            node.kept = node.content

    def after_failure(self, keeps: Decision) -> dict[str, bytes]:
        """The files after a power failure."""
        return dict(self._files(self.top, "", keeps))

    def _files(self, folder: Folder, path: str, keeps: Decision) -> Iterator[tuple[str, bytes]]:
        for name in sorted({*folder.names, *folder.kept}):
            node, kept = folder.names.get(name), folder.kept.get(name)
            node = node if node is kept or keeps("name") else kept
            if isinstance(node, Folder):
                yield from self._files(node, f"{path}{name}/", keeps)
            elif isinstance(node, File):
                yield path + name, node.content if keeps("content") else node.kept


def nothing_more(kind: str) -> bool:
    """Decides as the simplest file system does."""
    return False


def all_names(kind: str) -> bool:
    """Decides as a file system whose journal has the names and not the content."""
    return kind == "name"


def some_of_it(seed: int) -> Decision:
    generator = random.Random(seed)
    return lambda kind: generator.random() < 0.5


def write_files(files: dict[str, bytes], folder: pathlib.Path) -> None:
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
