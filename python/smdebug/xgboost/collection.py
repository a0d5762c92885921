"""XGBoost's `Collection`: that of all frameworks."""

from smdebug.collection import Collection, CollectionKeys

__all__ = ["Collection", "CollectionKeys"]
