"""XGBoost's `Collection`, that of all frameworks, and the collections that its hook fills."""

from smdebug.collection import Collection, CollectionKeys

# Tensors of a training, which xgboost.cv has, too.
TRAINING_COLLECTIONS = ("metrics", "losses", "hyperparameters")
# Tensors of a single model, which xgboost.cv does not have.
MODEL_COLLECTIONS = (
    "predictions",
    "labels",
    "feature_importance",
    "trees",
    "full_shap",
    "average_shap",
)

__all__ = ["MODEL_COLLECTIONS", "TRAINING_COLLECTIONS", "Collection", "CollectionKeys"]
