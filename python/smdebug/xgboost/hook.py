"""`Hook` for XGBoost: a training callback that records each round when it ends.

A step is a boosting round, counted from 0 over all trainings of the hook. rounds.py records the
tensors of a round, model_tensors.py reads them from the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import xgboost
from xgboost import collective
from xgboost.callback import TrainingCallback

from smdebug import _core
from smdebug.exceptions import SMDebugTypeError
from smdebug.hook import BaseHook
from smdebug.hook_arguments import shown
from smdebug.hook_options import HookOptions, takes_options
from smdebug.log import get_logger
from smdebug.save_config import SaveConfig
from smdebug.xgboost.collection import Collection
from smdebug.xgboost.data_argument import DataArgument
from smdebug.xgboost.metric_series import MetricSeries
from smdebug.xgboost.rounds import RoundRecorder

_logger = get_logger()

SAVE_INTERVAL = 10  # rounds


@dataclass(frozen=True)
class XGBoostOptions(HookOptions):
    """The arguments of a Hook for XGBoost, in addition to those of all frameworks.

    - `hyperparameters`: the hyperparameters to save; None for all that the booster uses.
    - `train_data`: the rows for SHAP values.
    - `validation_data`: the rows for predictions and labels.

    The data are a DMatrix or a pair (path, content type). Content types are csv (label first, no
    header) and libsvm. All three can also be set later, as properties of the hook.
    """

    hyperparameters: dict[str, Any] | None = None
    train_data: xgboost.DMatrix | tuple[str, str] | None = None
    validation_data: xgboost.DMatrix | tuple[str, str] | None = None


class Hook(BaseHook, TrainingCallback):
    """Records an XGBoost training: pass it as a callback.

        hook = Hook(out_dir="runs/1", include_collections=["feature_importance"])
        xgboost.train(params, dtrain, evals=[(dtrain, "train")], callbacks=[hook])

    `xgboost.train`, `xgboost.cv` and the estimators of xgboost.sklearn
    (`XGBClassifier(callbacks=[hook])`) take it. Put it first: callbacks behind one that stops the
    training do not see the last round. A hook that records a second training continues to count.

    Metrics are saved every 10 rounds by default. `include_collections` (or `save_all`) adds:

    - losses: the metrics for which lower is better.
    - hyperparameters: the dict `hyperparameters`; by default all that the booster uses.
    - predictions, labels: those of `validation_data`.
    - feature_importance: `feature_importance/<type>/<feature>`, a share of the sum, for the types
      weight, gain, cover, total_gain and total_cover.
    - full_shap, average_shap: SHAP values of the rows of `train_data`. The matrix is stored once;
      `full_shap/<feature>` is the whole matrix for each feature.
    - trees: `trees/<column>`, for the trees of the newest round. Needs pandas.

    In `xgboost.cv`, a metric is the mean over folds, and `<set>-<metric>-std` its standard
    deviation. No tensors of a single model are saved.

    A `reduction_config` for the whole hook is ignored with a warning; a collection may have one.

    See HookOptions and XGBoostOptions for the arguments. `rules` judge each saved round. `on_fire`
    may be "stop", which ends the training after this round as early stopping does, or "raise",
    which raises RuleEvaluationConditionMet in the training.
    """

    collection_class: type[Collection] = Collection
    vetoes: tuple[str, ...] = ("raise", "stop")
    advice: str = (
        "pass the hook as xgboost.train(callbacks=[hook]); a loop of Booster.update calls none"
    )
    _series: MetricSeries | None = None  # of every round; None: only saved rounds have metrics

    @takes_options(XGBoostOptions)
    def __init__(self, options: XGBoostOptions) -> None:
        """See HookOptions and XGBoostOptions for the arguments, and BaseHook for errors."""
        if options.reduction_config is not None:
            _logger.warning(
                "reduction_config is ignored: XGBoost's tensors are saved whole; "
                "set the reduction_config of a collection instead"
            )
            options = options.replace(reduction_config=None)
        if options.save_config is None:
            options = options.replace(save_config=SaveConfig(save_interval=SAVE_INTERVAL))
        self._data: dict[str, DataArgument] = {}
        self.hyperparameters = options.hyperparameters
        self.train_data = options.train_data
        self.validation_data = options.validation_data
        self._trainings = 0
        self._has_told_no_stop = False
        self._initialize(options)
        self._rounds = RoundRecorder(self._session, self)

    @classmethod
    def hook_from_config(cls, json_config_path: str | None = None) -> Hook:
        """Another name for `create_from_json_file`."""
        return cls.create_from_json_file(json_config_path)

    # --- the user's data ---

    @property
    def hyperparameters(self) -> dict[str, Any] | None:
        """The hyperparameters to save; None for all that the booster uses.

        Setting a type other than dict raises SMDebugTypeError.
        """
        return self._hyperparameters

    @hyperparameters.setter
    def hyperparameters(self, value: dict[str, Any] | None) -> None:
        if value is not None and not isinstance(value, dict):
            raise SMDebugTypeError(f"hyperparameters must be a dict, found {shown(value)}")
        self._hyperparameters = value

    @property
    def train_data(self) -> Any:
        """The rows for SHAP values, as the user passed them; None if there are none.

        Setting raises what DataArgument raises.
        """
        return self._given("train_data")

    @train_data.setter
    def train_data(self, value: Any) -> None:
        self._set_data("train_data", value)

    @property
    def validation_data(self) -> Any:
        """The rows for predictions and labels, as the user passed them; None if there are none.

        Setting raises what DataArgument raises.
        """
        return self._given("validation_data")

    @validation_data.setter
    def validation_data(self, value: Any) -> None:
        self._set_data("validation_data", value)

    def data(self, name: str) -> DataArgument | None:
        """Returns the data of that name, "train_data" or "validation_data", or None."""
        return self._data.get(name)

    def is_optional(self, collection: str) -> bool:
        """Returns whether tensors of that collection may be missing without a warning."""
        wanted = self._collections.get(collection)
        return wanted is not None and wanted.is_optional

    def reason_without(self, name: str) -> str:
        """Returns why there are no data of that name, and what to do."""
        return (
            f"the hook has no {name}: pass Hook({name}=dmatrix), with an xgboost.DMatrix or a pair "
            "(path, content type), or set hook." + name
        )

    def has_own_patterns(self) -> bool:
        """Returns whether collections other than XGBoost's may save tensors."""
        return bool(self.save_all or self.include_regex) or any(
            self._is_own_pattern(collection) for collection in self._collections.values()
        )

    def _is_own_pattern(self, collection: Collection) -> bool:
        built_in = self._framework.find(collection.name)
        if built_in is None:
            return collection.has_members()
        is_as_built = list(collection.include_regex) == list(built_in.include_regex)
        return not is_as_built or bool(collection.tensor_names)

    def _given(self, name: str) -> Any:
        data = self._data.get(name)
        return data and data.given

    def _set_data(self, name: str, value: Any) -> None:
        if value is None:
            self._data.pop(name, None)
        else:
            self._data[name] = DataArgument(name, value)

    # --- the callback ---

    def before_training(self, model: Any) -> Any:
        """Counts the trainings of this hook. Returns `model`, as XGBoost requires."""
        if not self._is_open:
            self._warn_if_closed("the callback in a training")
        elif self._session:
            self._trainings += 1
            if self._trainings == 2 and self._has_begun:
                _logger.warning(
                    "a second training with the same hook: its steps continue from step %d of "
                    "run %s",
                    self._session.step[0] + 1,
                    self.out_dir,
                )
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Records the round. Returns whether a rule ends the training.

        Raises RuleEvaluationConditionMet if `on_fire` asks for it.
        """
        if not self._session:
            return False
        if not self._failure:
            try:
                if self._begin_step():
                    self._rounds.record(model, evals_log)
                if self._series:
                    self._series.note(evals_log)
                self._session.end_step()
            except Exception as error:
                self._latch("at the end of a round", error)
        return self._answer() if self._rules else False

    # --- rules ---

    def _answer(self) -> bool:
        asked = []
        self._rules.apply(stop=asked.append)
        return self._stops_everywhere(bool(asked))

    def _stops_everywhere(self, wants_stop: bool) -> bool:
        """Returns whether the training ends.

        Workers that wait for each other must all end it: if each of them judges, one vote is
        enough, otherwise the training continues.
        """
        if not collective.is_distributed():
            if wants_stop:
                _logger.error("a rule ends the training after this round")
            return wants_stop
        if self.include_workers == "all":
            votes = np.asarray([wants_stop], np.int32)
            return bool(collective.allreduce(votes, collective.Op.MAX)[0])
        if wants_stop and not self._has_told_no_stop:
            self._has_told_no_stop = True
            _logger.error(
                "the training continues: only one of several workers judges; "
                "pass include_workers='all' to the hooks of all of them"
            )
        return False

    def __iter__(self) -> NoReturn:
        """Raises SMDebugTypeError: XGBoost takes a list of callbacks."""
        raise SMDebugTypeError("callbacks must be a list, found the hook: pass callbacks=[hook]")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as a callback of XGBoost that does nothing: an estimator is pickled with its
        callbacks, and must be loadable without smdebug."""
        return TrainingCallback, ()

    # --- implementations for the base class ---

    @classmethod
    def make_framework(cls) -> _core.Framework:
        """Returns XGBoost's collections and defaults."""
        return _core.xgboost_framework()

    def _versions(self) -> dict[str, str]:
        return super()._versions() | {"xgboost": xgboost.__version__}

    def _reasons_of_empty_collections(self) -> dict[str, str]:
        return {"gradients": "boosted trees have none"}

    def _rank_and_size(self) -> tuple[int, int]:
        if collective.is_distributed():
            return collective.get_rank(), collective.get_world_size()
        return 0, 1
