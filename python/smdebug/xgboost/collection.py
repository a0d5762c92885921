"""XGBoost's `Collection`, that of all frameworks, and the names of those that its hook fills."""

from smdebug.collection import Collection, CollectionKeys

# Of a training: they are there in xgboost.cv, too.
TRAINING_COLLECTIONS = ("metrics", "losses", "hyperparameters")
# Of the one model of a training.
MODEL_COLLECTIONS = (
    "predictions",
    "labels",
    "feature_importance",
    "trees",
    "full_shap",
    "average_shap",
)

__all__ = ["MODEL_COLLECTIONS", "TRAINING_COLLECTIONS", "Collection", "CollectionKeys"]
