"""`Collection`: a named set of tensors with common settings."""

from smdebug._core import Collection

__all__ = ["Collection", "CollectionKeys"]


class CollectionKeys:
    """The names of built-in collections."""

    ALL = "all"
    DEFAULT = "default"
    WEIGHTS = "weights"
    BIASES = "biases"
    GRADIENTS = "gradients"
    LOSSES = "losses"
    OPTIMIZER_VARIABLES = "optimizer_variables"
    METRICS = "metrics"
    SM_METRICS = "sm_metrics"
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    LAYERS = "layers"
    TENSORFLOW_SUMMARIES = "tensorflow_summaries"
    HYPERPARAMETERS = "hyperparameters"
    PREDICTIONS = "predictions"
    LABELS = "labels"
    FEATURE_IMPORTANCE = "feature_importance"
    AVERAGE_SHAP = "average_shap"
    FULL_SHAP = "full_shap"
    TREES = "trees"
