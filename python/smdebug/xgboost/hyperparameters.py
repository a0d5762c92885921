"""Hyperparameters as tensors: those that the user passes, or those that the booster uses."""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
import xgboost

from smdebug.hook_arguments import encodable


def as_tensors(hyperparameters: Mapping[Any, Any]) -> list[tuple[str, np.ndarray]]:
    """Returns (key, array) for each hyperparameter that has a value.

    A number, a boolean or a text becomes an array of one element. A flat list of numbers or of
    texts keeps its elements. Any other value, such as a nested list, becomes its text. Keys whose
    value is None are skipped.
    """
    return [
        (encodable(str(key)), _as_array(value))
        for key, value in hyperparameters.items()
        if value is not None
    ]


def of_booster(booster: xgboost.Booster) -> dict[str, Any]:
    """Returns all parameters of a Booster, including those that keep their defaults.

    Texts that hold a number become numbers. `eval_metric` is the list of the booster's metrics.
    """
    learner = json.loads(booster.save_config())["learner"]
    found: dict[str, Any] = {}
    _collect(learner, found)
    found["objective"] = learner["objective"]["name"]
    metrics = [metric["name"] for metric in learner.get("metrics", [])]
    if metrics:
        found["eval_metric"] = metrics
    return found


def _collect(node: Mapping[str, Any], found: dict[str, Any]) -> None:
    """Adds the settings below `node`: the objects, at any depth, whose name ends in `_param`."""
    for name, value in node.items():
        if not isinstance(value, dict):
            continue
        if name.endswith("_param"):
            found.update({key: _number_or_text(text) for key, text in value.items()})
        else:
            _collect(value, found)


def _number_or_text(text: Any) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            continue
    return text


def _as_array(value: Any) -> np.ndarray:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return value.reshape(-1)
    if isinstance(value, (str, bool, np.bool_)) or _is_number(value):
        return np.asarray([value])
    if isinstance(value, (list, tuple)) and value:
        if all(isinstance(each, str) for each in value) or all(map(_is_number, value)):
            return np.asarray(value)
    return np.asarray([getattr(value, "__name__", None) or str(value)])


def _is_number(value: Any) -> bool:
    if isinstance(value, numbers.Integral):
        return -(2**63) <= int(value) < 2**63
    return isinstance(value, numbers.Real)
