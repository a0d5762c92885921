"""Import path of the original library."""

from smdebug.collection import Collection, CollectionKeys

__all__ = ["Collection", "CollectionKeys"]
