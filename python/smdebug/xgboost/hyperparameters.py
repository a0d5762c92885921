"""Hyperparameters as tensors: what the user gives, or what the booster says that it uses."""

import json
import numbers

import numpy as np


def as_tensors(hyperparameters):
    """(key, array) of each: numbers and booleans as one element, texts likewise, flat lists of
    one kind as they are; everything else, such as nested lists, as the text of it. Keys without
    a value (None) are left out."""
    return [
        (str(key), _as_array(value)) for key, value in hyperparameters.items() if value is not None
    ]


def of_booster(booster):
    """All parameters of a Booster, those that nobody set too, as a dict: numbers where the text
    is one. `eval_metric` is the list of its metrics."""
    learner = json.loads(booster.save_config())["learner"]
    found = {}
    _collect(learner, found)
    found["objective"] = learner["objective"]["name"]
    metrics = [metric["name"] for metric in learner.get("metrics", [])]
    if metrics:
        found["eval_metric"] = metrics
    return found


def _collect(node, found):
    """Settings stand in objects whose name ends in `_param`, at any depth."""
    for name, value in node.items():
        if not isinstance(value, dict):
            continue
        if name.endswith("_param"):
            found.update({key: _number_or_text(text) for key, text in value.items()})
        else:
            _collect(value, found)


def _number_or_text(text):
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            continue
    return text


def _as_array(value):
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return value.reshape(-1)
    if isinstance(value, (str, bool, np.bool_)) or _is_number(value):
        return np.asarray([value])
    if isinstance(value, (list, tuple)) and value:
        if all(isinstance(each, str) for each in value) or all(map(_is_number, value)):
            return np.asarray(value)
    return np.asarray([getattr(value, "__name__", None) or str(value)])


def _is_number(value):
    if isinstance(value, numbers.Integral):
        return -(2**63) <= value < 2**63
    return isinstance(value, numbers.Real)
