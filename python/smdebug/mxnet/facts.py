"""`MXNetFacts`: reports what a training with Gluon is made of: its parameters, optimizers, losses
and first data. See include/smdebug/core/run_facts.h.

They are gathered at the end of saved steps once a trainer has acted, and reported if they differ
from those before. The learning rate is not among them: it is a series, see rate_series.py. It
applies to the arrays of gradients, which hold a sum over the batch, times `rescale_grad`.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from smdebug import _core
from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.mxnet.first_data import FirstData
from smdebug.mxnet.private_names import is_differentiable, optimizer_of, parameters_of

if TYPE_CHECKING:
    from mxnet import gluon

_logger = get_logger()

# Names of an optimizer's settings: that in the facts, that of MXNet.
_SETTINGS = {
    **{"weight_decay": "wd", "momentum": "momentum", "beta1": "beta1", "beta2": "beta2"},
    "rescale_grad": "rescale_grad",
}


class MXNetFacts:
    """Reports the facts of all models of a hook to `session`. No method raises."""

    def __init__(self, session: _core.Session) -> None:
        self._session = session
        self._trainers: list[weakref.ref[gluon.Trainer]] = []  # in the order of their first updates
        self.data: FirstData = FirstData()
        self._described: object = None  # the state that was described last
        self._has_failed = False

    def note_update(self, trainer: gluon.Trainer) -> None:
        """Notes a trainer that acts on a registered model."""
        if not any(known() is trainer for known in self._trainers):
            self._trainers = [known for known in self._trainers if known() is not None]
            self._trainers.append(weakref.ref(trainer))

    def end_step(self, blocks: Iterable[gluon.Block]) -> None:
        """Reports the facts of the registered `blocks` in the saved step that ends, if they are
        new."""
        trainers = [known() for known in self._trainers]
        if self._has_failed or not any(trainers):
            return
        try:
            parameters = _parameters_in(blocks)
            state = [
                self.data.reports,
                *[id(each) for each in trainers],
                *[(name, each.grad_req) for name, each in parameters.items()],
            ]
            if state != self._described:
                self._described = state
                used = [each for each in trainers if each]
                self._session.set_facts(_facts(parameters, used, self.data))
        except Exception as error:  # a parameter of a library may lack what Gluon's have
            self._has_failed = True
            _logger.warning(
                "the model is not described to rules and to 'smdebug show --model': %r", error
            )


def _parameters_in(blocks: Iterable[gluon.Block]) -> dict[str, gluon.Parameter]:
    return {name: each for block in blocks for name, each in block.collect_params().items()}


def _facts(
    parameters: dict[str, gluon.Parameter], trainers: list[gluon.Trainer], data: FirstData
) -> _core.RunFacts:
    updated_by = {}
    for number, trainer in enumerate(trainers):
        for each in parameters_of(trainer) or parameters.values():
            updated_by.setdefault(id(each), (number, 0))
    return _core.RunFacts(
        parameters=[
            _core.ParameterFacts(
                encodable(name),
                is_trainable=_is_trained(each),
                dtype=_dtype_name(each.dtype),
                device=_device_of(each),
                shape=[int(size) for size in each.shape or () if size > 0],
                updated_by=updated_by.get(id(each)) if _is_trained(each) else None,
            )
            for name, each in parameters.items()
            if is_differentiable(each)
        ],
        optimizers=[_optimizer_facts(each, parameters) for each in trainers],
        losses=data.losses(),
        inputs=data.inputs(),
        evaluation_inputs=data.evaluation_inputs(),
    )


def _optimizer_facts(
    trainer: gluon.Trainer, parameters: dict[str, gluon.Parameter]
) -> _core.OptimizerFacts:
    known = {id(each) for each in parameters.values()}
    held = [each for each in parameters_of(trainer) or parameters.values() if _is_trained(each)]
    optimizer = optimizer_of(trainer)
    settings = {
        name: float(value)
        for name, of_mxnet in _SETTINGS.items()
        if isinstance(value := getattr(optimizer, of_mxnet, None), (int, float))
    }
    group = _core.OptimizerGroupFacts(
        parameters=len(held),
        foreign_parameters=sum(id(each) not in known for each in held),
        settings=settings,
    )
    return _core.OptimizerFacts(encodable(type(optimizer).__name__), [group])


def _is_trained(parameter: gluon.Parameter) -> bool:
    return parameter.grad_req != "null"


def _dtype_name(dtype: Any) -> str:
    try:
        return np.dtype(dtype).name
    except TypeError:
        return str(dtype)


def _device_of(parameter: gluon.Parameter) -> str:
    """The first device; empty if the parameter is not initialized yet."""
    try:
        first = parameter.list_ctx()[0]
    except RuntimeError:
        return ""
    return "cpu" if first.device_type == "cpu" else f"{first.device_type}:{first.device_id}"
