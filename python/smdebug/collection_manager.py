"""`CollectionManager`: collections by name, and the file that a run keeps them in."""

from smdebug import _core
from smdebug.collection import Collection
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError


class CollectionManager:
    """Collections in the order in which they were made, and the run's number of workers.

    A hook has collections of its own (`hook.get_collection`); this is for scripts that read or
    write a collections file themselves.
    """

    def __init__(self, collections=None, num_workers=1):
        self.collections = dict(collections or {})
        self.set_num_workers(num_workers)

    def get(self, name, create=True):
        """The collection of that name. Where there is none an empty one is made, or, without
        `create`, SMDebugError is raised."""
        if not isinstance(name, str):
            raise SMDebugTypeError(f"a collection's name must be text, found {name!r}")
        if name not in self.collections:
            if not create:
                raise SMDebugError(f"there is no collection '{name}'; there are: {list(self)}")
            self.create_collection(name)
        return self.collections[name]

    def add(self, collection):
        """Adds a Collection, which replaces one of its name, or makes one of that name."""
        if isinstance(collection, str):
            self.create_collection(collection)
        elif isinstance(collection, Collection):
            self.collections[collection.name] = collection
        else:
            raise SMDebugTypeError(f"expected a Collection or a name, found {collection!r}")

    def create_collection(self, name, cls=Collection):
        """Makes an empty collection; one that is there already stays as it is."""
        if name not in self.collections:
            self.collections[name] = cls(name)

    def get_collections(self):
        """All collections by name."""
        return self.collections

    def set_num_workers(self, num_workers):
        """Says how many processes write the run: a whole number from 1."""
        if not isinstance(num_workers, int) or isinstance(num_workers, bool) or num_workers < 1:
            raise SMDebugValueError(
                f"num_workers must be a whole number from 1, found {num_workers!r}"
            )
        self._num_workers = num_workers

    def get_num_workers(self):
        return self._num_workers

    def export(self, out_dir, filename):
        """Writes `<out_dir>/collections/000000000/<filename>`; a reader sees all of it or none."""
        saved = _core.SavedCollections(self.collections.values(), self._num_workers)
        saved.write(str(out_dir), filename)

    @classmethod
    def load(cls, filename, collection_class=Collection):
        """From a file that `export` or a hook wrote. Raises FileNotFoundError where there is
        none, and SMDebugValueError where it is no collections file."""
        with open(filename, encoding="utf-8") as file:
            return cls.load_from_string(file.read(), collection_class)

    @classmethod
    def load_from_string(cls, s, collection_class=Collection):
        """From the text of such a file."""
        saved = _core.SavedCollections.parse(s)
        collections = map(collection_class.from_collection, saved.collections)
        return cls({collection.name: collection for collection in collections}, saved.num_workers)

    def to_json_dict(self):
        """The content of the file."""
        collections = {c.name: c.to_json_dict() for c in self.collections.values()}
        return {"collections": collections, "_meta": {"num_workers": self._num_workers}}

    def __iter__(self):
        return iter(self.collections)

    def __len__(self):
        return len(self.collections)

    def __eq__(self, other):
        if not isinstance(other, CollectionManager):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    __hash__ = None

    def __repr__(self):
        return f"CollectionManager({list(self)}, num_workers={self._num_workers})"
