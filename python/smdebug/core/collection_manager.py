"""Import path of the original library."""

from smdebug.collection_manager import CollectionManager

__all__ = ["CollectionManager"]
