"""`Collection`: tensors that are saved alike and found again together."""

import json

from smdebug import _core
from smdebug.edits import CountingList, CountingSet, edits
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.reduction_config import ReductionConfig
from smdebug.save_config import SaveConfig


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


class Collection:
    """A name for the tensors that are listed or that a regex finds in their name.

    Every property may be changed at any time; a hook that holds the collection takes the change
    up when the next step begins.
    """

    is_optional = False  # whether nobody need know where it finds nothing

    def __init__(
        self,
        name,
        include_regex=None,
        tensor_names=None,
        reduction_config=None,
        save_config=None,
        save_histogram=True,
    ):
        if not isinstance(name, str):
            raise SMDebugTypeError(f"a collection's name must be text, found {name!r}")
        self._name = name
        self._inherited_save_config = None  # the hook's, for a collection without its own
        self.include_regex = include_regex
        self.tensor_names = tensor_names
        self.reduction_config = reduction_config
        self.save_config = save_config
        self.save_histogram = save_histogram

    @property
    def name(self):
        return self._name

    @property
    def include_regex(self):
        return self._include_regex

    @include_regex.setter
    def include_regex(self, value):
        self._include_regex = CountingList(self._checked_patterns(value or []))
        edits.count += 1

    def include(self, *patterns):
        """Adds tensors whose name contains a match of a pattern, or of a list of patterns."""
        for pattern in patterns:
            self._include_regex.extend(self._checked_patterns(pattern))

    def _checked_patterns(self, patterns):
        if isinstance(patterns, str):
            patterns = [patterns]
        if not isinstance(patterns, (list, tuple, set)) or not all(
            isinstance(pattern, str) for pattern in patterns
        ):
            raise SMDebugTypeError(
                f"collection '{self._name}' takes a pattern or a list of patterns, "
                f"found {patterns!r}"
            )
        for pattern in patterns:
            _core.check_pattern(self._name, pattern)
        return list(patterns)

    @property
    def tensor_names(self):
        return self._tensor_names

    @tensor_names.setter
    def tensor_names(self, value):
        if value is not None and not isinstance(value, (list, set, tuple, frozenset)):
            raise SMDebugTypeError(f"tensor_names must be a list or a set, found {value!r}")
        self._tensor_names = CountingSet(value or ())
        edits.count += 1

    def add_tensor_name(self, tensor_name):
        self._tensor_names.add(tensor_name)

    def remove_tensor_name(self, tensor_name):
        self._tensor_names.discard(tensor_name)

    def has_tensor_name(self, tensor_name):
        return tensor_name in self._tensor_names

    @property
    def save_config(self):
        """When it is saved. In a hook it starts as the hook's own, and may be changed in place."""
        if self._save_config is None and self._inherited_save_config is not None:
            self._save_config = self._inherited_save_config.copy()
        return self._save_config

    @save_config.setter
    def save_config(self, value):
        self._save_config = None if value is None else SaveConfig.parse(value)
        edits.count += 1

    def inherit(self, save_config):
        """Says which configuration holds while this collection has none of its own."""
        self._inherited_save_config = save_config

    @property
    def reduction_config(self):
        return self._reduction_config

    @reduction_config.setter
    def reduction_config(self, value):
        if value is not None and not isinstance(value, ReductionConfig):
            raise SMDebugTypeError(f"reduction_config must be a ReductionConfig, found {value!r}")
        self._reduction_config = value
        edits.count += 1

    @property
    def save_histogram(self):
        return self._save_histogram

    @save_histogram.setter
    def save_histogram(self, value):
        if not isinstance(value, bool):
            raise SMDebugTypeError(f"save_histogram must be True or False, found {value!r}")
        self._save_histogram = value
        edits.count += 1

    def has_members(self):
        """Whether anything is named: a pattern or a tensor."""
        return bool(self._include_regex or self._tensor_names)

    def to_json_dict(self):
        return {
            "name": self._name,
            "include_regex": list(self._include_regex),
            "tensor_names": sorted(self._tensor_names),
            "reduction_config": self._reduction_config and self._reduction_config.to_json_dict(),
            "save_config": self._save_config and self._save_config.to_json_dict(),
            "save_histogram": self._save_histogram,
        }

    def to_json(self):
        """The text of this collection in a collections file."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_dict(cls, params):
        """From the keys of `to_json`; `name` is required."""
        if "name" not in params:
            raise SMDebugValueError(f"a collection needs a name, found {params!r}")
        fields = dict(params)
        if fields.get("reduction_config") is not None:
            fields["reduction_config"] = ReductionConfig.from_dict(fields["reduction_config"])
        if fields.get("save_config") is not None:
            fields["save_config"] = SaveConfig.from_dict(fields["save_config"])
        return cls(**fields)

    @classmethod
    def from_json(cls, text):
        return cls.from_dict(json.loads(text))

    def to_core(self, further_patterns=()):
        return _core.Collection(
            self._name,
            [*self._include_regex, *further_patterns],
            sorted(self._tensor_names),
            self._save_config and self._save_config.to_core(),
            self._reduction_config and self._reduction_config.to_core(),
            self._save_histogram,
            self.is_optional,
        )

    @classmethod
    def from_core(cls, collection):
        save_config = collection.save_config
        reduction_config = collection.reduction_config
        return cls(
            collection.name,
            collection.include_regex,
            collection.tensor_names,
            reduction_config and ReductionConfig.from_core(reduction_config),
            save_config and SaveConfig.from_core(save_config),
            collection.save_histogram,
        )

    def __eq__(self, other):
        if not isinstance(other, Collection):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    def __hash__(self):
        return hash(self._name)

    def __repr__(self):
        return f"{type(self).__name__}({self._name!r}, {list(self._include_regex)})"
