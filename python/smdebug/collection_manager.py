"""`CollectionManager`: collections by name, and their file in a run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from smdebug import _core
from smdebug.collection import Collection
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from smdebug.hook_arguments import shown
from smdebug.near_names import nearest_of


class CollectionsByName(dict[str, Collection]):
    """Collections by name. The KeyError for another name lists the nearest."""

    def __missing__(self, name: object) -> Collection:
        near = nearest_of(name, self, "there are none")
        raise KeyError(f"there is no collection {shown(name)}; {near}")


class CollectionManager:
    """Collections in the order of their creation, and the number of workers of the run.

    For scripts that read or write a collections file themselves. A hook has its own collections
    (`hook.get_collection`).
    """

    def __init__(
        self,
        collections: Mapping[str, Collection] | None = None,
        create_default: bool = False,
        *,
        num_workers: int = 1,
    ) -> None:
        """`create_default` is accepted for compatibility and has no effect."""
        self.collections: dict[str, Collection] = CollectionsByName(collections or {})
        self.set_num_workers(num_workers)

    def get(self, name: str, create: bool = True) -> Collection:
        """The collection of that name. If it does not exist, creates an empty one, or without
        `create` raises SMDebugError."""
        if not isinstance(name, str):
            raise SMDebugTypeError(f"a collection's name must be text, found {name!r}")
        if name not in self.collections:
            if not create:
                raise SMDebugError(f"there is no collection '{name}'; there are: {list(self)}")
            self.create_collection(name)
        return self.collections[name]

    def add(self, arg: Collection | str) -> None:
        """Adds a Collection, replacing the one of the same name, or creates one of that name.
        Raises SMDebugTypeError for anything else."""
        if isinstance(arg, str):
            self.create_collection(arg)
        elif isinstance(arg, Collection):
            self.collections[arg.name] = arg
        else:
            raise SMDebugTypeError(f"expected a Collection or a name, found {arg!r}")

    def create_collection(self, name: str, cls: type[Collection] = Collection) -> None:
        """Creates an empty collection unless one of that name exists."""
        if name not in self.collections:
            self.collections[name] = cls(name)

    def get_collections(self) -> dict[str, Collection]:
        """All collections by name."""
        return self.collections

    def set_num_workers(self, num_workers: int) -> None:
        """Sets the number of processes that write the run, 1 or more. Raises SMDebugValueError for
        anything else."""
        if not isinstance(num_workers, int) or isinstance(num_workers, bool) or num_workers < 1:
            raise SMDebugValueError(
                f"num_workers must be a whole number of 1 or more, found {num_workers!r}"
            )
        self._num_workers = num_workers

    def get_num_workers(self) -> int:
        """The number of processes that write the run."""
        return self._num_workers

    def export(self, out_dir: str | os.PathLike[str], filename: str) -> None:
        """Writes `<out_dir>/collections/000000000/<filename>`. Readers see the whole file or
        none."""
        saved = _core.SavedCollections(self.collections.values(), self._num_workers)
        saved.write(str(out_dir), filename)

    @classmethod
    def load(
        cls,
        filename: str | os.PathLike[str],
        collection_class: type[Collection] = Collection,
    ) -> CollectionManager:
        """Reads a file that `export` or a hook wrote. Raises FileNotFoundError if it does not
        exist, SMDebugValueError if it is not a collections file, and SMDebugError if it is larger
        than any such file or cannot be read."""
        path = os.path.realpath(filename)
        os.stat(path)  # raises FileNotFoundError
        saved = _core.SavedCollections.read(*os.path.split(path))
        return cls._from_saved(saved, collection_class)

    @classmethod
    def load_from_string(
        cls, s: str, collection_class: type[Collection] = Collection
    ) -> CollectionManager:
        """Reads the text of a collections file. Raises SMDebugValueError for any other text."""
        return cls._from_saved(_core.SavedCollections.parse(s), collection_class)

    @classmethod
    def _from_saved(
        cls, saved: _core.SavedCollections, collection_class: type[Collection]
    ) -> CollectionManager:
        collections = map(collection_class.from_collection, saved.collections)
        by_name = {collection.name: collection for collection in collections}
        return cls(by_name, num_workers=saved.num_workers)

    def to_json_dict(self) -> dict[str, Any]:
        """The content of the file."""
        collections = {c.name: c.to_json_dict() for c in self.collections.values()}
        return {"collections": collections, "_meta": {"num_workers": self._num_workers}}

    def __iter__(self) -> Iterator[str]:
        return iter(self.collections)

    def __len__(self) -> int:
        return len(self.collections)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CollectionManager):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CollectionManager({list(self)}, num_workers={self._num_workers})"
